"""Which operations that follow each other may be one row, so that no way of data is drawn that is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from modgraph.graph.occurrences import Occurrence, Run

LEAST_OPERATIONS = 3
"""So many operations may be one row."""
MOST_LEAVES = 12_000
"""In a run of more steps operations stay apart: the table of what reaches what grows with the square."""
MOST_TRIED = 64
"""Of more operations in a row those further apart are not tried together."""


class Ways:
    """What of a run reaches what."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @cached_property
    def _reached(self) -> list[int]:
        """By number of a leaf, the leaves behind it, as bits."""
        found = [0] * len(self._run.leaves)
        for number in range(len(found) - 1, -1, -1):
            for link in self._run.outgoing[number]:
                target = link.target.first
                if target > number:
                    found[number] |= 1 << target | found[target]
        return found

    def rows_of(self, operations: Sequence[Occurrence]) -> Iterator[list[Occurrence]]:
        """The rows that may be made of operations that follow each other."""
        if len(operations) < LEAST_OPERATIONS or len(self._run.leaves) > MOST_LEAVES:
            return
        if len(operations) <= MOST_TRIED and self.are_kept_by(operations):
            yield list(operations)
            return
        for joined in self._joined(operations):
            yield from self._longest(joined)

    def are_kept_by(self, operations: Sequence[Occurrence]) -> bool:
        """Whether all else reaches what it reaches, where these are one thing: whatever goes in reaches all that comes
        out, and nothing comes back."""
        inside = {each.first for each in operations}
        before = {link.source.first for each in inside for link in self._run.incoming[each]} - inside
        behind = {link.target.first for each in inside for link in self._run.outgoing[each]} - inside
        wanted = sum(1 << each for each in behind)
        return all(self._reached[each] & wanted == wanted for each in before)

    def _joined(self, operations: Sequence[Occurrence]) -> list[list[Occurrence]]:
        """Those that data joins, directly or by others of them."""
        home = {each.first: each.first for each in operations}

        def root(number: int) -> int:
            while home[number] != number:
                home[number] = number = home[home[number]]
            return number

        for number in home:
            for link in self._run.outgoing[number]:
                if link.target.first in home:
                    home[root(link.target.first)] = root(number)
        found: dict[int, list[Occurrence]] = {}
        for each in operations:
            found.setdefault(root(each.first), []).append(each)
        return list(found.values())

    def _longest(self, operations: Sequence[Occurrence]) -> Iterator[list[Occurrence]]:
        """From the first on, as many as can be."""
        start = 0
        while start + LEAST_OPERATIONS <= len(operations):
            stops = range(min(len(operations), start + MOST_TRIED), start + LEAST_OPERATIONS - 1, -1)
            stop = next((stop for stop in stops if self.are_kept_by(operations[start:stop])), None)
            if stop is not None:
                yield list(operations[start:stop])
            start = start + 1 if stop is None else stop
