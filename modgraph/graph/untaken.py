"""What a predicted `forward` may do, and a run did not: put beside the run's own calls, and taken away again.

Calls of both are matched from the model's own inwards: those that two matched calls have made are the same where
they are of the same modules in the same order, and so are operations by name (those of other sizes by their line, too).
What only the prediction has comes behind what ran, with `observed=False`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from modgraph.graph.alignment import Interleaved, Part, aligned, weight
from modgraph.graph.build import GraphBuilder
from modgraph.graph.doubts import DEPENDS, Doubts, are_alike, both, both_texts, doubts_of, in_all, name_of
from modgraph.graph.given_back import settled
from modgraph.graph.may_be import MayBe, Side, end_of
from modgraph.graph.model import Call, Condition, Edge, Graph, ModuleNode, OpenPlace, Operation, SourceLocation
from modgraph.graph.opened import Told, open_call
from modgraph.graph.turns import Order, told_by_run

_Step = Call | Operation
_Item = TypeVar("_Item", Call, Operation)
_Part = TypeVar("_Part", Call, Operation, Edge)


def as_run(graph: Graph) -> Graph:
    """The graph without what a run did not take."""
    if all(call.observed is not False for call in graph.calls) and all(
        edge.observed is not False for edge in graph.edges
    ):
        return graph
    return replace(
        graph,
        modules=tuple(_of_run(node, graph) for node in graph.modules),
        calls=tuple(call for call in graph.calls if call.observed is not False),
        operations=tuple(each for each in graph.operations if each.observed is not False),
        edges=tuple(each for each in graph.edges if each.observed is not False),
    )


def _of_run(node: ModuleNode, graph: Graph) -> ModuleNode:
    calls = tuple(index for index in node.calls if graph.calls[index].observed is not False)
    conditions = [graph.calls[index].condition for index in node.calls] if not calls else []
    return replace(node, calls=calls, untaken=any_of(conditions))


def _which_of(texts: Sequence[str]) -> str:
    """One of them held; of what only says on what it depends that is said, as it names no test."""
    if any(DEPENDS in each for each in texts):
        return both_texts(texts)
    return f"{DEPENDS}which of {', '.join(f'`{text}`' for text in texts)} held"


def any_of(conditions: Iterable[Condition | None]) -> str:
    """That one of them holds, in words."""
    return ", or ".join(dict.fromkeys(each.text.removeprefix("depends on ") for each in conditions if each is not None))


def add_untaken(builder: GraphBuilder, predicted: Graph) -> None:
    """Marks what ran as predicted or not, and adds what was predicted and did not run. `builder` holds what ran."""
    if not builder.calls or not any(call.predicted for call in predicted.calls):
        return
    joined = _Joined(builder, predicted, False)
    joined.match()
    joined.settle()
    joined.mark()
    joined.take_last_turns()
    joined.add()
    joined.tell_what_has_no_place()


def add_other_ways(
    builder: GraphBuilder, every_way: Graph, first: Parts | None = None, elsewhere: Collection[str] = ()
) -> None:
    """Adds what `forward` does in another mode, or with other arguments, to what it is predicted to do as a rule.

    Args:
        first: what it does as a rule, where other ways were added to that.
        elsewhere: calls and operations of the other ways that are none of these, whatever they are of and where.
    """
    if not every_way.calls or not builder.calls:
        return
    joined = _Joined(builder, every_way, None, first=first, elsewhere=elsewhere)
    joined.match()
    joined.add()
    joined.tell_what_has_no_place()


@dataclass(frozen=True, slots=True)
class Way:
    """What `forward` does with other sizes than those that a graph is of."""

    graph: Graph | None
    """None where it does the same as one that is known."""
    like: int | None = None
    """That one, in the order of the ways; zero is what the graph is of."""
    is_told: bool = True
    """What it does besides is added."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What of a graph one run has, in its order."""

    calls: Mapping[int, None]
    operations: Mapping[str, None]
    edges: Mapping[tuple[str | None, str | None], None]
    doubts: Doubts

    @classmethod
    def of(cls, builder: GraphBuilder) -> Parts:
        """All that is there so far."""
        return cls(
            dict.fromkeys(call.index for call in builder.calls),
            dict.fromkeys(each.id for each in builder.operations),
            dict.fromkeys((edge.producer, edge.consumer) for edge in builder.edges),
            doubts_of(
                (
                    *((name_of(each), each) for each in builder.calls),
                    *((name_of(each), each) for each in builder.operations),
                    *((name_of(each), each) for each in builder.edges),
                )
            ),
        )


