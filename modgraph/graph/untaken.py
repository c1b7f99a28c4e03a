"""What a predicted `forward` may do, and a run did not: put beside the run's own calls, and taken away again.

Calls of both are matched from the model's own inwards: those that two matched calls have made are the same where
they are of the same modules in the same order, and so are operations by name. What only the prediction has comes behind
what ran, with `observed=False`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import TypeVar

from modgraph.graph.build import GraphBuilder
from modgraph.graph.given_back import settled
from modgraph.graph.model import Call, Edge, Graph, ModuleNode, Operation, SourceLocation

_Item = TypeVar("_Item")

MAX_COMPARED = 4_000_000
"""Pairs of calls of one caller that are compared; of more, only those that begin and end alike are matched."""


def as_run(graph: Graph) -> Graph:
    """The graph without what a run did not take."""
    if all(call.observed is not False for call in graph.calls) and all(
        edge.observed is not False for edge in graph.edges
    ):
        return graph
    gone = {call.index for call in graph.calls if call.observed is False}
    return replace(
        graph,
        modules=tuple(
            replace(node, calls=tuple(index for index in node.calls if index not in gone)) for node in graph.modules
        ),
        calls=tuple(call for call in graph.calls if call.observed is not False),
        operations=tuple(each for each in graph.operations if each.observed is not False),
        edges=tuple(each for each in graph.edges if each.observed is not False),
    )


def add_untaken(builder: GraphBuilder, predicted: Graph) -> None:
    """Marks what ran as predicted or not, and adds what was predicted and did not run. `builder` holds what ran."""
    if not builder.calls or not any(call.predicted for call in predicted.calls):
        return
    joined = _Joined(builder, predicted, False)
    joined.match()
    joined.settle()
    joined.mark()
    joined.add()


def add_other_ways(builder: GraphBuilder, every_way: Graph) -> None:
    """Adds what `forward` does in another mode, or with other flags, to what it is predicted to do as a rule."""
    if not every_way.calls or not builder.calls:
        return
    joined = _Joined(builder, every_way, None)
    joined.match()
    joined.add()


@dataclass
class _Joined:
    builder: GraphBuilder
    predicted: Graph
    observed: bool | None
    """What is said of all that is added."""
    calls: dict[int, int] = field(default_factory=dict)
    """Predicted calls, and those of the run that they are."""
    operations: dict[str, str] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)
    """Ends of what is added."""
    ran: set[int] = field(default_factory=set)
    """Calls of the run that were predicted."""

    def __post_init__(self) -> None:
        self.paths = {node.path for node in self.builder.modules if node.observed is not False}
        self.names = {node.path: node.alias_of or node.path for node in self.builder.modules}
        self.theirs = _inside(self.predicted.calls)
        self.ours = _inside(self.builder.calls)
        self.their_operations = _by_call(self.predicted.operations)
        self.our_operations = _by_call(self.builder.operations)

    def match(self) -> None:
        pending: list[tuple[int | None, int | None]] = [(None, None)]
        while pending:
            one, two = pending.pop()
            pairs = _matched(self.theirs.get(one, []), self.ours.get(two, []), self._key)
            pairs += self._further_turns(one, two, {ours.index for _, ours in pairs})
            self.ran.update(ours.index for _, ours in pairs)
            for theirs, ours in pairs:
                self.calls.setdefault(theirs.index, ours.index)
            pending.extend((theirs.index, ours.index) for theirs, ours in pairs)
            operations = _matched(
                self.their_operations.get(one, []), self.our_operations.get(two, []), lambda each: each.name
            )
            for each, other in operations:
                self.operations.setdefault(each.id, other.id)

    def _further_turns(self, one: int | None, two: int | None, matched: set[int]) -> list[tuple[Call, Call]]:
        """What ran again where the prediction has one turn of a loop."""
        turns = {self._key(call): call for call in self.theirs.get(one, []) if not call.certain}
        return [
            (turns[self._key(call)], call)
            for call in self.ours.get(two, [])
            if call.index not in matched and self._key(call) in turns
        ]

    def _key(self, call: Call) -> Hashable:
        line = None if call.source is None else call.source.line
        return self.names.get(call.module, call.module), call.direct, line

    def settle(self) -> None:
        """Of a tensor that a call gave back as it was, the run does not tell before or behind which it was taken."""
        if any(edge.or_from for edge in self.builder.edges):
            ends = ((edge, self._ends(edge)) for edge in self.predicted.edges if self._is_at_one_line(edge.consumer))
            said = [replace(edge, producer=one, consumer=two) for edge, (one, two) in ends if one and two]
            self.builder.edges = settled(self.builder.edges, said)

    def _is_at_one_line(self, end: str) -> bool:
        """An operation stands where the one of the run does that has the same place in the order."""
        if not end.startswith("op:"):
            return True
        one, two = self._predicted_lines.get(end), self._lines.get(self.operations.get(end, ""))
        return one is None or two is None or one == two

    @cached_property
    def _predicted_lines(self) -> dict[str, SourceLocation | None]:
        return {each.id: each.source for each in self.predicted.operations}

    @cached_property
    def _lines(self) -> dict[str, SourceLocation | None]:
        return {each.id: each.source for each in self.builder.operations}

    def mark(self) -> None:
        """What ran is as it was predicted, or was not predicted."""
        operations = set(self.operations.values())
        edges = {self._ends(edge) for edge in self.predicted.edges}
        builder = self.builder
        builder.calls = [replace(each, predicted=each.index in self.ran) for each in builder.calls]
        builder.operations = [replace(each, predicted=each.id in operations) for each in builder.operations]
        builder.edges = [replace(each, predicted=(each.producer, each.consumer) in edges) for each in builder.edges]

    def add(self) -> None:
        """What was predicted and did not run."""
        builder = self.builder
        ran = {(edge.producer, edge.consumer) for edge in builder.edges}
        ends = {end for pair in ran for end in pair}  # a call at which data ends has made no other
        for call in self.predicted.calls:
            parent = None if call.parent is None else self.calls.get(call.parent)
            is_lost = (call.parent is not None and parent is None) or f"call:{parent}" in ends
            if call.index in self.calls or call.module not in self.paths or is_lost:
                continue
            self.calls[call.index] = index = len(builder.calls)
            self.new.add(f"call:{index}")
            builder.calls.append(replace(call, index=index, parent=parent, observed=self.observed))
        self._add_operations()
        called: dict[str, list[int]] = {}
        for call in builder.calls:
            called.setdefault(call.module, []).append(call.index)
        builder.modules = [_calling(node, called.get(node.path, [])) for node in builder.modules]
        self._add_edges(ran)

    def _add_edges(self, ran: set[tuple[str, str]]) -> None:
        builder = self.builder
        holding = {call.parent for call in builder.calls}
        for edge in self.predicted.edges:
            producer, consumer = self._ends(edge)
            if producer is None or consumer is None or (producer, consumer) in ran:
                continue
            if edge.certain and self.new.isdisjoint((producer, consumer)):
                continue
            if any(end.startswith("call:") and int(end[5:]) in holding for end in (producer, consumer)):
                continue
            builder.edges.append(replace(edge, producer=producer, consumer=consumer, observed=self.observed))

    def _add_operations(self) -> None:
        builder = self.builder
        taken = {each.id for each in builder.operations}
        number = len(builder.operations)
        for operation in self.predicted.operations:
            call = None if operation.call is None else self.calls.get(operation.call)
            if operation.id in self.operations or call is None or operation.certain:
                continue
            while f"op:{number}" in taken:
                number += 1
            self.operations[operation.id] = name = f"op:{number}"
            taken.add(name)
            self.new.add(name)
            builder.operations.append(replace(operation, id=name, call=call, observed=self.observed))

    def _ends(self, edge: Edge) -> tuple[str | None, str | None]:
        return self._end(edge.producer), self._end(edge.consumer)

    def _end(self, end: str) -> str | None:
        """The end as the graph of the run has it; None where it has none."""
        kind, _, rest = end.partition(":")
        if kind == "call":
            index = self.calls.get(int(rest))
            return None if index is None else f"call:{index}"
        if kind == "op":
            return self.operations.get(end)
        return None if kind == "const" else end


def _calling(node: ModuleNode, calls: Sequence[int]) -> ModuleNode:
    return node if list(node.calls) == list(calls) else replace(node, calls=tuple(calls))


def _inside(calls: Iterable[Call]) -> dict[int | None, list[Call]]:
    found: dict[int | None, list[Call]] = {}
    for call in calls:
        if not call.recomputed:
            found.setdefault(call.parent, []).append(call)
    return found


def _by_call(operations: Iterable[Operation]) -> dict[int | None, list[Operation]]:
    found: dict[int | None, list[Operation]] = {}
    for operation in operations:
        found.setdefault(operation.call, []).append(operation)
    return found


def _matched(
    first: Sequence[_Item], second: Sequence[_Item], key: Callable[[_Item], Hashable]
) -> list[tuple[_Item, _Item]]:
    """Pairs that have the same key, in order."""
    ones, twos = list(map(key, first)), list(map(key, second))
    start = 0
    while start < min(len(ones), len(twos)) and ones[start] == twos[start]:
        start += 1
    end = 0
    while end < min(len(ones), len(twos)) - start and ones[-1 - end] == twos[-1 - end]:
        end += 1
    pairs = list(zip(first[:start], second[:start], strict=True))
    middle, other = first[start : len(first) - end], second[start : len(second) - end]
    if middle and other and len(middle) * len(other) <= MAX_COMPARED:
        blocks = SequenceMatcher(None, list(map(key, middle)), list(map(key, other)), autojunk=False)
        for block in blocks.get_matching_blocks():
            pairs += zip(middle[block.a : block.a + block.size], other[block.b : block.b + block.size], strict=True)
    if end:
        pairs += zip(first[-end:], second[-end:], strict=True)
    return pairs
