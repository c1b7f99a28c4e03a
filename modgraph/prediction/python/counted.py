"""Work on many items at once, which is no step of the interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_MANY = 100
_UNITS_OF_AN_ITEM = 2


def count(machine: Machine, items: int) -> None:
    """Said before something is done with each of so many items; of few it is in what the step is counted as.

    Raises:
        LimitError: the work is used up.
    """
    if items > _MANY:
        machine.spend(_UNITS_OF_AN_ITEM * items)