def add_ways(builder: GraphBuilder, ways: Sequence[Way], when: Callable[[frozenset[int]], Condition]) -> None:
    """Adds what `forward` does with other sizes; what it does with some alone is certain no more.

    Args:
        when: what tells some of the ways from all others, by their places; zero is what is there already.
    """
    if not builder.calls:
        return
    found = [Parts.of(builder)]
    for way in ways:
        if way.graph is None:
            found.append(found[way.like or 0])
            continue
        joined = _Joined(builder, way.graph, None, True, found[0])
        joined.match()
        if way.is_told:
            joined.add()
        found.append(joined.parts())
    doubts = [parts.doubts for parts in found]

    def depending(part: _Part, name: object, kind: Callable[[Parts], Container[object]]) -> _Part:
        having = [place for place, parts in enumerate(found) if name in kind(parts)]
        if not are_alike(having, name_of(part), doubts):
            return replace(part, certain=False, condition=in_all(having, name_of(part), doubts, when))
        return part if len(having) == len(found) or not having else _doubted(part, when(frozenset(having)))

    builder.calls = [depending(each, each.index, lambda parts: parts.calls) for each in builder.calls]
    builder.operations = [depending(each, each.id, lambda parts: parts.operations) for each in builder.operations]
    builder.edges = [
        depending(each, (each.producer, each.consumer), lambda parts: parts.edges) for each in builder.edges
    ]


def _doubted(part: _Part, why: Condition) -> _Part:
    return replace(part, certain=False, condition=both(part.condition, why))


