"""What a call changes when a module is imported, and a plain statement after it stores anew.

The plain statements of a name run when the name is asked for, those that change it from elsewhere when all of them have
run: what both have changed is not known, nor is the order of what both have added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.prediction import names, possible
from modgraph.prediction.objects import (
    ClassObject,
    DictObject,
    HeapObject,
    InstanceObject,
    ListObject,
    SetObject,
)
from modgraph.prediction.side_effects import Effect
from modgraph.prediction.unordered import MIXED
from modgraph.prediction.values import TRUE, Address, ClassValue, Unknown, Value
from modgraph.source.modules import SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

Kept = dict[int, HeapObject]
_MOST = 200
"""Objects that are compared."""


def line_after(source: SourceModule, name: str, line: int) -> int | None:
    """The first statement of the module after that line which stores something in a name that is bound before."""
    found = source.index.statements.get(name, [])
    if not any(name in each.names and each.first_line < line for each in found):
        return None
    return next((each.first_line for each in found if each.first_line > line), None)


def unknown(source: SourceModule, name: str, line: int) -> Unknown:
    place = SourceLocation(source.file, line)
    return Unknown(f"what {name} is after a call and this statement have both changed it is not known", place)


class Watch:
    """What an effect changes of what its module stores again later."""

    def __init__(self, machine: Interpreter, effect: Effect) -> None:
        self._machine = machine
        self._source = effect.source
        self._later = {
            name: after
            for name in effect.source.index.names
            if (after := line_after(effect.source, name, effect.statement.first_line)) is not None
        }
        self._globals = dict(machine.base.globals)
        self._objects = {
            name: kept(machine, names.global_name(machine, effect.source.name, name)) for name in self._later
        }

    def forget(self) -> None:
        """The effect has run."""
        for name, line in self._later.items():
            why = unknown(self._source, name, line)
            held, module = self._machine.base.globals, self._source.name
            for key in [key for key, value in held.items() if value is not self._globals.get(key)]:
                if key == (module, name) or key[0] == f"<{module}.{name}>":  # an attribute of a function
                    held[key] = why
            blur(self._machine, self._objects[name], why)


def kept(machine: Interpreter, *values: Value | None) -> Kept:
    """Copies of the objects that these are, and of what they hold."""
    found: Kept = {}
    pending = list(values)
    while pending and len(found) < _MOST:
        value = pending.pop()
        if isinstance(value, (ClassValue, Address)):
            index = value.address.index if isinstance(value, ClassValue) else value.index
            item = machine.base.objects.get(index)
            if index not in found and isinstance(
                item, (ClassObject, DictObject, InstanceObject, ListObject, SetObject)
            ):
                found[index] = item.copy()
                own = item.namespace.values() if isinstance(item, ClassObject) else item.references()
                pending.extend(each for each in own if isinstance(each, Address))
    return found


def blur(machine: Interpreter, before: Kept, why: Unknown) -> None:
    """Makes unknown what is another now than it was."""
    for index, old in before.items():
        new = machine.base.objects.get(index)
        if isinstance(new, ClassObject) and isinstance(old, ClassObject):
            _names(new.namespace, old.namespace, why)
        elif isinstance(new, InstanceObject) and isinstance(old, InstanceObject):
            _names(new.attributes, old.attributes, why)
        elif isinstance(new, DictObject) and isinstance(old, DictObject):
            _entries(new, old, why)
        elif isinstance(new, ListObject) and isinstance(old, ListObject) and new.items != old.items:
            new.open, new.items = possible.either_of(new.open or why, new.items), []
        elif isinstance(new, SetObject) and isinstance(old, SetObject) and not old.items.keys() <= new.items.keys():
            new.open, new.items = possible.either_of(new.open or why, new.items), {}


def _names(new: dict[str, Value], old: dict[str, Value], why: Unknown) -> None:
    for name, value in new.items():
        if name in old and value != old[name]:
            new[name] = possible.either_of(why, (value, old[name]))


def _entries(new: DictObject, old: DictObject, why: Unknown) -> None:
    changed = {key: value for key, value in new.entries.items() if key in old.entries and value != old.entries[key]}
    new.entries.update({key: possible.either_of(why, (value, old.entries[key])) for key, value in changed.items()})
    if old.entries and list(new.entries) != list(old.entries):
        new.open = possible.either_of(
            new.open or why, [each for key, each in old.entries.items() if key not in new.entries]
        )
        new.attributes[MIXED] = TRUE
