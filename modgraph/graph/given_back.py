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
    into: dict[str, list[Edge]] = {}
    for edge in predicted:
        into.setdefault(edge.consumer, []).append(edge)
    found: list[Edge] = []
    groups: dict[tuple[str, frozenset[str]], list[Edge]] = {}
    for edge in observed:
        if edge.is_open:
            groups.setdefault((edge.consumer, _givers(edge)), []).append(edge)
    for edge in observed:
        if not edge.is_open:
            found.append(edge)
        elif (group := groups.pop((edge.consumer, _givers(edge)), None)) is not None:
            found += _settled(group, into.get(edge.consumer, ()))
    return found


def _givers(edge: Edge) -> frozenset[str]:
    return frozenset((edge.producer, *edge.or_from))


def _settled(group: list[Edge], predicted: Iterable[Edge]) -> list[Edge]:
    """Of one tensor that went one way, under one name or several."""
    first = group[0]
    givers = _givers(first)
    by_name = {edge.tensor.name: edge for edge in group}
    said = [edge for edge in predicted if edge.producer in givers]
    if any(edge.or_others for edge in group):  # another end may be one that the run does not name
        said = [edge for edge in predicted if edge.producer in givers or edge.tensor.name in by_name]
        if not givers.issuperset(edge.producer for edge in said) or not {e.tensor.name for e in said} >= by_name.keys():
            return group
    if not said or not all(edge.certain for edge in said):
        return group
    producers: dict[str, Edge] = {}
    for edge in said:
        like = by_name.get(edge.tensor.name)
        tensor = like.tensor if like is not None else replace(first.tensor, name=edge.tensor.name)
        told = replace(like or first, producer=edge.producer, tensor=tensor, or_from=(), or_others=False)
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
