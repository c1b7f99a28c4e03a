"""Events of a run that was followed -> calls, operations and edges of a graph."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Call, Condition, Edge, ModuleNode, Operation, ParameterInfo, Problem
from modgraph.names import last_name
from modgraph.prediction.answer.causes import Told, told_once
from modgraph.prediction.domain.endings import FAILS, RAISES
from modgraph.prediction.domain.events import (
    Alias,
    Assume,
    Either,
    Enter,
    Event,
    Leave,
    Lost,
    Operate,
    Repeat,
    Seen,
    every_event,
    negated,
)
from modgraph.prediction.domain.limits import MAX_EDGES
from modgraph.prediction.domain.objects import ModuleObject, TensorObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import Address
from modgraph.prediction.forward.running import Followed, tensor_info
from modgraph.prediction.paths.recording import is_in_place
from modgraph.source.reached import root_of

Makers = dict[str, Condition | None]
"""Ends that may have made a tensor, each with the condition under which it has; None: it certainly has."""


@dataclass(slots=True)
class _Open:
    """A call that has not ended yet."""

    index: int
    inputs: tuple[Seen, ...]
    is_layer: bool
    makers: tuple[Makers, ...]
    """Of each input, what had made it when the call began."""
    calls: bool = False
    """Other modules are called inside."""


_TEST = re.compile(r"depends on `([^`]+)`")


class _Reader:
    """Walks the events once, in order."""

    def __init__(
        self, followed: Followed, paths: Mapping[Address, str], tensors: Mapping[Address, str], builder: GraphBuilder
    ) -> None:
        self.followed = followed
        self.paths = dict(paths)
        self.tensors = tensors
        self.builder = builder
        self.nodes = {node.path for node in builder.modules}
        self.open: list[_Open] = []
        self.makers: dict[int, Makers] = {index: {f"input:{name}": None} for index, name in followed.given.items()}
        """By address of a tensor."""
        self.conditions: list[Condition] = []
        self.tests: list[list[str]] = []
        """Of each path that is being read: the tests that have come out so that it was taken."""
        self.coming: frozenset[int] = frozenset()
        """Tensors that are made in the loops that are being read."""
        self.views: dict[int, list[int]] | None = None
        """By tensor, those that look into its memory; None until the first write into one."""
        self.constants: dict[int, str] = {}
        self.edges: dict[tuple[str, str, str], Edge] = {}
        self.lost: dict[Problem, Told] = {}
        self.ended: dict[int, bool] = {}
        """Calls that have ended on a path, and whether one of them raised nothing."""
        self.leaves: set[int] = set()
        """Calls that made no other."""
        self.n_made: Counter[tuple[str, str]] = Counter()
        """By path of the caller and name of the class: how many modules `forward` has made there."""

    def read(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, Enter):
                self._enter(event)
            elif isinstance(event, Leave):
                self._leave(event)
            elif isinstance(event, Operate):
                self._operate(event)
            elif isinstance(event, Alias):
                self.makers[event.index] = self.makers.get(event.of) or {self._outside(event.of): None}
            elif isinstance(event, Either):
                self._either(event)
            elif isinstance(event, Repeat):
                self._repeat(event)
            elif isinstance(event, Assume):
                self._assume(event)
            else:
                self._lost(event)

    # ---- calls -------------------------------------------------------------------------------------------------------

    def _enter(self, event: Enter) -> None:
        index = len(self.builder.calls)
        parent = self.open[-1] if self.open else None
        if parent is not None:
            parent.calls = True
        self.builder.calls.append(
            Call(
                index=index,
                module=self._path(event.module, parent, event.name),
                parent=None if parent is None else parent.index,
                inputs=tuple(map(tensor_info, event.inputs)),
                source=None if parent is None else event.where,
                direct=event.direct,
                **self._marks(),
            )
        )
        read = (*event.inputs, *(each for each in event.own if not self.makers.keys().isdisjoint(each.indices)))
        self.open.append(_Open(index, read, event.is_layer, tuple(map(self._made_by, read))))

    def _leave(self, event: Leave) -> None:
        if not self.open:
            return
        call = self.open.pop()
        known = self.builder.calls[call.index]
        self.builder.calls[call.index] = replace(known, **self._end_of(call.index, event))
        self.ended[call.index] = self.ended.get(call.index) or event.error is None
        if call.calls:
            return
        self.leaves.add(call.index)
        name = f"call:{call.index}"
        for seen, makers in zip(call.inputs, call.makers, strict=True):
            self._add_edges(makers, name, seen)
        for seen in event.outputs:
            for index in seen.indices:
                self.makers[index] = {name: None}

    def _end_of(self, index: int, event: Leave) -> dict[str, Any]:
        """What a call gives; where it ends on several paths, what it gives on those that raise nothing."""
        outputs = tuple(map(tensor_info, event.outputs))
        if index not in self.ended:
            return {"outputs": outputs, "error": event.error}
        if event.error is not None:
            return {}
        if not self.ended[index]:
            return {"outputs": outputs, "error": None}
        known = self.builder.calls[index].outputs
        return {"outputs": outputs if outputs == known else ()}

    def _path(self, module: Address, caller: _Open | None, name: str | None) -> str:
        """Where a module stands; one that `forward` has made becomes a module below its caller."""
        known = self.paths.get(module)
        if known is not None:
            if known not in self.nodes:
                self._add_possible(module, known)
            return known
        above = "" if caller is None else self.builder.calls[caller.index].module
        is_taken = name is None or (f"{above}.{name}" if above else name) in self.nodes
        return self._add_made(module, above, None if is_taken else name)

    def _add_possible(self, module: Address, path: str) -> None:
        """A module that stands below one of which it is not known which it is."""
        state = self.followed.state
        held = state.find(module, ModuleObject)
        own = {} if held is None else {name: state.find(each, TensorObject) for name, each in held.parameters.items()}
        self.nodes.add(path)
        self.builder.modules.append(
            ModuleNode(
                path=path,
                class_name=None if held is None else getattr(held.cls, "name", None),
                predicted=True,
                parameters=tuple(
                    ParameterInfo(name=name, shape=each.shape, dtype=each.dtype, trainable=each.requires_grad)
                    for name, each in own.items()
                    if each is not None
                ),
                source=None if held is None else held.where,
                certain=False,
                condition=self.conditions[-1] if self.conditions else None,
            )
        )

    def _add_made(self, module: Address, above: str, place: str | None) -> str:
        held = self.followed.state.find(module, ModuleObject)
        name = getattr(held.cls, "name", None) if held is not None else None
        short = last_name(name or "Module")
        if place is None:
            place = f"<{short}>[{self.n_made[above, short]}]"
            self.n_made[above, short] += 1
        path = f"{above}.{place}" if above else place
        self.paths[module] = path
        self.nodes.add(path)
        self.builder.modules.append(
            ModuleNode(
                path=path,
                class_name=name,
                predicted=True,
                registered=not place.startswith("<"),
                source=None if held is None else held.where,
                made_in_forward=True,
            )
        )
        for child, value in () if held is None else held.modules.items():
            if isinstance(value, Address) and value not in self.paths:
                self._add_made(value, path, child)
        return path

    def _marks(self, condition: Condition | None = None) -> dict[str, Any]:
        """What is said of all that happens here, and, of an edge, of where it comes from."""
        condition = self.conditions[-1] if self.conditions else condition
        return {"predicted": True, "observed": None, "certain": condition is None, "condition": condition}

    # ---- operations --------------------------------------------------------------------------------------------------

    def _operate(self, event: Operate) -> None:
        call = self.open[-1] if self.open else None
        if call is not None and call.is_layer:
            return
        name = f"op:{len(self.builder.operations)}"
        self.builder.operations.append(
            Operation(
                id=name,
                name=event.name,
                call=None if call is None else call.index,
                source=event.where,
                **self._marks(),
            )
        )
        for seen in event.inputs:
            self._add_edges(self._made_by(seen), name, seen)
        outputs = {index for seen in event.outputs for index in seen.indices}
        for index in (*outputs, *event.written):
            kept = self.makers.get(index, {}) if index not in outputs and self._is_part_of(event, index) else {}
            self.makers[index] = {**kept, name: None}
        if is_in_place(event.name):
            for index in self._views_of(outputs):
                self.makers[index] = {name: None}

    def _views_of(self, written: set[int]) -> list[int]:
        """Tensors that are parts of what is written to."""
        if self.views is None:
            self.views = _views_in(self.followed.state)
        found = {view: None for index in written for view in self.views.get(index, ())}
        return [view for view in found if view in self.makers and view not in written]

    def _is_part_of(self, event: Operate, index: int) -> bool:
        """What is written to is smaller than this tensor, whose memory it is in."""
        whole = self.followed.state.find(Address(index), TensorObject)
        written = _count(event.outputs[0].shape) if event.outputs else None
        size = _count(whole.shape) if whole is not None else None
        return written is not None and size is not None and written < size

    def _made_by(self, seen: Seen) -> Makers:
        alternatives = [
            self.makers.get(index) or {self._outside(index): None}
            for index in seen.indices
            if self._is_there(index) and (index in self.makers or not self._is_of_unknown_origin(seen, index))
        ]
        found: Makers = {maker: why for makers in alternatives for maker, why in makers.items()}
        doubt = next((why for why in found.values() if why is not None), None)
        if doubt is not None:
            doubt = replace(
                doubt, text=negated(doubt.text) if len(alternatives) == 2 else "another way through forward"
            )
        return {
            maker: why if why is not None or all(maker in makers for makers in alternatives) else doubt
            for maker, why in found.items()
        }

    def _is_there(self, index: int) -> bool:
        """False for what only an earlier turn of the loop that is being read gives to a later one."""
        return index in self.makers or index not in self.coming

    def _is_of_unknown_origin(self, seen: Seen, index: int) -> bool:
        """Made in the run, by something of which nothing is known: it is no constant."""
        return index >= self.followed.began and seen.shape is None and seen.dtype is None

    def _outside(self, index: int) -> str:
        path = self.tensors.get(Address(index))
        if path is not None:
            return f"param:{path}"
        return self.constants.setdefault(index, f"const:{len(self.constants)}")

    def _add_edges(self, makers: Makers, consumer: str, seen: Seen) -> None:
        if len(self.edges) + len(makers) > MAX_EDGES:
            self._lose_edges()
            return
        for maker, condition in makers.items():
            self.edges.setdefault(
                (maker, consumer, seen.name),
                Edge(producer=maker, consumer=consumer, tensor=tensor_info(seen), **self._marks(condition)),
            )

    def _lose_edges(self) -> None:
        message = f"not all of the dataflow is told: there are more than {MAX_EDGES:,} edges"
        problem = Problem(stage="forward", message=message)
        self.lost.setdefault(problem, Told(problem))

    # ---- branches and loops ------------------------------------------------------------------------------------------

    def _either(self, event: Either) -> None:
        before, running = dict(self.makers), list(self.open)  # of which an exception on one path may end some
        first_condition = self._arm(event, event.first)
        first, self.makers = self.makers, before
        self.open, running = running, self.open
        second_condition = self._arm(event, event.second)
        second = self.makers
        self.open = max(running, self.open, key=len)
        for theirs, mine in event.twins:
            if theirs in second:
                second[mine] = {**second.get(mine, {}), **second[theirs]}
        self.makers = {
            index: _merged(first.get(index, {}), second.get(index, {}), (first_condition, second_condition))
            for index in {**first, **second}
        }

    def _arm(self, event: Either, events: Iterable[Event]) -> Condition:
        """Reads what happens on one path; under which condition that is."""
        self.conditions.append(_condition(event))
        self.tests.append([*self.tests[-1]] if self.tests else [])
        self.read(events)
        self.tests.pop()
        return self.conditions.pop()

    def _assume(self, event: Assume) -> None:
        """From here on, on one of two paths, a test has come out so."""
        if not self.tests or event.condition in self.tests[-1]:
            return
        self.tests[-1].append(event.condition)
        where = event.where or self.conditions[-1]
        self.conditions[-1] = Condition(text=" and ".join(self.tests[-1]), file=where.file, line=where.line)

    def _repeat(self, event: Repeat) -> None:
        before = dict(self.makers)
        condition = _condition(event)
        self.conditions.append(condition)
        self.tests.append([])
        coming, self.coming = self.coming, self.coming | _made_in(event.events)
        self.read(event.events)
        self.coming = coming
        self.tests.pop()
        self.conditions.pop()
        for index, makers in before.items():
            self.makers[index] = _merged(makers, self.makers[index], (condition, condition))

    def _lost(self, event: Lost) -> None:
        module = self.builder.calls[self.open[-1].index].module if self.open else ""
        where = event.where
        cause, place = root_of(event.reason)
        raises = event.reason.startswith((RAISES, FAILS))
        problem = Problem(
            stage="forward",
            message=event.reason if raises else f"what is called here is not known: {event.reason}",
            module=module,
            file=None if where is None else where.file,
            line=None if where is None else where.line,
        )
        self.lost.setdefault(problem, Told(problem, cause, place))

    def finish(self) -> None:
        """Closes what is open: the outputs of the model, and calls in which the run could not be followed further."""
        failure = self.followed.failure
        if failure is not None:
            self._lost(Lost(failure.reason, failure.where))
        self.open.clear()
        self.builder.problems.extend(told_once(self.lost.values(), {node.path for node in self.builder.modules}))
        for seen in self.followed.outputs:
            self._add_edges(self._made_by(seen), f"output:{_output_name(seen.name)}", seen)
        self.builder.edges.extend(self._between_innermost())

    def _between_innermost(self) -> Iterator[Edge]:
        """What goes into a call that makes no other goes to the call, and its operations are joined among themselves;
        what comes of one of these comes of the call."""
        homes = {
            each.id: each.call for each in self.builder.operations if each.call is not None and each.call in self.leaves
        }
        arrived = {_way(edge) for edge in self.edges.values() if edge.consumer not in homes}
        for edge in self.edges.values():
            home, source = homes.get(edge.consumer), homes.get(edge.producer)
            if source is not None and source == home:
                yield edge
                continue
            if source is not None:
                edge = replace(edge, producer=f"call:{source}")
            if home is None:
                yield edge
                continue
            edge = replace(edge, consumer=f"call:{home}")
            owner = self.builder.calls[home].module
            if edge.producer.startswith("param:") and edge.producer[6:].startswith(f"{owner}." if owner else ""):
                continue
            if edge.producer != edge.consumer and _way(edge) not in arrived:
                arrived.add(_way(edge))
                yield edge


def _way(edge: Edge) -> tuple[object, ...]:
    return edge.producer, edge.consumer, edge.tensor.shape, edge.tensor.dtype


def _views_in(state: State) -> dict[int, list[int]]:
    """By tensor, those that are views of it, or may be."""
    found: dict[int, list[int]] = {}
    for index, item in state.everything().items():
        for each in item.memory if isinstance(item, TensorObject) else ():
            found.setdefault(each.index, []).append(index)
    return found


def _made_in(events: Iterable[Event]) -> frozenset[int]:
    """Addresses of the tensors that are made there."""
    found: set[int] = set()
    for event in every_event(events):
        if isinstance(event, (Leave, Operate)):
            found.update(index for seen in event.outputs for index in seen.indices)
    return frozenset(found)


def _merged(first: Makers, second: Makers, conditions: tuple[Condition, Condition]) -> Makers:
    """Of a tensor that is made in one way on one path, and in another on the other."""
    if first == second:
        return first
    found: Makers = {}
    for makers, others, condition in ((first, second, conditions[0]), (second, first, conditions[1])):
        for maker, known in makers.items():
            found.setdefault(maker, known if known is not None or maker in others else condition)
    return found


def _condition(event: Either | Repeat) -> Condition:
    tested = _TEST.search(event.reason)
    where = event.where
    return Condition(
        text=tested[1] if tested is not None else event.reason,
        file=None if where is None else where.file,
        line=None if where is None else where.line,
    )


def _output_name(name: str) -> str:
    """ "output[0][1]" -> "0[1]", "output.logits" -> "logits", "output['a'][0]" -> "a[0]"; "0" for the only one."""
    place = name.removeprefix("output")
    if not place:
        return "0"
    if place.startswith("."):
        return place[1:]
    end = place.index("]")
    return place[1:end].strip("'\"") + place[end + 1 :]


def add_forward(
    builder: GraphBuilder, followed: Followed, paths: Mapping[Address, str], tensors: Mapping[Address, str]
) -> None:
    """Puts what a run did into a graph that has the tree."""
    reader = _Reader(followed, paths, tensors, builder)
    reader.read(followed.events)
    reader.finish()
    calls: dict[str, list[int]] = {}
    for call in builder.calls:
        calls.setdefault(call.module, []).append(call.index)
    builder.modules = [replace(node, calls=tuple(calls.get(node.path, ()))) for node in builder.modules]
    builder.model = replace(builder.model, inputs=followed.inputs)


def _count(shape: Sequence[object] | None) -> int | None:
    """Of the elements; None where a size is open or not known."""
    sizes = [size for size in shape or () if type(size) is int]
    return math.prod(sizes) if shape is not None and len(sizes) == len(shape) else None
