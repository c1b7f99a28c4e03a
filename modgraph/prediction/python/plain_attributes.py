"""Whether an attribute of a module, given something that is not known, is a number or text by what its classes do with
it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import ClassObject
from modgraph.prediction.domain.values import ClassValue, KnownClass, Value
from modgraph.source.modules import SourceError
from modgraph.source.plain_uses import Known, Uses, kinds, uses_in

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_CHARACTERS_OF_A_UNIT = 50


def kind_by_uses(machine: Machine, cls: Value, name: str) -> Known:
    """By every use of it in the class and its bases, all of which have to be known."""
    known = machine.caches.kinds_by_uses
    if cls not in known:
        known[cls] = _kinds(machine, cls)
    return known[cls].get(name, "unknown")


def _kinds(machine: Machine, of: Value) -> dict[str, Known]:
    found: list[Uses] = []
    for cls in machine.mro(of):
        if isinstance(cls, KnownClass):
            continue
        uses = _uses(machine, cls) if isinstance(cls, ClassValue) else None
        if uses is None:
            return {}
        found.append(uses)
    return kinds(found)


def _uses(machine: Machine, cls: ClassValue) -> Uses | None:
    found = machine.state.find(cls.address, ClassObject)
    definition = found.definition if found is not None else None
    if definition is None or definition.entry is None:
        return None
    source = machine.finder.source(definition.module)
    if source is None:
        return None
    uses = machine.caches.uses
    if definition not in uses:
        try:
            text = "\n".join(source.lines[definition.entry.first_line - 1 : definition.entry.last_line])
        except SourceError:
            return None
        source.spend_once(f"uses in {definition.qualname}", len(text) // _CHARACTERS_OF_A_UNIT)
        uses[definition] = uses_in(text)
    return uses[definition]
