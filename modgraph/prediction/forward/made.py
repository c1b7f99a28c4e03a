"""What has made each tensor of a run, path by path: what one path changes lies above what there was before."""

from __future__ import annotations

from modgraph.graph.model import Condition

Makers = dict[str, Condition | None]
"""Ends that may have made a tensor, each with the condition under which it has; None: it certainly has."""


class Made:
    """By address of a tensor. To go down a path and come back costs what was changed there."""

    def __init__(self, known: dict[int, Makers]) -> None:
        self._layers = [known]

    def __contains__(self, index: int) -> bool:
        return any(index in layer for layer in self._layers)

    def __getitem__(self, index: int) -> Makers:
        return next(layer[index] for layer in reversed(self._layers) if index in layer)

    def get(self, index: int) -> Makers:
        """Nothing, of one of which nothing is known."""
        return next((layer[index] for layer in reversed(self._layers) if index in layer), {})

    def __setitem__(self, index: int, makers: Makers) -> None:
        self._layers[-1][index] = makers

    def is_of_path(self, index: int) -> bool:
        """Whether it was changed on the path that is being read."""
        return index in self._layers[-1]

    def begin(self) -> None:
        """A path begins."""
        self._layers.append({})

    def end(self) -> dict[int, Makers]:
        """The path has ended: what it has changed, which holds no more."""
        return self._layers.pop()
