"""What each call and operation of a run may be of those that were predicted: several, where they are of one module or
name in one line. Where it takes its data from, and where that goes, tells some of them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from modgraph.graph.alignment import MAX_WEIGHED, weight
from modgraph.graph.model import Call, Condition, Edge, Operation

Key = Callable[[Call | Operation], Hashable]


def end_of(part: Call | Operation) -> str:
    """As edges name it."""
    return f"call:{part.index}" if isinstance(part, Call) else part.id


class Side:
    """Calls and operations of a graph: what each is inside, and from where and to where data goes."""

    def __init__(self, calls: Sequence[Call], operations: Sequence[Operation], edges: Iterable[Edge]) -> None:
        self.parts: list[Call | Operation] = [*(call for call in calls if not call.recomputed), *operations]
        self._around = {f"call:{call.index}": call.parent for call in calls}
        self._around.update((each.id, each.call) for each in operations)
        self.sources: dict[str, set[str]] = {}
        self.targets: dict[str, set[str]] = {}
        """Of all that is inside too: of what comes from outside, and goes there."""
        self.open: set[str] = set()
        """What may take something from elsewhere."""
        for edge in edges:
            ones, others = self._from_inside(edge.producer), self._from_inside(edge.consumer)
            ends = {edge.producer, *edge.or_from}
            for end in others:
                if end not in ones:
                    self.sources.setdefault(end, set()).update(ends)
                    self.open.update([end] if edge.or_others else [])
            for end in ones:
                if end not in others:
                    self.targets.setdefault(end, set()).add(edge.consumer)

    def _from_inside(self, end: str) -> dict[str, None]:
        """It, and each call around it."""
        found = {end: None}
        while (around := self._around.get(end)) is not None:
            end = f"call:{around}"
            found[end] = None
        return found

    def around(self, part: Call | Operation) -> str | None:
        """The call in which it is made."""
        call = self._around[end_of(part)]
        return None if call is None else f"call:{call}"


class MayBe:
    """Which predicted parts those of a run may be."""

    def __init__(self, predicted: Side, run: Side, standing: Mapping[str, Sequence[str]], key: Key) -> None:
        self._predicted, self._run, self._key = predicted, run, key
        self._found: dict[str, frozenset[str]] = {}
        self._matched: dict[str, set[str]] = {}
        for end, ends in standing.items():
            for each in ends:
                self._matched.setdefault(each, set()).add(end)
        self._by_place: dict[Hashable, list[Call | Operation]] = {}
        for part in predicted.parts:
            self._by_place.setdefault((predicted.around(part), type(part), key(part)), []).append(part)
        self._doubted = {place for place, parts in self._by_place.items() if not all(part.certain for part in parts)}
        self._number: dict[Hashable, int] = {}
        for part in run.parts:
            place = (run.around(part), type(part), key(part))
            self._number[place] = self._number.get(place, 0) + 1
        for by_data in (False, True, True):  # where data goes is told by what stands behind
            for part in run.parts:
                self._found[end_of(part)] = self._ends(part, by_data=by_data)

    def of(self, part: Call | Operation) -> frozenset[str]:
        """None where it was not predicted."""
        return self._found.get(end_of(part), frozenset())

    def held(self, part: Call | Operation, conditions: Mapping[str, Condition | None]) -> Condition | None:
        """What has held as the run did this: the test of the program that all it may be depend on."""
        found = {conditions.get(end) for end in self.of(part)}
        condition = found.pop() if len(found) == 1 else None
        if condition is None or condition.line is None or condition.text.startswith("depends on "):
            return None
        return condition

    def _ends(self, part: Call | Operation, *, by_data: bool) -> frozenset[str]:
        end = end_of(part)
        matched = self._matched.get(end)
        if not matched:
            return frozenset()
        around = self._run.around(part)
        parents: Iterable[str | None] = [None] if around is None else self._found.get(around, ())
        places = [(parent, type(part), self._key(part)) for parent in parents]
        if self._doubted.isdisjoint(places):
            return frozenset(matched)
        others = [each for place in places for each in self._by_place.get(place, ())]
        found = {end_of(each) for each in others if weight(each, part)} | matched
        number = self._number[around, type(part), self._key(part)]
        is_asked = by_data and len(found) * number <= MAX_WEIGHED
        return frozenset(self._told_by_data(end, found) if is_asked else found)

    def _told_by_data(self, end: str, found: set[str]) -> set[str]:
        for ours, theirs in self._ways(end):
            if len(found) == 1:
                break
            alike = {each for each in found if not self._is_apart(ours, theirs.get(each, set()))}
            if any(theirs.get(each) for each in alike):
                found = alike
        return found

    def _ways(self, end: str) -> Iterator[tuple[set[str], Mapping[str, set[str]]]]:
        if end not in self._run.open:
            yield self._run.sources.get(end, set()), self._predicted.sources
        yield self._run.targets.get(end, set()), self._predicted.targets

    def _is_apart(self, ours: set[str], theirs: set[str]) -> bool:
        """Both are known, and nothing of the one may be anything of the other."""
        if not ours or not theirs:
            return False
        return all(self._found.get(end, self._matched.get(end, {end})).isdisjoint(theirs) for end in ours)
