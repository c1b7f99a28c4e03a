"""Whether an attribute of a module, given something that is not known, is a number or text by what its classes do with
it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import ClassObject, ModuleObject
from modgraph.prediction.domain.values import ClassValue, KnownClass
from modgraph.source.modules import SourceError
from modgraph.source.plain_uses import is_plain

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_CHARACTERS_OF_A_UNIT = 50


def is_number_or_text(machine: Machine, module: ModuleObject, name: str) -> bool:
    """By every use of it in the classes of the module, all of which have to be known."""
    texts: list[str] = []
    for cls in machine.mro(module.cls):
        if isinstance(cls, KnownClass):
            continue
        text = _text(machine, cls) if isinstance(cls, ClassValue) else None
        if text is None:
            return False
        texts.append(text)
    return is_plain(name, texts)


def _text(machine: Machine, cls: ClassValue) -> str | None:
    found = machine.state.find(cls.address, ClassObject)
    definition = found.definition if found is not None else None
    if definition is None or definition.entry is None:
        return None
    source = machine.finder.source(definition.module)
    if source is None:
        return None
    try:
        text = "\n".join(source.lines[definition.entry.first_line - 1 : definition.entry.last_line])
    except SourceError:
        return None
    source.spend_once(f"uses in {definition.qualname}", len(text) // _CHARACTERS_OF_A_UNIT)
    return text
