"""Two rows in order, of which one is what may happen and the other what did: which of the one is which of the other.

What certainly happens is matched before what may, and what stands in one line of the source before what does not; so
things of one turn of a loop are matched with things of one turn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Protocol, TypeVar

from modgraph.graph.model import Call, Edge, Operation, SourceLocation


class Part(Protocol):
    """A call or an operation."""

    @property
    def certain(self) -> bool: ...
    @property
    def source(self) -> SourceLocation | None: ...


Item = TypeVar("Item", bound=Part)

MAX_WEIGHED = 250_000
"""Pairs that are weighed against each other; of more, those in longest rows are matched."""
MAX_COMPARED = 4_000_000
"""Pairs that are compared; of more, only those that begin and end alike are matched."""


def aligned(
    first: Sequence[Item],
    second: Sequence[Item],
    key: Callable[[Item], Hashable],
    weigh: Callable[[Part, Part], int] | None = None,
) -> list[tuple[Item, Item]]:
    """Pairs in order.

    Args:
        first: what may happen.
        second: what did.
        key: equal for what one of the one and one of the other must have in common.
        weigh: what it is worth to take the one for the other; `weight` without it.
    """
    weigh = weigh or weight
    ones, twos = list(map(key, first)), list(map(key, second))
    if ones == twos and all(_is_at_one_line(*pair) for pair in zip(first, second, strict=True)):
        return list(zip(first, second, strict=True))

    def surely(one: int, two: int) -> bool:
        return ones[one] == twos[two] and first[one].certain and _is_at_one_line(first[one], second[two])

    start, end, most = 0, 0, min(len(first), len(second))
    while start < most and surely(start, start):
        start += 1
    while end < most - start and surely(-1 - end, -1 - end):
        end += 1
    pairs = list(zip(first[:start], second[:start], strict=True))
    middle, other = first[start : len(first) - end], second[start : len(second) - end]
    if len(middle) * len(other) <= MAX_WEIGHED:
        pairs += _heaviest(middle, other, key, weigh)
    elif len(middle) * len(other) <= MAX_COMPARED:
        pairs += _longest(middle, other, key, weigh)
    if end:
        pairs += zip(first[-end:], second[-end:], strict=True)
    return pairs


def _is_at_one_line(one: Part, two: Part) -> bool:
    return one.source is None or two.source is None or one.source == two.source


def weight(one: Part, two: Part) -> int:
    """What it is worth to take the one for the other, which have one key; 0 where it cannot be."""
    if _is_at_one_line(one, two):
        return 4 if one.certain else 2
    return 1 if one.certain else 0


def _heaviest(
    first: Sequence[Item],
    second: Sequence[Item],
    key: Callable[[Item], Hashable],
    weigh: Callable[[Part, Part], int],
) -> list[tuple[Item, Item]]:
    """The pairs in order that are worth most together; of several such rows the one that begins first."""
    n_first, n_second = len(first), len(second)
    best = [[0] * (n_second + 1) for _ in range(n_first + 1)]
    weights = _weights(first, second, key, weigh)
    for place in range(n_first - 1, -1, -1):
        below, row, worth = best[place + 1], best[place], weights[place]
        for at in range(n_second - 1, -1, -1):
            with_it = worth[at] + below[at + 1] if at in worth else 0
            row[at] = max(with_it, below[at], row[at + 1])
    pairs = []
    place = at = 0
    while place < n_first and at < n_second:
        here = weights[place].get(at, 0)
        if here and best[place][at] == here + best[place + 1][at + 1]:
            pairs.append((first[place], second[at]))
            place, at = place + 1, at + 1
        elif best[place][at] == best[place + 1][at]:
            place += 1
        else:
            at += 1
    return pairs


def _weights(
    first: Sequence[Item],
    second: Sequence[Item],
    key: Callable[[Item], Hashable],
    weigh: Callable[[Part, Part], int],
) -> list[dict[int, int]]:
    """For each of the one, by place, those of the other that it may be, and what that is worth."""
    places: dict[Hashable, list[int]] = {}
    for at, two in enumerate(second):
        places.setdefault(key(two), []).append(at)
    found = []
    for one in first:
        worth = {at: weigh(one, second[at]) for at in places.get(key(one), ())}
        found.append({at: weight for at, weight in worth.items() if weight})
    return found


def _longest(
    first: Sequence[Item],
    second: Sequence[Item],
    key: Callable[[Item], Hashable],
    weigh: Callable[[Part, Part], int],
) -> list[tuple[Item, Item]]:
    blocks = SequenceMatcher(None, list(map(key, first)), list(map(key, second)), autojunk=False)
    return [
        pair
        for block in blocks.get_matching_blocks()
        for pair in zip(first[block.a : block.a + block.size], second[block.b : block.b + block.size], strict=True)
        if weigh(*pair)
    ]


class Interleaved:
    """In which order the calls and operations of a graph happened, which stand there in two rows: edges stand in the
    order in which tensors were read."""

    def __init__(self, calls: Sequence[Call], edges: Sequence[Edge]) -> None:
        self._read: dict[str, int] = {}
        for rank, edge in enumerate(edges):
            self._read.setdefault(edge.consumer, rank)
        for call in reversed(calls):  # what a call reads, the one around it has read
            known = self._read.get(f"call:{call.index}")
            if known is not None and call.parent is not None:
                around = f"call:{call.parent}"
                self._read[around] = min(known, self._read.get(around, known))

    def row(self, calls: Sequence[Call], operations: Sequence[Operation]) -> list[Call | Operation]:
        """Both in one row; what reads nothing stands behind the one of its kind before it."""
        of_calls = self._ranks([f"call:{call.index}" for call in calls])
        of_operations = self._ranks([each.id for each in operations])
        ranked: list[tuple[int, int, Call | Operation]] = [
            *((rank, 0, call) for rank, call in zip(of_calls, calls, strict=True)),
            *((rank, 1, each) for rank, each in zip(of_operations, operations, strict=True)),
        ]
        return [part for _, _, part in sorted(ranked, key=lambda each: each[:2])]

    def _ranks(self, ends: Sequence[str]) -> list[int]:
        """When each was at the earliest, of what happened in this order."""
        ranks = [self._read.get(end, -1) for end in ends]
        return list(accumulate(ranks, max))
