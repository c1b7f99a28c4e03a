"""The nodes of a flat ONNX model as nested runs, one per call of a module: which node stands in which.

Each node says in its metadata inside which calls it ran (`SCOPE`). Nodes that follow each other inside one call are a
run; a contiguous piece of a sorted graph can always be a function of its own, so that nothing has to be proven.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnx_ir as ir

SCOPE = "modgraph.scope"
"""Metadata of a node of the flat model: the calls it ran in, outermost first, the model's own left out."""


@dataclass(frozen=True, slots=True)
class Place:
    """One call of one module."""

    path: str
    call: int
    """0 for the first call of that module, 1 for the second."""
    class_name: str

    @property
    def text(self) -> str:
        """ "layer1.0", or "layer1.0@2" for the second call."""
        return f"{self.path}@{self.call + 1}" if self.call else self.path


Scope = tuple[Place, ...]


def scope_text(scope: Iterable[Place]) -> str:
    """What `SCOPE` holds."""
    return json.dumps([[place.path, place.call, place.class_name] for place in scope])


def scope_of(node: ir.Node) -> Scope:
    """The calls that `node` ran in; none where it does not say."""
    return tuple(Place(*entry) for entry in json.loads(node.metadata_props.get(SCOPE, "[]")))


@dataclass(eq=False, slots=True)
class Step:
    """One node of the flat graph."""

    node: ir.Node
    scope: Scope
    reads: tuple[ir.Value, ...]
    """Also what graphs inside it (the arms of an `If`) take from around it."""
    position: int = 0


@dataclass(eq=False, slots=True)
class Run:
    """Steps that follow each other inside one call."""

    place: Place
    steps: list[Step]
    items: list[Step | Run] = field(default_factory=list)
    part: int = 1
    """2 for the second piece of a call that could not be kept in one."""

    @property
    def is_leaf(self) -> bool:
        """No other call stands in it."""
        return not any(isinstance(item, Run) for item in self.items)


def inner_graphs(node: ir.Node) -> Iterator[ir.Graph]:
    """The graphs in the attributes of `node`: the arms of an `If`, the body of a `Loop`."""
    for attribute in node.attributes.values():
        if attribute.is_ref():
            continue
        if attribute.type.name == "GRAPH":
            yield attribute.as_graph()
        elif attribute.type.name == "GRAPHS":
            yield from attribute.as_graphs()


def reads_of(node: ir.Node) -> tuple[ir.Value, ...]:
    """The values around `node` that it reads, each once, in the order of use."""
    found = dict.fromkeys(value for value in node.inputs if value is not None)
    for graph in inner_graphs(node):
        own = {*graph.inputs, *graph.initializers.values()}
        for inner in graph:
            found.update(dict.fromkeys(value for value in reads_of(inner) if value not in own))
            own.update(inner.outputs)
        found.update(dict.fromkeys(value for value in graph.outputs if value not in own))
    return tuple(found)


def cut(nodes: Iterable[ir.Node], *, depth: int | None = None) -> list[Step | Run]:
    """The nodes of a sorted graph, in runs.

    Args:
        depth: how deep runs are nested; None is as deep as the calls are.
    """
    steps = [Step(node, scope_of(node), reads_of(node)) for node in nodes]
    items = _cut(steps, 0, depth)
    for position, step in enumerate(flattened(items)):
        step.position = position
    return items


def flattened(items: Iterable[Step | Run]) -> Iterator[Step]:
    """The steps in `items` and in the runs among them, in order."""
    for item in items:
        if isinstance(item, Run):
            yield from flattened(item.items)
        else:
            yield item


def _cut(steps: Sequence[Step], level: int, depth: int | None) -> list[Step | Run]:
    items: list[Step | Run] = []
    for step in steps:
        place = step.scope[level] if level < len(step.scope) and level != depth else None
        if place is None:
            items.append(step)
        elif items and isinstance(last := items[-1], Run) and last.place == place:
            last.steps.append(step)
        else:
            items.append(Run(place, [step]))
    items = _joined(items)
    parts: dict[Place, int] = {}
    for item in items:
        if isinstance(item, Run):
            item.part = parts[item.place] = parts.get(item.place, 0) + 1
            item.items = _cut(item.steps, level + 1, depth)
    return items


def _joined(items: list[Step | Run]) -> list[Step | Run]:
    """The pieces of each call in one where that is possible: nothing outside may stand between them for both."""
    first: dict[Place, Run] = {}
    for item in list(items):
        if not isinstance(item, Run):
            continue
        earlier = first.setdefault(item.place, item)
        if earlier is not item:
            joined = _join(items, earlier, item)
            if joined is None:
                first[item.place] = item
            else:
                items = joined
    return items


def _join(items: list[Step | Run], earlier: Run, later: Run) -> list[Step | Run] | None:
    """`items` with `later` at the end of `earlier`; None where what `later` reads is made of what `earlier` gives."""
    start, end = items.index(earlier), items.index(later)
    given = set(_made(earlier))
    before: list[Step | Run] = []
    after: list[Step | Run] = []
    made_after: set[Any] = set()
    for item in items[start + 1 : end]:
        if any(value in given or value in made_after for value in _read(item)):
            after.append(item)
            made_after.update(_made(item))
        else:
            before.append(item)
    if any(value in made_after for value in _read(later)):
        return None
    earlier.steps.extend(later.steps)
    return [*items[:start], *before, earlier, *after, *items[end + 1 :]]


def _steps(item: Step | Run) -> Sequence[Step]:
    return item.steps if isinstance(item, Run) else (item,)


def _read(item: Step | Run) -> Iterator[ir.Value]:
    for step in _steps(item):
        yield from step.reads


def _made(item: Step | Run) -> Iterator[ir.Value]:
    for step in _steps(item):
        yield from step.node.outputs
