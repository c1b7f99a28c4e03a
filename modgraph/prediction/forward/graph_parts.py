"""Events of a run that was followed -> calls, operations and edges of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Call, Edge, Operation, Problem, SourceLocation, TensorInfo
from modgraph.prediction.domain.events import Either, Enter, Event, Leave, Lost, Operate, Repeat, Seen
from modgraph.prediction.domain.values import Address
from modgraph.prediction.forward.running import Followed

Producers = dict[int, tuple[str, ...]]


@dataclass(slots=True)
class _Open:
    """A call that has not ended yet."""

    index: int
    inputs: tuple[Seen, ...]
    is_layer: bool
    producers: tuple[tuple[str, ...], ...]
    """Of each input, what had made it when the call began."""
    calls: bool = False
    """Other modules are called inside."""
    edges: list[Edge] = field(default_factory=list)
    """Those that end in an operation of its own."""


@dataclass(frozen=True, slots=True)
class _Branch:
    text: str
    where: SourceLocation | None


class _Reader:
    """Walks the events once, in order."""

    def __init__(
        self, followed: Followed, paths: Mapping[Address, str], tensors: Mapping[Address, str], builder: GraphBuilder
    ) -> None:
        self.followed = followed
        self.paths = paths
        self.tensors = tensors
        self.builder = builder
        self.open: list[_Open] = []
        self.producers: Producers = {index: (f"input:{name}",) for index, name in followed.given.items()}
        self.branches: list[_Branch] = []
        self.constants: dict[int, str] = {}
        self.edges: dict[tuple[str, str, str], Edge] = {}
        self.leaves: set[int] = set()

    def read(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, Enter):
                self._enter(event)
            elif isinstance(event, Leave):
                self._leave(event)
            elif isinstance(event, Operate):
                self._operate(event)
            elif isinstance(event, Either):
                self._either(event)
            elif isinstance(event, Repeat):
                self._repeat(event)
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
                module=self.paths[event.module],
                parent=None if parent is None else parent.index,
                inputs=tuple(map(tensor_info, event.inputs)),
                source=None if parent is None else event.where,
            )
        )
        made = tuple(self._made_by(each) for each in event.inputs)
        self.open.append(_Open(index, event.inputs, event.is_layer, made))

    def _leave(self, event: Leave) -> None:
        if not self.open:
            return
        call = self.open.pop()
        self.builder.calls[call.index] = replace(
            self.builder.calls[call.index], outputs=tuple(map(tensor_info, event.outputs)), error=event.error
        )
        if call.calls:
            return
        self.leaves.add(call.index)
        name = f"call:{call.index}"
        for seen, makers in zip(call.inputs, call.producers, strict=True):
            self._add_edges(makers, name, seen)
        for seen in event.outputs:
            for index in seen.indices:
                self.producers[index] = (name,)

    # ---- operations --------------------------------------------------------------------------------------------------

    def _operate(self, event: Operate) -> None:
        call = self.open[-1] if self.open else None
        if call is not None and call.is_layer:
            return
        name = f"op:{len(self.builder.operations)}"
        self.builder.operations.append(
            Operation(id=name, name=event.name, call=None if call is None else call.index, source=event.where)
        )
        for seen in event.inputs:
            self._add_edges(self._made_by(seen), name, seen)
        for index in (*(index for seen in event.outputs for index in seen.indices), *event.written):
            self.producers[index] = (name,)

    def _made_by(self, seen: Seen) -> tuple[str, ...]:
        found: list[str] = []
        for index in seen.indices:
            found += self.producers.get(index) or (self._outside(index),)
        return tuple(dict.fromkeys(found))

    def _outside(self, index: int) -> str:
        path = self.tensors.get(Address(index))
        if path is not None:
            return f"param:{path}"
        return self.constants.setdefault(index, f"const:{len(self.constants)}")

    def _add_edges(self, makers: Iterable[str], consumer: str, seen: Seen) -> None:
        for maker in makers:
            edge = Edge(producer=maker, consumer=consumer, tensor=tensor_info(seen))
            self.edges.setdefault((maker, consumer, seen.name), edge)

    # ---- branches and loops ------------------------------------------------------------------------------------------

    def _either(self, event: Either) -> None:
        before = dict(self.producers)
        self.branches.append(_Branch(event.reason, event.where))
        self.read(event.first)
        first, self.producers = self.producers, before
        self.read(event.second)
        second = self.producers
        self.branches.pop()
        for theirs, mine in event.twins:
            if theirs in second:
                second.setdefault(mine, second[theirs])
                second[mine] = tuple(dict.fromkeys((*second[mine], *second[theirs])))
        self.producers = {
            index: tuple(dict.fromkeys((*first.get(index, ()), *second.get(index, ()))))
            for index in {**first, **second}
        }

    def _repeat(self, event: Repeat) -> None:
        before = dict(self.producers)
        self.branches.append(_Branch(event.reason, event.where))
        self.read(event.events)
        self.branches.pop()
        for index, makers in before.items():
            self.producers[index] = tuple(dict.fromkeys((*makers, *self.producers[index])))

    def _lost(self, event: Lost) -> None:
        module = self.builder.calls[self.open[-1].index].module if self.open else ""
        where = event.where
        self.builder.problems.append(
            Problem(
                stage="forward",
                message=f"what is called here is not known: {event.reason}",
                module=module,
                file=None if where is None else where.file,
                line=None if where is None else where.line,
            )
        )

    def finish(self) -> None:
        for seen in self.followed.outputs:
            self._add_edges(self._made_by(seen), f"output:{_output_name(seen.name)}", seen)
        self.builder.edges.extend(self.edges.values())


def _output_name(name: str) -> str:
    return name.removeprefix("output") or "0"


def tensor_info(seen: Seen) -> TensorInfo:
    return TensorInfo(name=seen.name, shape=seen.shape, dtype=seen.dtype, device=seen.device)


def add_forward(
    builder: GraphBuilder, followed: Followed, paths: Mapping[Address, str], tensors: Mapping[Address, str]
) -> None:
    """Puts what a run did into a graph that has the tree."""
    reader = _Reader(followed, paths, tensors, builder)
    reader.read(followed.events)
    reader.finish()
