"""Edges of a tensor that a call gave back as it was: from which of its givers a run took it, as the prediction says.

`y = drop(h)` with a dropout that does nothing is `h` itself. A run cannot tell whether `h` or `y` was read later on,
and names the last call that gave it; source does tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from modgraph.graph.model import Edge


def settled(observed: Sequence[Edge], predicted: Iterable[Edge]) -> list[Edge]:
    """The edges of a run, each from where it was certainly predicted to come, as far as the run leaves that open.

    `predicted` has the ends of the run. Where no edge is predicted, or one is not certain, it stays open.
    """
    said: dict[str, list[Edge]] = {}
    for edge in predicted:
        said.setdefault(edge.consumer, []).append(edge)
    ran: dict[str, list[Edge]] = {}
    groups: dict[tuple[str, frozenset[str]], list[Edge]] = {}
    for edge in observed:
        ran.setdefault(edge.consumer, []).append(edge)
        if edge.is_open:
            groups.setdefault((edge.consumer, _givers(edge)), []).append(edge)
    into = {consumer: _Said(ran[consumer], said.get(consumer, ())) for consumer, _ in groups}
    found: list[Edge] = []
    for edge in observed:
        if not edge.is_open:
            found.append(edge)
        elif (group := groups.pop((edge.consumer, _givers(edge)), None)) is not None:
            found += _settled(group, into[edge.consumer])
    return found


class _Said:
    """What is predicted to go into one end, without what the run tells to be another tensor of the same giver."""

    def __init__(self, ran: Sequence[Edge], predicted: Sequence[Edge]) -> None:
        self.places = {edge.tensor.name for edge in ran}
        """Those into which something went."""
        self.at: dict[str | None, list[Edge]] = {}
        self.of: dict[str, list[Edge]] = {}
        closed = {_way(edge): edge for edge in ran if not edge.is_open}
        known = {_way(edge) for edge in predicted}
        elsewhere: dict[str, list[Edge]] = {}
        for way, edge in closed.items():
            if way not in known:  # if it was predicted at all, then in another place
                elsewhere.setdefault(edge.producer, []).append(edge)
        for edge in predicted:
            is_another = _way(edge) in closed or any(_fits(each, edge) for each in elsewhere.get(edge.producer, ()))
            if not is_another:
                self.at.setdefault(edge.tensor.name, []).append(edge)
                self.of.setdefault(edge.producer, []).append(edge)

    def here(self, names: Iterable[str | None]) -> list[Edge]:
        return [edge for name in names for edge in self.at.get(name, ())]

    def beside(self, givers: Iterable[str]) -> list[Edge]:
        """From these into places of which the run tells nothing."""
        return [edge for each in givers for edge in self.of.get(each, ()) if edge.tensor.name not in self.places]


def _way(edge: Edge) -> tuple[str, str | None]:
    return edge.producer, edge.tensor.name


def _fits(one: Edge, other: Edge) -> bool:
    """The tensors may be one, as far as their shapes are known."""
    mine, theirs = one.tensor.shape, other.tensor.shape
    if mine is None or theirs is None:
        return True
    pairs = zip(mine, theirs, strict=False)
    return len(mine) == len(theirs) and all(a == b or type(a) is not int or type(b) is not int for a, b in pairs)


def _givers(edge: Edge) -> frozenset[str]:
    return frozenset((edge.producer, *edge.or_from))


def _settled(group: list[Edge], predicted: _Said) -> list[Edge]:
    """Of one tensor that went one way, under one name or several: each has to be predicted to come from its givers."""
    first = group[0]
    givers = _givers(first)
    by_name = {edge.tensor.name: edge for edge in group}
    here = predicted.here(by_name)
    if {edge.tensor.name for edge in here} != by_name.keys() or not givers.issuperset(edge.producer for edge in here):
        return group
    if not all(_fits(by_name[edge.tensor.name], edge) for edge in here):
        return group
    said = [*here, *(edge for edge in predicted.beside(sorted(givers)) if _fits(first, edge))]
    if not all(edge.certain for edge in said):
        return group
    producers: dict[str, Edge] = {}
    for edge in said:
        like = by_name.get(edge.tensor.name)
        tensor = like.tensor if like is not None else replace(first.tensor, name=edge.tensor.name)
        told = replace(like or first, producer=edge.producer, tensor=tensor, or_from=(), or_others=False)
        if edge.producer != (like or first).producer:
            told = replace(told, output=edge.output, made_by=None)
        producers.setdefault(edge.producer, told)
    return list(producers.values())


def in_doubt(edges: Iterable[Edge]) -> frozenset[tuple[str, str]]:
    """Producer and consumer of those edges of a run that may well come from another end.

    A call that gives back what it was given is made for its result, which somebody reads: where every giver of a tensor
    has one reader, each reads the last giver before it. Where one has several, some may read what was there before.
    """
    open_ = [edge for edge in edges if edge.is_open]
    first: dict[str, str] = {}

    def root(end: str) -> str:
        while (above := first.setdefault(end, end)) != end:
            first[end] = first[above]
            end = above
        return end

    readers: dict[str, set[tuple[str, str | None]]] = {}
    for edge in open_:
        readers.setdefault(edge.producer, set()).add((edge.consumer, edge.tensor.name))
        for other in edge.or_from:
            first[root(other)] = root(edge.producer)
    several = {root(end) for end, known in readers.items() if len(known) > 1}
    return frozenset((edge.producer, edge.consumer) for edge in open_ if root(edge.producer) in several)
