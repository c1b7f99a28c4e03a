"""Two orders of the same or other keys: how far they are one, how they become one, where they contradict each other."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection
from operator import is_not
from typing import TypeVar

KeyType = TypeVar("KeyType")


def common_start(first: Collection[object], second: Collection[object]) -> int:
    """How many of the first are the very same in both."""
    least = min(len(first), len(second))
    return next(itertools.compress(itertools.count(), map(is_not, first, second)), least)


def contradicting(first: list[KeyType], second: list[KeyType]) -> list[KeyType]:
    """The keys of both that have to be left out for the others to stand in the same order in both; few of them."""
    alike = common_start(first, second)
    place = {key: position for position, key in enumerate(second[alike:])}
    common = [key for key in first[alike:] if key in place]
    places = [place[key] for key in common]
    if all(a < b for a, b in itertools.pairwise(places)):
        return []
    ends: list[int] = []  # of the longest rising rows so far, by length: the least place at which one ends
    lengths: list[int] = []
    for position in places:
        length = bisect.bisect_left(ends, position)
        ends[length : length + 1] = [position]
        lengths.append(length)
    wanted = len(ends) - 1
    left_out: list[KeyType] = []
    for key, length in zip(reversed(common), reversed(lengths), strict=True):
        if length == wanted:
            wanted -= 1
        else:
            left_out.append(key)
    return left_out[::-1]


def merged_order(first: list[KeyType], second: list[KeyType]) -> list[KeyType]:
    """Both orders in one, where they do not contradict each other; keys of `second` alone follow what precedes them."""
    place = {key: position for position, key in enumerate(first)}
    following: list[list[KeyType]] = [[] for _ in range(len(first) + 1)]
    position = 0
    for key in second:
        if key in place:
            position = max(position, place[key] + 1)
        else:
            following[position].append(key)
    ordered = following[0]
    for key, others in zip(first, following[1:], strict=True):
        ordered += [key, *others]
    return ordered