@dataclass
class _Joined:
    builder: GraphBuilder
    predicted: Graph
    observed: bool | None
    """What is said of all that is added."""
    is_way: bool = False
    """What is added is done with other sizes: what it depends on is said later."""
    first: Parts | None = None
    """What is matched before all else that is there."""
    elsewhere: Collection[str] = ()
    """Ends of what is predicted that is nothing that is there."""
    calls: dict[int, int] = field(default_factory=dict)
    """Predicted calls, and those of the run that they are."""
    operations: dict[str, str] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)
    """Ends of what is added."""
    ran: set[int] = field(default_factory=set)
    """Calls of the run that were predicted."""
    turns: set[str] = field(default_factory=set)
    """Predicted calls that are made by what makes others: further turns of a loop."""
    without_place: list[Call] = field(default_factory=list)
    """Predicted calls that cannot be added."""
    standing: dict[str, list[str]] = field(default_factory=dict)
    """Of each predicted end that ran, all that it is in the run: several, where it is one turn of a loop."""

    may_be: MayBe | None = None
    """Which predicted parts those of the run may be, once they are matched."""

    def __post_init__(self) -> None:
        self.paths = {node.path for node in self.builder.modules if node.observed is not False}
        self.names = {node.path: node.alias_of or node.path for node in self.builder.modules}
        away = self.elsewhere
        self.theirs = _inside(call for call in self.predicted.calls if f"call:{call.index}" not in away)
        self.ours = _inside(self.builder.calls)
        self.their_operations = _by_call(each for each in self.predicted.operations if each.id not in away)
        self.our_operations = _by_call(self.builder.operations)

    def match(self) -> None:
        self._match()
        if self.observed is not False:
            return
        for _ in range(2):
            self.may_be = may_be = self._may_be()
            known = {end_of(part): may_be.of(part) for part in _parts(self.builder)}
            if all(one in known[end] for one, ends in self.standing.items() for end in ends if known.get(end)):
                return
            for table in (self.calls, self.operations, self.standing, self.ran, self.turns):
                table.clear()
            self.__dict__.pop("_taken", None)
            self._match()
        self.may_be = self._may_be()

    def _may_be(self) -> MayBe:
        predicted, run = self.predicted, self.builder
        return MayBe(
            Side(predicted.calls, predicted.operations, predicted.edges),
            Side(run.calls, run.operations, run.edges),
            self.standing,
            self._key_of_part,
        )

    def _match(self) -> None:
        pending: list[tuple[int | None, int | None]] = [(None, None)]
        met: list[tuple[int | None, int | None, list[tuple[Operation, Operation]]]] = []
        while pending:
            one, two = pending.pop()
            pairs, operations = self._matched_in(one, two)
            met.append((one, two, operations))
            pairs += self._further_turns(one, two, {ours.index for _, ours in pairs})
            if self.is_way:
                pairs += self._turns_of_way(one, two, {theirs.index for theirs, _ in pairs})
            self.ran.update(ours.index for _, ours in pairs)
            for theirs, ours in pairs:
                self.calls.setdefault(theirs.index, ours.index)
                self.standing.setdefault(f"call:{theirs.index}", []).append(f"call:{ours.index}")
                if self.observed is None and (theirs.may_repeat or f"call:{theirs.index}" in self.turns):
                    self.builder.calls[ours.index] = replace(self.builder.calls[ours.index], may_repeat=True)
            pending.extend((theirs.index, ours.index) for theirs, ours in pairs)
        for one, two, operations in met:
            operations = [pair for pair in operations if self._takes_of_the_same(*pair)]
            operations += self._further_operations(one, two, {other.id for _, other in operations})
            for each, other in operations:
                self.operations.setdefault(each.id, other.id)
                self.standing.setdefault(each.id, []).append(other.id)

    def _matched_in(
        self, one: int | None, two: int | None
    ) -> tuple[list[tuple[Call, Call]], list[tuple[Operation, Operation]]]:
        """The calls, and the operations, in a call and in the one that it is."""
        if self.observed is False:
            return self._matched_with_run(one, two)
        calls = self._pairs(
            self.theirs.get(one, []),
            self.ours.get(two, []),
            self._key,
            lambda call: call.index,
            lambda parts: parts.calls,
        )
        operations = self._pairs(
            self.their_operations.get(one, []),
            self.our_operations.get(two, []),
            self._operation_key,
            lambda each: each.id,
            lambda parts: parts.operations,
        )
        return calls, operations

    def _matched_with_run(
        self, one: int | None, two: int | None
    ) -> tuple[list[tuple[Call, Call]], list[tuple[Operation, Operation]]]:
        """In one row: what certainly happens tells to which turn of a loop that belongs which may happen."""
        theirs, ours = self._orders
        rows = (
            theirs.row(self.theirs.get(one, []), self.their_operations.get(one, [])),
            ours.row(self.ours.get(two, []), self.our_operations.get(two, [])),
        )
        calls: list[tuple[Call, Call]] = []
        operations: list[tuple[Operation, Operation]] = []
        for each, other in self._in_rows(*rows):
            if isinstance(each, Call) and isinstance(other, Call):
                calls.append((each, other))
            elif isinstance(each, Operation) and isinstance(other, Operation):
                operations.append((each, other))
        return calls, operations

    def _in_rows(self, theirs: Sequence[_Step], ours: Sequence[_Step]) -> list[tuple[_Step, _Step]]:
        """In their order, and then what is left at one line: what other arguments than the usual ones lead to is
        predicted behind the usual run, wherever it stands in the source."""
        pairs = aligned(theirs, ours, self._key_of_part, self._weight)
        if len(pairs) < min(len(theirs), len(ours)):
            done = {id(each) for pair in pairs for each in pair}
            rest, other = ([each for each in row if id(each) not in done] for row in (theirs, ours))
            pairs += aligned(rest, other, self._key_of_part, self._weight_at_one_line)
        return pairs

    def _weight_at_one_line(self, one: Part, two: Part) -> int:
        return self._weight(one, two) if weight(one, two) > 1 else 0

    def _weight(self, one: Part, two: Part) -> int:
        """What takes its data from elsewhere is matched with what nothing else is."""
        worth = 2 * weight(one, two)
        if self.may_be is None or not worth or one.certain:
            return worth
        assert isinstance(one, Call | Operation)
        assert isinstance(two, Call | Operation)
        known = self.may_be.of(two)
        return 1 if known and end_of(one) not in known else worth

    @cached_property
    def _orders(self) -> tuple[Interleaved, Interleaved]:
        return (
            Interleaved(self.predicted.calls, self.predicted.edges),
            Interleaved(self.builder.calls, self.builder.edges),
        )

    def _key_of_part(self, part: Call | Operation) -> Hashable:
        return self._key(part) if isinstance(part, Call) else self._operation_key(part)

    def _pairs(
        self,
        theirs: Sequence[_Item],
        ours: Sequence[_Item],
        key: Callable[[_Item], Hashable],
        name: Callable[[_Item], object],
        parts: Callable[[Parts], Mapping[Any, None]],
    ) -> list[tuple[_Item, _Item]]:
        """Those of the run that comes first are matched in its order; what was added to it has come behind it."""
        if self.first is None:
            return aligned(theirs, ours, key)
        places = {each: place for place, each in enumerate(parts(self.first))}
        run = sorted((each for each in ours if name(each) in places), key=lambda each: places[name(each)])
        pairs = aligned(theirs, run, key)
        if len(run) == len(ours):
            return pairs
        matched = {name(each) for each, _ in pairs}
        rest = [each for each in theirs if name(each) not in matched]
        return pairs + aligned(rest, [each for each in ours if name(each) not in places], key)

    def parts(self) -> Parts:
        """What the prediction has, as the graph of the run has it."""
        return Parts(
            dict.fromkeys(self.calls[call.index] for call in self.predicted.calls if call.index in self.calls),
            dict.fromkeys(self.operations[each.id] for each in self.predicted.operations if each.id in self.operations),
            dict.fromkeys(map(self.ends, self.predicted.edges)),
            doubts_of(
                (
                    *((self.calls.get(each.index), each) for each in self.predicted.calls),
                    *((self.operations.get(each.id), each) for each in self.predicted.operations),
                    *((self.ends(each), each) for each in self.predicted.edges),
                )
            ),
        )

    def _further_turns(self, one: int | None, two: int | None, matched: set[int]) -> list[tuple[Call, Call]]:
        """What ran again where the prediction has one turn of a loop."""
        turns = {self._key(call): call for call in self.theirs.get(one, []) if not call.certain}
        return [
            (turns[self._key(call)], call)
            for call in self.ours.get(two, [])
            if call.index not in matched and self._key(call) in turns
        ]

    def _further_operations(
        self, one: int | None, two: int | None, matched: set[str]
    ) -> list[tuple[Operation, Operation]]:
        """Those that ran again in the line where the prediction has one turn of a loop."""
        if self.observed is not False:
            return []
        turns = {(each.name, each.source): each for each in self.their_operations.get(one, []) if not each.certain}
        return [
            (turns[each.name, each.source], each)
            for each in self.our_operations.get(two, [])
            if each.source is not None and each.id not in matched and (each.name, each.source) in turns
        ]

    def _turns_of_way(self, one: int | None, two: int | None, matched: set[int]) -> list[tuple[Call, Call]]:
        """What a way does more often than what is there, in the same line: a loop over a size has as many turns as it
        has, of which a few say what all do."""
        known = {self._key(call): call for call in self.ours.get(two, [])}
        found = [
            (call, known[self._key(call)])
            for call in self.theirs.get(one, [])
            if call.index not in matched and self._key(call) in known
        ]
        self.turns.update(f"call:{theirs.index}" for theirs, _ in found)
        return found

    def _key(self, call: Call) -> Hashable:
        line = None if call.source is None else call.source.line
        return self.names.get(call.module, call.module), call.direct, line

    def _takes_of_the_same(self, theirs: Operation, ours: Operation) -> bool:
        """Not of calls that are others in the run."""
        if self.observed is not False:
            return True
        taken, known = self._taken_by_run.get(ours.id), self._taken.get(theirs.id)
        return not taken or not known or not taken.isdisjoint(known)

    @cached_property
    def _taken(self) -> dict[str, set[str]]:
        """Of each predicted operation, the calls of which it takes something, as the run has them. Made after all calls
        are matched."""
        found: dict[str, set[str]] = {}
        for edge in self.predicted.edges:
            if edge.producer.startswith("call:") and edge.consumer.startswith("op:"):
                found.setdefault(edge.consumer, set()).update(self.standing.get(edge.producer, ("",)))
        return found

    @cached_property
    def _taken_by_run(self) -> dict[str, set[str]]:
        """Of each operation of the run; without those of which that is not known."""
        found: dict[str, set[str]] = {}
        for edge in self.builder.edges:
            if edge.consumer.startswith("op:"):
                ends = {end for end in (edge.producer, *edge.or_from) if end.startswith("call:")}
                found.setdefault(edge.consumer, set()).update(ends)
        for edge in self.builder.edges:
            if edge.or_others:
                found.pop(edge.consumer, None)
        return found

    def _operation_key(self, each: Operation) -> Hashable:
        """What a way does in another line is another operation: it stands elsewhere in the order."""
        line = None if each.source is None or not self.is_way else each.source.line
        return each.name, line

    def settle(self) -> None:
        """Of a tensor that a call gave back as it was, the run does not tell before or behind which it was taken."""
        if any(edge.is_open for edge in self.builder.edges):
            ends = ((edge, self.ends(edge)) for edge in self.predicted.edges if self._is_at_one_line(edge.consumer))
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
        builder = self.builder
        places = {f"call:{call.index}": place for place, call in enumerate(builder.calls)}
        places.update((each.id, place) for place, each in enumerate(builder.operations))
        for ends in self.standing.values():
            ends.sort(key=places.__getitem__)
        self.standing.update((end, [end]) for edge in self.predicted.edges for end in _outside(edge))
        operations = {end for ends in self.standing.values() for end in ends}
        ran = {(edge.producer, edge.consumer) for edge in builder.edges}
        edges = told_by_run(self.predicted.edges, self.standing, ran)
        builder.calls = [
            replace(each, predicted=each.index in self.ran, held=self._held(each)) for each in builder.calls
        ]
        builder.operations = [
            replace(each, predicted=each.id in operations, held=self._held(each)) for each in builder.operations
        ]
        builder.edges = [replace(each, predicted=(each.producer, each.consumer) in edges) for each in builder.edges]

    def _held(self, part: Call | Operation) -> Condition | None:
        return None if self.may_be is None else self.may_be.held(part, self._conditions)

    @cached_property
    def _conditions(self) -> dict[str, Condition | None]:
        """On what each predicted part depends."""
        return {end_of(part): part.condition for part in _parts(self.predicted)}

    @cached_property
    def _in_doubt(self) -> dict[str, Condition]:
        """What is said of those of which the run does not tell which it took."""
        if self.may_be is None:
            return {}
        found: dict[str, dict[str, None]] = {}
        for part in _parts(self.builder):
            ends = sorted(self.may_be.of(part))
            texts = {condition.text for end in ends if (condition := self._conditions.get(end))}
            if len(texts) > 1:
                for end in ends:
                    found.setdefault(end, {}).update(dict.fromkeys(sorted(texts)))
        return {
            end: replace(condition, text=_which_of(list(texts)))
            for end, texts in found.items()
            if (condition := self._conditions.get(end))
        }

    def take_last_turns(self) -> None:
        """What did not run is put into the last turn of those in which it may have."""
        self.calls.update((call, int(self.standing[f"call:{call}"][-1][5:])) for call in self.calls)
        self.operations.update((each, self.standing[each][-1]) for each in self.operations)

    def add(self) -> None:
        """What was predicted and did not run."""
        builder = self.builder
        if self.observed is False:
            self._open_calls()
        ran = {(edge.producer, edge.consumer) for edge in builder.edges}
        ends = {end for pair in ran for end in pair}  # a call at which data ends has made no other
        for call in self.predicted.calls:
            parent = None if call.parent is None else self.calls.get(call.parent)
            if call.index in self.calls or call.module not in self.paths:
                continue
            if f"call:{parent}" in ends:
                self.without_place.append(call)
                continue
            if call.parent is not None and parent is None:
                continue
            self.calls[call.index] = index = len(builder.calls)
            self.new.add(f"call:{index}")
            condition = self._in_doubt.get(f"call:{call.index}", call.condition)
            builder.calls.append(replace(call, index=index, parent=parent, observed=self.observed, condition=condition))
        self._add_operations()
        called: dict[str, list[int]] = {}
        for call in builder.calls:
            called.setdefault(call.module, []).append(call.index)
        builder.modules = [_calling(node, called.get(node.path, [])) for node in builder.modules]
        self._add_edges(ran)

    def _open_calls(self) -> None:
        """Opens calls that made no other, and may have."""
        ends = {end for edge in self.builder.edges for end in (edge.producer, edge.consumer)}
        around = {
            call.parent: self.calls[call.parent]
            for call in self.predicted.calls
            if call.parent in self.calls and call.index not in self.calls and call.module in self.paths
        }
        told: list[Told] | None = None
        for call, known in around.items():
            if f"call:{known}" not in ends or not self._ran_once(call, known):
                continue
            if told is None:
                placed = ((edge, *self.ends(edge)) for edge in self.predicted.edges)
                told = [(edge, one, other) for edge, one, other in placed if one is not None and other is not None]
            open_call(self.builder, known, told, self._read_in(call))

    def _read_in(self, call: int | None) -> set[str]:
        """What is read in a predicted call by it or by what did not run, as the run has it."""
        found: set[str] = set()
        for edge in self.predicted.edges:
            around = self._callers.get(edge.consumer)
            producer = self._end(edge.producer)
            while producer is not None and around is not None and around != call and around not in self.calls:
                around = self._callers[f"call:{around}"]
            if producer is not None and around == call:
                found.add(producer)
        return found

    def _ran_once(self, call: int | None, known: int) -> bool:
        """It and all inside are one thing each in the run, and all that ran inside was predicted."""
        operations = self.their_operations.get(call, [])
        standing = [self.standing.get(each.id, ()) for each in operations]
        inside = [each.id for each in self.our_operations.get(known, [])]
        return (
            len(self.standing.get(f"call:{call}", ())) == 1
            and all(len(each) <= 1 for each in standing)
            and sorted(end for ends in standing for end in ends) == sorted(inside)
        )

    def tell_what_has_no_place(self) -> None:
        """Calls inside one that has made none, at which data ends: that they may be is all that is told of them."""
        model = self.builder.model
        if not self.without_place or model.open_ways is not None:
            return
        first = self.without_place[0]
        where = first.source
        self.builder.model = replace(
            model,
            open_ways=OpenPlace(
                message=f"{first.module} may be called here",
                file=None if where is None else where.file,
                line=None if where is None else where.line,
            ),
        )

    def _add_edges(self, ran: set[tuple[str, str]]) -> None:
        builder = self.builder
        holding = {call.parent for call in builder.calls}
        order = None if self.observed is not False else self._order()
        for edge in self.predicted.edges:
            if not self.turns.isdisjoint((edge.producer, edge.consumer)):
                continue
            producer, consumer = self.ends(edge) if order is None else self._ends_in_order(edge, order, ran)
            if producer is None or consumer is None or (producer, consumer) in ran:
                continue
            if edge.certain and not self.is_way and self.new.isdisjoint((producer, consumer)):
                continue
            if any(end.startswith("call:") and int(end[5:]) in holding for end in (producer, consumer)):
                continue
            condition = self._condition_of(edge)
            builder.edges.append(
                replace(
                    edge,
                    producer=producer,
                    consumer=consumer,
                    observed=self.observed,
                    made_by=None,
                    condition=condition,
                )
            )

    def _condition_of(self, edge: Edge) -> Condition | None:
        """That of an end, where the run does not tell whether it is the end."""
        for end in (edge.producer, edge.consumer):
            if edge.condition is not None and self._conditions.get(end) == edge.condition:
                return self._in_doubt.get(end, edge.condition)
        return edge.condition

    def _order(self) -> Order:
        """When each thing was; what did not run stands behind what it takes."""
        builder = self.builder
        calls = [call for call in builder.calls if f"call:{call.index}" not in self.new]
        operations = [each for each in builder.operations if each.id not in self.new]
        order = Order(calls, operations, builder.edges)
        for _ in range(2):  # edges of the prediction may stand before those that make what they take
            for edge in self.predicted.edges:
                producer, consumer = self.ends(edge)
                if producer is not None and consumer in self.new:
                    order.put(consumer, producer)
        return order

    def _ends_in_order(self, edge: Edge, order: Order, ran: set[tuple[str, str]]) -> tuple[str | None, str | None]:
        """Between what ends of the run the edge is put; none, where it does not go on in the order of the run, or the
        run itself tells what went from turn to turn."""
        producer, consumer = self.ends(edge)
        if producer is None or consumer is None:
            return None, None
        ones, others = self.standing.get(edge.producer, ()), self.standing.get(edge.consumer, ())
        if len(ones) > 1 and others:
            is_told = any((one, consumer) in ran for one in ones)
            if is_told or not consumer.startswith("output:"):
                return None, None
        if len(others) > 1:
            if any((producer, other) in ran for other in others):
                return None, None
            inside = self._is_in_one_call(edge)
            consumer = others[-1] if inside or not order.goes_on(producer, others[0]) else others[0]
        return (producer, consumer) if order.goes_on(producer, consumer) else (None, None)

    def _is_in_one_call(self, edge: Edge) -> bool:
        """Both are in one call that is not the whole run: they are in one turn of that."""
        one, other = self._callers.get(edge.producer), self._callers.get(edge.consumer)
        return one is not None and one == other and len(self.standing.get(f"call:{one}", ())) > 1

    @cached_property
    def _callers(self) -> dict[str, int | None]:
        found = {f"call:{call.index}": call.parent for call in self.predicted.calls}
        found.update((each.id, each.call) for each in self.predicted.operations)
        return found

    def _add_operations(self) -> None:
        builder = self.builder
        taken = {each.id for each in builder.operations}
        number = len(builder.operations)
        for operation in self.predicted.operations:
            call = None if operation.call is None else self.calls.get(operation.call)
            if operation.id in self.operations or call is None or (operation.certain and not self.is_way):
                continue
            while f"op:{number}" in taken:
                number += 1
            self.operations[operation.id] = name = f"op:{number}"
            taken.add(name)
            self.new.add(name)
            condition = self._in_doubt.get(operation.id, operation.condition)
            builder.operations.append(
                replace(operation, id=name, call=call, observed=self.observed, condition=condition)
            )

    def ends(self, edge: Edge) -> tuple[str | None, str | None]:
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


def _parts(graph: Graph | GraphBuilder) -> Iterator[Call | Operation]:
    yield from graph.calls
    yield from graph.operations


def _outside(edge: Edge) -> list[str]:
    """Ends that both have by one name: inputs, outputs, parameters."""
    return [end for end in (edge.producer, edge.consumer) if not end.startswith(("call:", "op:", "const:"))]


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
