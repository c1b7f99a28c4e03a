"""Ways of data that are on one side alone: between modules and operations that are on both sides.

What was added or removed is looked through: a layer put between two others is one insertion, and the two stay joined.
Where a way is told that goes past such steps, they are named. What is one layer on one side, and calls others on the
other (a `Linear` that was put into a wrapper), is one end on both.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Literal

from modgraph.changes.leeway import Leeway
from modgraph.changes.matching import Matching
from modgraph.changes.model import Flow, sorted_by_path
from modgraph.changes.places import elsewhere, place_in_operation
from modgraph.graph.dataflow import operation_word
from modgraph.graph.model import Condition, Edge, Graph

Key = tuple[Hashable, ...]
"""What an end of an edge is, in words that are the same on both sides."""
MOST_STEPS = 1_000_000
"""Edges that are followed past what is on one side alone. Where all of a long residual stream is, every block of it
leads to every later one: as many ways as the square of their number, which nobody reads."""
Ways = dict[tuple[Key, Key], dict[str, str]]
"""Where data goes from and to; at which places it comes in, each with its name in this graph."""


def flows(
    matching: Matching,
    same: Mapping[str, str],
    whole: tuple[Graph, Graph] | None = None,
    leeway: tuple[Leeway, Leeway] = (Leeway(), Leeway()),
) -> tuple[tuple[Flow, ...], tuple[Flow, ...]] | None:
    """The ways of data that differ, and those that the other side may have as well. None where there are too many to
    follow.

    Args:
        same: calls and operations of the old graph, and what they are in the new one.
        whole: of predictions, both with what depends on conditions.
        leeway: what they leave open.
    """
    # What the new model may have at the same path is another module.
    new = _Side(matching.new.graph, {path: path for path in matching.new.nodes})
    old = _Side(
        matching.old.graph,
        {path: matching.to_new.get(path) for path in matching.old.nodes},
        {end: new.keys.get(other) for end, other in same.items()},
    )
    replaced = {end: other for end, other in same.items() if _is_replaced(matching, end, other)}
    old.take_inside_for(new, replaced, set(same))
    new.take_inside_for(old, {other: end for end, other in replaced.items()}, set(same.values()))
    both = {key for key in old.keys.values() if _is_matched(key, matching.to_old)} & set(new.keys.values())
    ways_old, ways_new = old.ways(both), new.ways(both)
    if ways_old is None or ways_new is None:
        return None
    open_ = _may_be_one(ways_old, ways_new, old.open_ways()) | _may_be_one(ways_new, ways_old, new.open_ways())
    gone = [way for way in ways_old if way not in ways_new and way not in open_]
    come = [way for way in ways_new if way not in ways_old and way not in open_]
    under = ({}, {}) if whole is None else (new.under(gone, whole[1], both), old.under(come, whole[0], both))
    if under[0] is None or under[1] is None:
        return None
    found: list[Flow] = []
    untold: list[Flow] = []
    sides: tuple[Literal["old", "new"], ...] = ("old", "new")
    lone = (old, new, gone, under[0], leeway[1]), (new, old, come, under[1], leeway[0])
    for side, (here, there, ways, at, open_there) in zip(sides, lone, strict=True):
        unfed = here.more_fed_than(there) if open_there.is_partial else frozenset[Key]()
        for way, flow in here.told(side, ways, both):
            test = at.get(way)
            if way[1] in unfed or (test is not None and any(map(open_there.is_open, test.conditions))):
                untold.append(flow)
            else:
                found.append(replace(flow, under=None if test is None else test.text))
    for way in _at_other_places(ways_old, ways_new):
        names = set(ways_old[way].values()), set(ways_new[way].values())
        if names[0] != names[1]:
            names = names[0] - names[1], names[1] - names[0]
        found += [old.flow("old", way, place) for place in names[0]]
        found += [new.flow("new", way, place) for place in names[1]]
    return sorted_by_path(dict.fromkeys(found)), sorted_by_path(dict.fromkeys(untold))


def _is_replaced(matching: Matching, end: str, other: str) -> bool:
    """Whether it is a call of a module that is of another class now: that is told, and what it does in another way."""
    if not end.startswith("call:"):
        return False
    graphs = (matching.old, end), (matching.new, other)
    one, two = (tree.class_of(tree.graph.calls[int(end[5:])].module) for tree, end in graphs)
    return one != two


def _may_be_one(ours: Ways, theirs: Ways, open_: Mapping[tuple[Key, Key], set[Key] | None]) -> set[tuple[Key, Key]]:
    """Ways of either side that may be the same: of a tensor that was given back, a run leaves open who gave it."""
    found: set[tuple[Key, Key]] = set()
    into: dict[Key, set[tuple[Key, Key]]] = {}
    for way in theirs if None in open_.values() else ():
        into.setdefault(way[1], set()).add(way)
    for (producer, consumer), others in open_.items():
        if others is None:
            alike = into.get(consumer, set()).difference(ours)
        else:
            alike = {(other, consumer) for other in others}.intersection(theirs)
        if alike and (producer, consumer) not in theirs:
            found |= {(producer, consumer), *(way for way in alike if way not in ours)}
    return found


def _at_other_places(olds: Ways, news: Ways) -> list[tuple[Key, Key]]:
    arrivals: tuple[dict[Key, list[tuple[Key, str]]], ...] = ({}, {})
    for ways, coming in zip((olds, news), arrivals, strict=True):
        for (producer, consumer), places in ways.items():
            coming.setdefault(consumer, []).extend((producer, place) for place in places)
    return [
        (producer, consumer)
        for consumer, coming in arrivals[0].items()
        if consumer in arrivals[1]
        for producer in elsewhere(coming, arrivals[1][consumer])
    ]


def _is_matched(key: Key, paths: Mapping[str, str]) -> bool:
    return key[0] in ("input", "output", "const") or key[1] in paths


_AROUND = re.compile(r"(?:\S+(?: #\d+)? in )?(.+?)(?: \(call \d+\))?")
_NO_MODULE = ("input ", "output ", "parameter ", "constant")


def place_of(end: str) -> str:
    """The path of the module that an end of a `Flow` is in; "" of the model's own."""
    if end.startswith(_NO_MODULE):
        return ""
    found = _AROUND.fullmatch(end)
    place = end if found is None else found[1]
    return "" if place == "the model" else place


