"""How many dimensions layers are taken to be given, of what nothing is known: one run for each way that there is."""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.prediction.domain.calling import Raised

_USUAL = (1, 0, 2, 3)
"""Dimensions before those that a layer looks at: of a batch; none; a batch of sequences; of maps."""


class Leading:
    """The choices of one run, in order. What follows the choices that are given is as usual."""

    def __init__(self, given: Sequence[int] = ()) -> None:
        self._given = given
        self._made: list[tuple[int, int]] = []
        """Of each choice, which it is, and of how many."""
        self.dropped: list[Raised] = []
        """What was raised on one path while others went on."""

    def pick(self, least: int, most: int) -> int:
        """How many dimensions stand before those that the next layer looks at."""
        options = [each for each in _USUAL if least <= each <= most] or [least]
        place = len(self._made)
        choice = self._given[place] if place < len(self._given) else 0
        self._made.append((choice, len(options)))
        return options[min(choice, len(options) - 1)]

    def next(self) -> list[int] | None:
        """The choices of another run; None where there has been one for each way."""
        for place in range(len(self._made) - 1, -1, -1):
            choice, number = self._made[place]
            if choice + 1 < number:
                return [*(each for each, _ in self._made[:place]), choice + 1]
        return None
