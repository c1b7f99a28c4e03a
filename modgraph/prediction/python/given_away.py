"""What was stored in objects of which nothing is known: whoever holds such an object may hold that as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.values import Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_PLACE = ("<not known>", "")
"""Where a state keeps it."""


def note(machine: Machine, holder: Unknown, new: Value) -> None:
    """`holder.name = new`, `holder[key] = new`."""
    found = frozenset() if holder.inert else points_to.objects_of([new])
    if found:
        why = machine.unknown("which object holds it is not known")
        machine.state.globals[_PLACE] = points_to.with_objects(why, found | addresses(machine))


def addresses(machine: Machine) -> frozenset[int]:
    """Of all that was stored so."""
    held = (each.get(_PLACE) for each in (machine.state.globals, machine.base.globals))
    return points_to.objects_of(each for each in held if each is not None)
