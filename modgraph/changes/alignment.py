"""Two rows of things, old and new, laid beside each other so that what is alike stands side by side."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence

MOST_CELLS = 250_000
"""Of the table that is filled. In longer rows what is equal is to be found first, by `common`; what is left over and
still too long is compared place by place."""
MOST_EDITS = 2_000
"""Things that `common` adds and takes away before it gives up: its time and memory grow with the square of them."""

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


def common(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of places of a longest common subsequence, both ascending: those at both ends first.

    Where there is none, or more than `MOST_EDITS` things are on one side alone, only what both ends have in common.
    Source: Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986).
    """
    shorter = min(len(old), len(new))
    first = 0
    while first < shorter and old[first] == new[first]:
        first += 1
    last = 0
    while last < shorter - first and old[-1 - last] == new[-1 - last]:
        last += 1
    inner = _between(old[first : len(old) - last], new[first : len(new) - last])
    ends = [(len(old) - back, len(new) - back) for back in range(last, 0, -1)]
    return [*((place, place) for place in range(first)), *((first + one, first + other) for one, other in inner), *ends]


def _between(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    if not set(old) & set(new):
        return []
    # furthest[d][k]: how far into `old` one comes with d edits on the diagonal k, the place in `old` less that in `new`
    furthest: list[dict[int, int]] = []
    reached = {1: 0}
    for edits in range(min(len(old) + len(new), MOST_EDITS) + 1):
        furthest.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])
            place = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            while place < len(old) and place - diagonal < len(new) and old[place] == new[place - diagonal]:
                place += 1
            reached[diagonal] = place
            if place >= len(old) and place - diagonal >= len(new):
                return _back(furthest, len(old), len(new))
    return []


def _back(furthest: Sequence[Mapping[int, int]], n_old: int, n_new: int) -> list[tuple[int, int]]:
    """The pairs on the way that `furthest` leads to the end of both."""
    pairs: list[tuple[int, int]] = []
    place, other = n_old, n_new
    for edits in range(len(furthest) - 1, -1, -1):
        before, diagonal = furthest[edits], place - other
        down = diagonal == -edits or (diagonal != edits and before[diagonal - 1] < before[diagonal + 1])
        start = before[diagonal + 1] if down else before[diagonal - 1] + 1
        while place > start:
            place, other = place - 1, other - 1
            pairs.append((place, other))
        place, other = (place, other - 1) if down else (place - 1, other)
    return pairs[::-1]


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
