"""A graph as nested scopes, the shape that ONNX functions have: a scope per container call, a box per node in it.

An edge of a graph joins two leaves wherever they stand; here it becomes a value that leaves each scope on its way out
and enters each on its way in. Only edges that the graph has are drawn. One that would make a scope's order impossible
(it runs backwards between two containers whose calls interleave) is left out and counted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from modgraph.export.look.agreement import reached_modules
from modgraph.graph.index import GraphIndex, name_below
from modgraph.graph.model import Call, Edge, Operation, Shape, TensorInfo

MAX_DEPTH = 90
"""Functions inside functions; what lies deeper stands flat in the last. The ONNX checker refuses more than 100."""

BoxKind = Literal["input", "parameter", "constant", "operation", "module", "result", "output"]
"""In the order in which boxes stand where nothing else orders them."""
_RANKS: dict[BoxKind, int] = {
    "input": 0,
    "parameter": 1,
    "constant": 2,
    "operation": 3,
    "module": 4,
    "result": 5,
    "output": 6,
}


@dataclass(eq=False, slots=True)
class Value:
    """A tensor in one scope."""

    tensor: TensorInfo | None = None
    """None where nothing is known of it."""


@dataclass(eq=False, slots=True)
class Box:
    """A node of a scope."""

    kind: BoxKind
    scope: Scope
    order: int
    """Its place among the boxes of its kind."""
    path: str = ""
    """Of the module; for an input, output, parameter or constant, what follows its prefix."""
    call: Call | None = None
    operation: Operation | None = None
    content: Scope | None = None
    inputs: list[Value] = field(default_factory=list)
    input_names: list[str] = field(default_factory=list)
    """Where each stood among the arguments; "" where that is not known."""
    outputs: list[Value] = field(default_factory=list)
    further: dict[tuple[Shape | None, str | None], Value] = field(default_factory=dict)
    """Outputs that are not known to be one of those that the call gave."""
    operations: list[Operation] = field(default_factory=list)
    """Those that ran inside a leaf."""
    idle: list[str] = field(default_factory=list)
    """Paths of the modules inside a leaf that were not called."""
    name: str = ""
    position: int = 0
    """Its place in the scope, once that is sorted."""

    def output_for(self, tensor: TensorInfo) -> Value:
        """The output that is `tensor`.

        Where a module gave several that it may be, or none, a further output stands for it: an edge says what it
        carries, and not which output that was.
        """
        alike = [value for value in self.outputs if value.tensor is not None and _looks(value.tensor) == _looks(tensor)]
        if len(alike) == 1:
            return alike[0]
        if _looks(tensor) not in self.further:
            self.further[_looks(tensor)] = Value(tensor)
            self.outputs.append(self.further[_looks(tensor)])
        return self.further[_looks(tensor)]


def _looks(tensor: TensorInfo) -> tuple[Shape | None, str | None]:
    """What can be compared of two tensors: their names say where each stood, at its producer or at its consumer."""
    return tensor.shape, tensor.dtype


@dataclass(eq=False, slots=True)
class Scope:
    """The inside of a container's call; the outermost is the model."""

    path: str
    """Of the container."""
    outer: Box | None = None
    """The box whose inside it is; None for the model."""
    depth: int = 0
    boxes: list[Box] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    """Formals, in the order of `outer.inputs`."""
    outputs: list[Value] = field(default_factory=list)
    """Values made inside, in the order of `outer.outputs`."""
    imported: dict[Value, Value] = field(default_factory=dict)
    exported: dict[Value, Value] = field(default_factory=dict)

    def add(self, kind: BoxKind, path: str, order: int, call: Call | None = None) -> Box:
        box = Box(kind, self, order, path, call)
        self.boxes.append(box)
        return box

    def enter(self, value: Value) -> Value:
        """The formal through which a value of the scope outside comes in."""
        assert self.outer is not None
        if value not in self.imported:
            self.imported[value] = Value(value.tensor)
            self.inputs.append(self.imported[value])
            self.outer.inputs.append(value)
        return self.imported[value]

    def leave(self, value: Value) -> Value:
        """What a value of this scope is in the scope outside."""
        assert self.outer is not None
        if value not in self.exported:
            self.exported[value] = Value(value.tensor)
            self.outputs.append(value)
            self.outer.outputs.append(self.exported[value])
        return self.exported[value]

    def chain(self) -> Iterator[Scope]:
        """This scope, the one around it, ..., the model."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer.scope if scope.outer is not None else None


class ScopeTree:
    """The scopes of a graph, sorted and joined.

    Attributes:
        model: the outermost scope.
        left_out: the number of edges that could not be drawn.
    """

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self.model = Scope("")
        self.left_out = 0
        self._scopes: dict[int, Scope] = {}
        self._boxes: dict[str, Box] = {}
        self._sources: dict[tuple[str, Scope], Box] = {}
        self._homes: dict[str, Scope] = {}
        self._idle: set[tuple[Scope, str]] = set()
        self._add_calls()
        self._add_operations()
        self._add_idle_modules()
        self._join()
        for scope in self.inner_first():  # theirs is the order of the values of the box around them
            self._finish(scope)

    def scopes(self) -> Iterator[Scope]:
        """Every scope, an outer one before those in it."""
        pending = [self.model]
        while pending:
            scope = pending.pop()
            yield scope
            pending.extend(box.content for box in reversed(scope.boxes) if box.content is not None)

    def inner_first(self) -> Iterator[Scope]:
        """Every scope, those in it before an outer one; an earlier one before a later one."""
        found: list[Scope] = []
        pending = [self.model]
        while pending:
            scope = pending.pop()
            found.append(scope)
            pending.extend(box.content for box in scope.boxes if box.content is not None)
        return reversed(found)

    def _add_calls(self) -> None:
        calls = self.index.graph.calls
        outermost = [call for call in calls if call.parent is None]
        for call in calls:
            home = self.model if call.parent is None else self._scopes[call.parent]
            is_leaf = self.index.is_leaf_call(call.index)
            is_model = not is_leaf and call.module == "" and outermost == [call]
            if is_model or (not is_leaf and home.depth >= MAX_DEPTH):
                self._scopes[call.index] = home
                continue
            box = home.add("module", call.module, call.index, call)
            self._boxes[f"call:{call.index}"] = box
            if is_leaf:
                box.outputs = [Value(tensor) for tensor in call.outputs]
            else:
                box.content = self._scopes[call.index] = Scope(call.module, box, home.depth + 1)

    def _add_operations(self) -> None:
        for position, operation in enumerate(self.index.graph.operations):
            if operation.call is not None and self.index.is_leaf_call(operation.call):
                box = self._boxes[f"call:{operation.call}"]
                box.operations.append(operation)
            else:
                scope = self.model if operation.call is None else self._scopes[operation.call]
                box = scope.add("operation", operation.name, position)
                box.operation = operation
            self._boxes[operation.id] = box

    def _add_idle_modules(self) -> None:
        """Modules without calls stand, without inputs, inside the calls of what holds them."""
        idle = _idle_modules(self.index)
        order = {node.path: position for position, node in enumerate(self.index.graph.modules)}
        for path in order:
            parent = self.index.parents[path]
            if path not in idle or parent in idle:
                continue
            holder = parent
            while holder is not None and not self.index.modules[holder].calls:
                holder = self.index.parents[holder]
            calls = () if holder is None else self.index.modules[holder].calls
            for call in calls:
                if call in self._scopes:
                    self._add_tree(self._scopes[call], path, idle, order)
                else:
                    self._boxes[f"call:{call}"].idle.append(path)
            if not calls:
                self._add_tree(self.model, path, idle, order)

    def _add_tree(self, scope: Scope, path: str, idle: set[str], order: dict[str, int]) -> None:
        """A box for the module `path`, and inside it one for each module below."""
        pending = [(scope, path)]
        while pending:
            scope, path = pending.pop()
            if (scope, path) in self._idle:
                continue
            self._idle.add((scope, path))
            children = [child.path for child in self.index.children[path] if child.path in idle]
            inner = scope
            if path != "" or not children:
                box = scope.add("module", path, len(self.index.graph.calls) + order[path])
                if children and scope.depth < MAX_DEPTH:
                    inner = box.content = Scope(path, box, scope.depth + 1)
            pending.extend((inner, child) for child in reversed(children))

    def _join(self) -> None:
        """Turn edges into values; every scope is sorted first, and what would run backwards is left out."""
        self._find_homes_of_constants()
        routes = [route for edge in self.index.graph.edges if (route := self._route(edge)) is not None]
        before: dict[Scope, dict[Box, set[Box]]] = {}
        for route in routes:
            if route.source is not route.target:
                before.setdefault(route.meeting, {}).setdefault(route.target, set()).add(route.source)
        for scope in self.scopes():
            _sort(scope, before.get(scope, {}))
        for route in routes:
            if route.source.position < route.target.position:
                route.draw()
            else:
                self.left_out += 1

    def _find_homes_of_constants(self) -> None:
        """A constant stands in the innermost scope around all that read it."""
        for edge in self.index.graph.edges:
            if not edge.producer.startswith("const:"):
                continue
            consumer = self._consumer(edge.consumer)
            if consumer is not None:
                home = self._homes.setdefault(edge.producer, consumer.scope)
                around = set(consumer.scope.chain())
                self._homes[edge.producer] = next(scope for scope in home.chain() if scope in around)

    def _route(self, edge: Edge) -> _Route | None:
        """The way of an edge; None for one inside a single leaf, or one that ends at a container."""
        consumer = self._consumer(edge.consumer)
        producer = None if consumer is None else self._producer(edge.producer, consumer)
        if consumer is None or producer is None or consumer.content is not None:
            self.left_out += 1
            return None
        if producer is consumer:
            return None
        return _Route(producer, consumer, edge.tensor)

    def _consumer(self, end: str) -> Box | None:
        kind, _, name = end.partition(":")
        if kind == "output":
            return self._source("output", end, name, self.model)
        return self._boxes.get(end)

    def _producer(self, end: str, consumer: Box) -> Box | None:
        kind, _, name = end.partition(":")
        if kind == "input":
            return self._source("input", end, name, self.model)
        if kind == "param":
            return self._source("parameter", end, name, _owner(consumer.scope, name))
        if kind == "const":
            return self._source("constant", end, name, self._homes[end])
        box = self._boxes.get(end)
        # What a container gives is made by something inside it; which, an edge from the container does not say.
        return None if box is not None and box.content is not None else box

    def _source(self, kind: BoxKind, end: str, name: str, scope: Scope) -> Box:
        key = (end, scope)
        if key not in self._sources:
            self._sources[key] = scope.add(kind, name, len(self._sources))
        return self._sources[key]

    def _finish(self, scope: Scope) -> None:
        """Give every box an output, the scope a result, and its formals and results the order of their use."""
        scope.boxes = [box for box in scope.boxes if box.kind != "output" or box.inputs]
        for box in scope.boxes:
            if not box.outputs and box.kind != "output":
                box.outputs.append(Value())
        if scope.outer is None:
            return
        if not scope.outputs:
            result = scope.add("result", "", 0)
            result.position = len(scope.boxes)
            result.outputs.append(Value())
            scope.leave(result.outputs[0])
        uses = [value for box in scope.boxes for value in box.inputs]
        _reorder(scope.inputs, scope.outer.inputs, _first_places(uses))
        makes = [value for box in scope.boxes for value in box.outputs]
        _reorder(scope.outputs, scope.outer.outputs, _first_places(makes))


@dataclass(slots=True)
class _Route:
    """An edge between two boxes, and where their ways part."""

    producer: Box
    consumer: Box
    tensor: TensorInfo
    meeting: Scope = field(init=False)
    """The innermost scope that holds both."""
    source: Box = field(init=False)
    """The box of that scope which is, or holds, the producer."""
    target: Box = field(init=False)

    def __post_init__(self) -> None:
        around = dict(_places(self.producer))
        self.meeting, self.target = next(place for place in _places(self.consumer) if place[0] in around)
        self.source = around[self.meeting]

    def draw(self) -> None:
        value = self.producer.output_for(self.tensor)
        for scope in self.producer.scope.chain():
            if scope is self.meeting:
                break
            value = scope.leave(value)
        inwards = []
        for scope in self.consumer.scope.chain():
            if scope is self.meeting:
                break
            inwards.append(scope)
        for scope in reversed(inwards):
            value = scope.enter(value)
        self.consumer.inputs.append(value)
        self.consumer.input_names.append(self.tensor.name)


def _places(box: Box) -> Iterator[tuple[Scope, Box]]:
    """The box in its scope, the box that holds it in the scope around that, ..., up to the model."""
    place: Box | None = box
    while place is not None:
        yield place.scope, place
        place = place.scope.outer


def _owner(scope: Scope, parameter: str) -> Scope:
    """The innermost scope around `scope` whose module holds the parameter."""
    chain = list(scope.chain())
    return next((around for around in chain if _is_below(parameter, around.path)), chain[-1])


def _is_below(path: str, other: str) -> bool:
    return other == "" or path.startswith(f"{other}.")


def _sort(scope: Scope, before: dict[Box, set[Box]]) -> None:
    """Order the boxes so that each comes after those in `before`; in a cycle the first of its boxes goes first."""
    boxes = sorted(scope.boxes, key=lambda box: (_RANKS[box.kind], box.order))
    rank = {box: position for position, box in enumerate(boxes)}
    waiting = {box: {source for source in before.get(box, ()) if source in rank} for box in boxes}
    followers: dict[Box, list[Box]] = {}
    for box, sources in waiting.items():
        for source in sources:
            followers.setdefault(source, []).append(box)
    ready = [rank[box] for box in boxes if not waiting[box]]
    ordered: list[Box] = []
    placed: set[Box] = set()
    remaining = iter(boxes)
    while len(ordered) < len(boxes):
        box = boxes[heapq.heappop(ready)] if ready else next(box for box in remaining if box not in placed)
        if box in placed:
            continue
        placed.add(box)
        ordered.append(box)
        for follower in followers.get(box, ()):
            waiting[follower].discard(box)
            if not waiting[follower] and follower not in placed:
                heapq.heappush(ready, rank[follower])
    scope.boxes = ordered
    for position, box in enumerate(ordered):
        box.position = position


def _first_places(values: Iterable[Value]) -> dict[Value, int]:
    places: dict[Value, int] = {}
    for position, value in enumerate(values):
        places.setdefault(value, position)
    return places


def _reorder(inner: list[Value], outer: list[Value], places: dict[Value, int]) -> None:
    """Sort two lists that belong together by the place of the first's values; a value of no place comes last."""
    pairs = sorted(zip(inner, outer, strict=True), key=lambda pair: places.get(pair[0], len(places)))
    inner[:] = [pair[0] for pair in pairs]
    outer[:] = [pair[1] for pair in pairs]


def _idle_modules(index: GraphIndex) -> set[str]:
    """Paths of the modules that were not called and hold none that was; not second names, and not None."""
    reached = reached_modules(index)
    second: set[str] = set()
    for node in index.graph.modules:
        if node.alias_of is not None or index.parents[node.path] in second:
            second.add(node.path)
    return {
        node.path
        for node in index.graph.modules
        if node.path not in reached and node.path not in second and node.class_name != "NoneType"
    }


def relative_name(box: Box, index: GraphIndex) -> str:
    """The module of `box` as its scope sees it: below it, under a second name below it, or by its whole path."""
    path, base = box.path, box.scope.path
    if path != base and _is_below(path, base):
        return name_below(path, base)
    for node in index.below(base) if base in index.modules else ():
        if node.alias_of == path:
            return name_below(node.path, base)
    return path