def outer_key(end: str, paths: Mapping[str, str | None]) -> Key:
    """What an end is that is no call and no operation; a parameter, by the path of its module on both sides."""
    kind, _, name = end.partition(":")
    if kind == "param":
        cut = len(name)
        while (cut := name.rfind(".", 0, cut)) > 0:
            if name[:cut] in paths:
                return ("param", paths[name[:cut]], name[cut + 1 :])
        return ("param", "", name)
    return ("const", "") if kind == "const" else (kind, name)


class _Side:
    """The edges of one graph, their ends named by the paths of the new one.

    Args:
        paths: the path there of each module; None of one that is here alone.
        same: calls and operations that the new graph has too, by their keys there; without them, it is the new graph.
    """

    def __init__(
        self, graph: Graph, paths: Mapping[str, str | None], same: Mapping[str, Key | None] | None = None
    ) -> None:
        self.graph = graph
        self.paths = paths
        self._same = same
        self._own = {new: old for old, new in paths.items() if new is not None}
        self.keys: dict[str, Key] = {}
        self._numbers: dict[Key, tuple[int, int]] = {}
        """Of a key, the number of the call here, and that of the operation in it."""
        self._names: dict[str, str] = {}
        """Of calls and operations, as this graph calls them."""
        self._as_one: set[Key] = set()
        """Calls that are one layer on one side alone."""
        self._number_calls()
        self._number_operations()
        self._outgoing: dict[str, list[Edge]] = {}
        self._steps = 0
        self._operation_names = {operation.id: operation.name for operation in graph.operations}
        self._ends = {end for edge in graph.edges for end in (edge.producer, edge.consumer)}
        for end in self._ends - self.keys.keys():
            self.keys[end] = outer_key(end, self.paths)
        for edge in graph.edges:
            self._outgoing.setdefault(edge.producer, []).append(edge)

    def _number_calls(self) -> None:
        counted: Counter[str] = Counter()
        for call in self.graph.calls:
            if not call.certain:
                continue
            counted[call.module] += 1
            number = counted[call.module]
            key: Key = ("call", self.paths.get(call.module), number)
            self._names[f"call:{call.index}"] = f"{call.module or 'the model'}{_nth_call(number)}"
            self._keep(f"call:{call.index}", key, (number, 1))

    def _number_operations(self) -> None:
        counted: Counter[Hashable] = Counter()
        for operation in self.graph.operations:
            holder: Key = ("", "", 0) if operation.call is None else self.keys[f"call:{operation.call}"]
            word = operation_word(operation.name)
            counted[holder, word] += 1
            number = counted[holder, word]
            key = ("op", holder[1], holder[2], word, number)
            call = self._numbers.get(holder, (0, 1))[0]
            path = "" if operation.call is None else self.graph.calls[operation.call].module
            self._names[operation.id] = f"{word}{_nth(number)} in {path or 'the model'}{_nth_call(call or 1)}"
            self._keep(operation.id, key, (call, number))

    def _keep(self, end: str, key: Key, numbers: tuple[int, int]) -> None:
        """The key of a call or operation: that of the new graph, or, of what it has not, one that it cannot have."""
        if self._same is not None:
            there = self._same.get(end)
            key = (*key, "old") if there is None else there
        self.keys[end] = key
        self._numbers[key] = numbers

    def take_inside_for(self, other: _Side, there: Mapping[str, str], paired: Set[str]) -> None:
        """What a call does that is one layer on the other side is that layer.

        Args:
            there: calls of this graph, and what they are in the other one.
            paired: those of this graph that the other one has too.
        """
        layers = {end: self.keys[end] for end in there if end in self._callers() and other.is_layer(there[end])}
        self._as_one.update(layers.values())
        other._as_one.update(layers.values())
        if not layers:
            return
        holders = {f"call:{call.index}": call.parent for call in self.graph.calls}
        holders.update((each.id, each.call) for each in self.graph.operations)
        within: dict[str, Key | None] = {}
        for end, holder in holders.items():  # a call begins before those that it makes
            outer = None if holder is None else f"call:{holder}"
            within[end] = None if outer is None else layers.get(outer, within.get(outer))
            taken = within[end]
            if taken is not None and end in self.keys and end not in paired:
                self.keys[end] = taken

    def _callers(self) -> set[str]:
        """Calls that make others, or operations of their own."""
        inside = (*(call.parent for call in self.graph.calls), *(each.call for each in self.graph.operations))
        return {f"call:{call}" for call in inside if call is not None}

    def is_layer(self, end: str) -> bool:
        """Whether it is a call between which and others data goes, as nothing is known to be in it."""
        return end.startswith("call:") and end in self._ends

    def ways(self, known: set[Key]) -> Ways | None:
        """From each known end to the next known ones, past all others; None where that takes more than `MOST_STEPS`."""
        found: Ways = {}
        self._steps = 0
        for producer in self._outgoing:
            start = self.keys[producer]
            if start in known:
                for edge in self._next_known(producer, known):
                    end = self.keys[edge.consumer]
                    if end != start or end not in self._as_one:
                        found.setdefault((start, end), {}).setdefault(self._place(edge), edge.tensor.name)
                if self._steps > MOST_STEPS:
                    return None
        return found

    def told(
        self, side: Literal["old", "new"], ways: Iterable[tuple[Key, Key]], known: set[Key]
    ) -> Iterator[tuple[tuple[Key, Key], Flow]]:
        """Ways as this side calls them, each with the steps that it goes past."""
        wanted = dict.fromkeys(ways)
        past = _shortest(self._outgoing, self.keys, wanted, known) or {}  # not more steps than `ways` took
        for way in wanted:
            first, last, count = past[way].ends
            steps = (first, "…", last) if count > 2 else (first, last)[:count]
            yield way, replace(self.flow(side, way), past=tuple(self._names.get(end, end) for end in steps))

    def under(
        self, ways: Iterable[tuple[Key, Key]], whole: Graph, known: set[Key]
    ) -> dict[tuple[Key, Key], _Under] | None:
        """Those of these ways that are there under a condition, and under which; None where there are too many steps
        between their ends to follow.

        Args:
            whole: the graph, with what depends on conditions.
        """
        wanted = dict.fromkeys(ways)
        if not wanted or len(whole.edges) == len(self.graph.edges):
            return {}
        keys, outgoing = dict(self.keys), dict[str, list[Edge]]()
        for edge in whole.edges:
            outgoing.setdefault(edge.producer, []).append(edge)
            for end in (edge.producer, edge.consumer):
                if end not in keys and not end.startswith(("call:", "op:")):
                    keys[end] = outer_key(end, self.paths)
        found = _shortest(outgoing, keys, wanted, known)
        if found is None:
            return None
        under: dict[tuple[Key, Key], _Under] = {}
        for way, path in found.items():
            conditions = tuple(edge.condition for edge in path.edges)
            under[way] = _Under("" if path.ends[2] else _test_of(conditions), conditions)
        return under

    def more_fed_than(self, other: _Side) -> frozenset[Key]:
        """Ends at a place of which more comes in here than on the other side."""
        fed: tuple[Counter[tuple[Key, str]], ...] = (Counter(), Counter())
        for side, counts in zip((self, other), fed, strict=True):
            for edge in side.graph.edges:
                counts[side.keys[edge.consumer], side._place(edge)] += 1
        return frozenset(at[0] for at, count in fed[0].items() if count > fed[1][at])

    def open_ways(self) -> dict[tuple[Key, Key], set[Key] | None]:
        """By way, the other ends that its tensor may have been taken from; None where not all are named."""
        found: dict[tuple[Key, Key], set[Key] | None] = {}
        for edge in self.graph.edges:
            if not edge.is_open:
                continue
            way = (self.keys[edge.producer], self.keys[edge.consumer])
            known = found.setdefault(way, set())
            if edge.or_others or known is None:
                found[way] = None
            else:
                known.update(self.keys.get(end) or outer_key(end, self.paths) for end in edge.or_from)
        return found

    def _next_known(self, end: str, known: set[Key]) -> Iterator[Edge]:
        pending, seen = list(reversed(self._outgoing.get(end, ()))), set()
        while pending:
            edge = pending.pop()
            if self.keys[edge.consumer] in known:
                yield edge
            elif edge.consumer not in seen:
                seen.add(edge.consumer)
                further = self._outgoing.get(edge.consumer, ())
                self._steps += len(further)
                pending.extend(reversed(further))

    def _place(self, edge: Edge) -> str:
        """Where it comes in; "" where the end of the way says so already."""
        if self.keys[edge.consumer] in self._as_one:
            return ""
        if edge.consumer.startswith("call:"):
            return edge.tensor.name
        operation = self._operation_names.get(edge.consumer)
        return "" if operation is None else place_in_operation(operation, edge.tensor.name)

    def flow(self, side: Literal["old", "new"], way: tuple[Key, Key], place: str = "") -> Flow:
        """A way as this side calls it."""
        return Flow(side=side, producer=self.words(way[0]), consumer=self.words(way[1]), place=place)

    def words(self, key: Key) -> str:
        """An end as this side calls it."""
        kind = key[0]
        if kind == "const":
            return "constant"
        if kind in ("input", "output"):
            return f"{kind} {key[1]}"
        path = self._own.get(str(key[1]), str(key[1]))
        if kind == "param":
            return f"parameter {path}.{key[2]}" if path else f"parameter {key[2]}"
        call, turn = self._numbers[key]
        if kind == "call":
            return f"{path or 'the model'}{_nth_call(call)}"
        return f"{key[3]}{_nth(turn)} in {path or 'the model'}{_nth_call(call)}"


