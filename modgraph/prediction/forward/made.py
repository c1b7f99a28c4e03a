"""What has made each tensor of a run, path by path: what one path has changed is put back at its end."""

from __future__ import annotations

from modgraph.graph.model import Condition

Makers = dict[str, Condition | None]
"""Ends that may have made a tensor, each with the condition under which it has; None: it certainly has."""


class Made:
    """By address of a tensor. To go down a path and come back costs what was changed there."""

    def __init__(self, known: dict[int, Makers]) -> None:
        self._now = known
        self._before: list[dict[int, Makers | None]] = [{}]
        """Of each path that is being read: what was known of what it has changed; None where that was nothing."""

    def __contains__(self, index: int) -> bool:
        return index in self._now

    def __getitem__(self, index: int) -> Makers:
        return self._now[index]

    def get(self, index: int) -> Makers:
        """Nothing, of one of which nothing is known."""
        return self._now.get(index, {})

    def __setitem__(self, index: int, makers: Makers) -> None:
        self._before[-1].setdefault(index, self._now.get(index))
        self._now[index] = makers

    def is_of_path(self, index: int) -> bool:
        """Whether it was changed on the path that is being read."""
        return index in self._before[-1]

    def begin(self) -> None:
        """A path begins."""
        self._before.append({})

    def end(self) -> dict[int, Makers]:
        """The path has ended: what it has changed, which holds no more."""
        before = self._before.pop()
        changed = {index: self._now[index] for index in before}
        for index, makers in before.items():
            if makers is None:
                del self._now[index]
            else:
                self._now[index] = makers
        return changed
