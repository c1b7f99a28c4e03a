"""Two rows of things, old and new, laid beside each other so that what is alike stands side by side."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

MOST_CELLS = 250_000
"""Of the table that is filled; longer rows are compared place by place."""

Score = tuple[int, int]
"""How alike two things are, and how gladly equals are put together; (0, 0): never."""


def align(n_old: int, n_new: int, score: Callable[[int, int], Score]) -> list[tuple[int, int]]:
    """Pairs of places, both ascending, of the highest score in all."""
    if n_old * n_new > MOST_CELLS:
        return [(place, place) for place in range(min(n_old, n_new)) if score(place, place) > (0, 0)]
    width = n_new + 1
    best: list[Score] = [(0, 0)] * ((n_old + 1) * width)
    for old in range(n_old - 1, -1, -1):
        for new in range(n_new - 1, -1, -1):
            here = old * width + new
            value = max(best[here + width], best[here + 1])
            own = score(old, new)
            if own > (0, 0):
                after = best[here + width + 1]
                value = max(value, (own[0] + after[0], own[1] + after[1]))
            best[here] = value
    return _walk(best, n_old, n_new, score)


def _walk(best: Sequence[Score], n_old: int, n_new: int, score: Callable[[int, int], Score]) -> list[tuple[int, int]]:
    width = n_new + 1
    pairs: list[tuple[int, int]] = []
    old = new = 0
    while old < n_old and new < n_new:
        here = old * width + new
        own, after = score(old, new), best[here + width + 1]
        if own > (0, 0) and best[here] == (own[0] + after[0], own[1] + after[1]):
            pairs.append((old, new))
            old, new = old + 1, new + 1
        elif best[here] == best[here + width]:
            old += 1
        else:
            new += 1
    return pairs


def ascending(places: Sequence[int]) -> set[int]:
    """Indices of a longest part of `places`, which are all different, that ascends: what kept its order."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, place in enumerate(places):
        at = bisect_left(ends, place)
        before.append(last[at - 1] if at else -1)
        ends[at : at + 1] = [place]
        last[at : at + 1] = [number]
    kept: set[int] = set()
    step = last[-1] if last else -1
    while step >= 0:
        kept.add(step)
        step = before[step]
    return kept