def _nth_call(number: int) -> str:
    return f" (call {number})" if number != 1 else ""


def _nth(number: int) -> str:
    return f" #{number}" if number != 1 else ""


def _test_of(conditions: Iterable[Condition | None]) -> str:
    """The test of these conditions; "" where there are several, or none is named."""
    texts = {"" if each is None else each.text for each in conditions}
    return texts.pop() if len(texts) == 1 else ""


@dataclass(frozen=True, slots=True)
class _Under:
    """On what it depends whether a way is there."""

    text: str
    """The test; "" where none is named."""
    conditions: tuple[Condition | None, ...]
    """Those of the last edges of the way."""


@dataclass(slots=True)
class _Path:
    """The shortest way from one end to another."""

    ends: tuple[str, str, int]
    """The first and the last of the steps that it goes past, and how many these are."""
    edges: list[Edge]
    """The last edges of those that go past no more."""


def _shortest(
    outgoing: Mapping[str, list[Edge]], keys: Mapping[str, Key], ways: Iterable[tuple[Key, Key]], known: Set[Key]
) -> dict[tuple[Key, Key], _Path] | None:
    """Of each of these ways that is there, the one that goes past the fewest steps; None after `MOST_STEPS` of them."""
    steps: Counter[str] = Counter()
    wanted: dict[Key, set[Key]] = {}
    for source, end in ways:
        wanted.setdefault(source, set()).add(end)
    found: dict[tuple[Key, Key], _Path] = {}
    for producer in outgoing:
        start = keys.get(producer)
        if start is None or start not in wanted:
            continue
        for edge, ends in _beyond(producer, outgoing, keys, known, steps):
            way = (start, keys[edge.consumer])
            if way[1] not in wanted[start]:
                continue
            before = found.get(way)
            if before is None or ends[2] < before.ends[2]:
                found[way] = _Path(ends, [edge])
            elif ends[2] == before.ends[2]:
                before.edges.append(edge)
        if steps.total() > MOST_STEPS:
            return None
    return found


def _beyond(
    producer: str,
    outgoing: Mapping[str, list[Edge]],
    keys: Mapping[str, Key],
    known: Set[Key],
    steps: Counter[str],
) -> Iterator[tuple[Edge, tuple[str, str, int]]]:
    """The edges to the next known ends, the nearest first, each with the first and last of the steps before it and
    their number. `steps` counts those that are looked at."""
    pending = deque((edge, ("", "", 0)) for edge in outgoing[producer])
    seen: set[str] = set()
    while pending:
        edge, (first, last, count) = pending.popleft()
        if keys.get(edge.consumer) in known:
            yield edge, (first, last, count)
        elif edge.consumer not in seen:
            seen.add(edge.consumer)
            passed = (first or edge.consumer, edge.consumer, count + 1)
            further = outgoing.get(edge.consumer, ())
            steps[producer] += len(further)
            pending.extend((each, passed) for each in further)
