"""Which call and which operation of the old graph is which of the new one: by what they are and by what is around them,
not by their number. A call that is put before others gives all that follow another number, and is one call more.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Mapping, Sequence

from modgraph.changes.alignment import MOST_CELLS, Score, align, common
from modgraph.changes.places import place_in_operation
from modgraph.graph.dataflow import operation_word
from modgraph.graph.model import Call, Edge, Graph, Operation

ROUNDS = 3
"""How many steps of the flow of data around an end are looked at."""
_Labels = list[dict[str, int]]
"""By round, a number for each end of an edge: equal where what is around it is, up to that many steps."""
_Numbers = dict[Hashable, int]


def counterparts(
    old: Graph, new: Graph, to_new: Mapping[str, str], *, turned: bool = False, uncertain: bool = False
) -> dict[str, str]:
    """The calls and operations of the old graph, "call:3" or "op:7", and what they are in the new one.

    Args:
        to_new: the modules that are one.
        turned: the new graph is the first in the order of their own; what decides between equals starts from it.
        uncertain: with calls that depend on a condition, each of which has only one under the same condition.
    """
    numbers: _Numbers = {}
    names = {node.path: to_new.get(node.path, f"old {node.path}") for node in old.modules}
    one = _Ends(old, names, numbers, uncertain)
    two = _Ends(new, {node.path: node.path for node in new.modules}, numbers, uncertain)
    if turned:
        return {end: other for other, end in _paired(two, one).items()}
    return _paired(one, two)


def _paired(one: _Ends, two: _Ends) -> dict[str, str]:
    found: dict[str, str] = {}
    for module, calls in one.calls.items():
        found.update(_alike(one, two, calls, two.calls.get(module, [])))
    for call, operations in one.operations.items():
        other = None if call is None else found.get(call)
        if call is None or other is not None:
            found.update(_alike(one, two, operations, two.operations.get(other, [])))
    return found


class _Ends:
    """The calls of each module and the operations of each call in order, and what is around them.

    Args:
        names: the modules, as both sides call them.
        numbers: of what has been seen on either side.
        uncertain: calls that are not certain are among them.
    """

    def __init__(self, graph: Graph, names: Mapping[str, str], numbers: _Numbers, uncertain: bool) -> None:
        self.calls: dict[str, list[str]] = {}
        self.operations: dict[str | None, list[str]] = {}
        self.bare: dict[str, int] = {}
        """What each is, without what is around it."""
        words = {each.id: each.name for each in graph.operations}
        modules = {call.index: names[call.module] for call in graph.calls}
        for call in graph.calls:
            if call.certain or uncertain:
                self.calls.setdefault(names[call.module], []).append(f"call:{call.index}")
                what = ("call", names[call.module], _condition(call))
                self.bare[f"call:{call.index}"] = _number(numbers, what)
        for each in graph.operations:
            self.operations.setdefault(None if each.call is None else f"call:{each.call}", []).append(each.id)
            home = "" if each.call is None else modules[each.call]
            self.bare[each.id] = _number(numbers, ("op", home, operation_word(each.name), _condition(each)))
        into: dict[str, list[tuple[str, str]]] = {}
        out: dict[str, list[tuple[str, str]]] = {}
        for edge in graph.edges:
            place = edge.tensor.name
            if edge.consumer in words:
                place = place_in_operation(words[edge.consumer], place)
            if not edge.certain:
                place = f"{place} if {_condition(edge)}"
            into.setdefault(edge.consumer, []).append((place, edge.producer))
            out.setdefault(edge.producer, []).append((place, edge.consumer))
            for end in (edge.producer, edge.consumer):
                if end not in self.bare:
                    self.bare[end] = _number(numbers, "const" if end.startswith("const:") else end)
        self.before, self.after = _around(self.bare, into, numbers), _around(self.bare, out, numbers)

    def label(self, end: str) -> tuple[int, int]:
        """What it is, and all that is around it."""
        return self.before[-1][end], self.after[-1][end]


def _condition(thing: Call | Operation | Edge) -> str | None:
    """Under which it is; None of what is certain."""
    return None if thing.certain else "" if thing.condition is None else thing.condition.text


def _around(bare: dict[str, int], ways: Mapping[str, list[tuple[str, str]]], numbers: _Numbers) -> _Labels:
    rounds: _Labels = []
    last = bare
    for _ in range(ROUNDS):
        last = {
            end: _number(numbers, (own, tuple(sorted((place, last[other]) for place, other in ways.get(end, ())))))
            for end, own in bare.items()
        }
        rounds.append(last)
    return rounds


def _number(numbers: _Numbers, thing: Hashable) -> int:
    return numbers.setdefault(thing, len(numbers))


def _alike(one: _Ends, two: _Ends, olds: Sequence[str], news: Sequence[str]) -> dict[str, str]:
    """Two rows laid beside each other; then what has changed places with others, and is like no other."""
    labels = [one.label(end) for end in olds], [two.label(end) for end in news]
    shorter = min(len(olds), len(news))
    first = last = 0
    while first < shorter and labels[0][first] == labels[1][first]:
        first += 1
    while last < shorter - first and labels[0][-1 - last] == labels[1][-1 - last]:
        last += 1
    found = dict(zip(olds[:first], news[:first], strict=True))
    found.update(zip(olds[len(olds) - last :], news[len(news) - last :], strict=True))
    found.update(_laid_side_by_side(one, two, olds[first : len(olds) - last], news[first : len(news) - last]))
    taken = set(found.values())
    counts = Counter(own for own, _ in labels[0]), Counter(own for own, _ in labels[1])
    at = {own: end for end, (own, _) in zip(news, labels[1], strict=True)}
    for end, (own, _) in zip(olds, labels[0], strict=True):
        if end not in found and counts[0][own] == counts[1][own] == 1 and at[own] not in taken:
            found[end] = at[own]
    for rounds in ((one.before[-1], two.before[-1]), (one.bare, two.bare)):
        found.update(_left_over(rounds, [end for end in olds if end not in found], news, set(found.values())))
    return found


def _left_over(
    labels: tuple[dict[str, int], dict[str, int]], olds: Sequence[str], news: Sequence[str], taken: set[str]
) -> dict[str, str]:
    """What has changed places, in order: were it taken for gone and come, ways would be followed past it, and that it
    is one of each kind as before would be all that is known of it."""
    waiting: dict[int, deque[str]] = {}
    for end in news:
        if end not in taken:
            waiting.setdefault(labels[1][end], deque()).append(end)
    return {end: there.popleft() for end in olds if (there := waiting.get(labels[0][end]))}


def _laid_side_by_side(one: _Ends, two: _Ends, olds: Sequence[str], news: Sequence[str]) -> dict[str, str]:
    """What is most alike in all; in rows too long for a table, what is given the same is paired first."""
    if len(olds) * len(news) <= MOST_CELLS:
        return _most_alike(one, two, olds, news)
    pairs = common([one.before[-1][end] for end in olds], [two.before[-1][end] for end in news])
    found: dict[str, str] = {}
    old_at = new_at = 0
    for old, new in [*pairs, (len(olds), len(news))]:
        found.update(_most_alike(one, two, olds[old_at:old], news[new_at:new]))
        if old < len(olds):
            found[olds[old]] = news[new]
        old_at, new_at = old + 1, new + 1
    return found


def _most_alike(one: _Ends, two: _Ends, olds: Sequence[str], news: Sequence[str]) -> dict[str, str]:
    """In order. What it is given says what it is: of several that are given the same, the first stays the first, as
    `a(q) + b(k)` would be `a(k) + b(q)` otherwise. Who takes it says only which one there is more."""

    def score(old: int, new: int) -> Score:
        ends = olds[old], news[new]
        if one.bare[ends[0]] != two.bare[ends[1]]:
            return (0, 0)
        given, taken = (
            sum(mine[ends[0]] == theirs[ends[1]] for mine, theirs in zip(*rounds, strict=True))
            for rounds in ((one.before, two.before), (one.after, two.after))
        )
        return (1 + given, 1 + taken)

    return {olds[old]: news[new] for old, new in align(len(olds), len(news), score)}
