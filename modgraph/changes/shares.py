"""Which parameters each change accounts for: every one that the model's total counts more or less, once.

A module's share is that of its own tensors. Where nothing is said of a module itself, since what changed is around it
(a block that was hidden from registration, with its layers), its share goes to the nearest one of which something is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from modgraph.changes.matching import Matching
from modgraph.changes.model import Changed, Renamed


class Shares:
    """By path in the new graph, the parameters more of each module of both that is told of, or None."""

    def __init__(self, matching: Matching, changed: Iterable[Changed], elsewhere: Iterable[Renamed]) -> None:
        first = {one.new for one in changed}
        told = first | {one.new for one in elsewhere}
        self._changed = first
        self._found: dict[str, int | None] = {}
        for old, new in matching.to_new.items():
            before, after = matching.old.own[old], matching.new.own[new]
            more = None if before is None or after is None else after - before
            if more == 0 or (more is None and new not in told):
                continue
            holder: str | None = new
            while holder is not None and holder not in told:
                holder = matching.new.parents.get(holder)
            if holder is not None:
                so_far = self._found.get(holder, 0)
                self._found[holder] = None if so_far is None or more is None else so_far + more

    def of_changed(self, changed: Iterable[Changed]) -> list[Changed]:
        """With the share of each."""
        return [replace(one, in_total=self._found.get(one.new, 0)) for one in changed]

    def of_renamed(self, renamed: Iterable[Renamed]) -> tuple[Renamed, ...]:
        """With the share of each, where it is not changed too."""
        return tuple(
            one if one.new in self._changed else replace(one, in_total=self._found.get(one.new, 0)) for one in renamed
        )
