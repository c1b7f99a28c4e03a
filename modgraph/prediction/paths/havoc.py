"""What an unknown call may have changed: everything mutable that it was given, and what that leads to.

Nothing of it is known any more than its class: an entry or attribute may have been replaced or removed, a child taken
out, a tensor given other data. What stays is that it is the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.fields import Role
from modgraph.prediction.domain.objects import (
    ClassObject,
    EnvironmentObject,
    HeapObject,
    IteratorObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    OPEN,
    Address,
    FunctionValue,
    KnownClass,
    Unknown,
    Value,
)
from modgraph.prediction.paths import callbacks, partial_texts, shared_memory

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


_UNITS_OF_AN_OBJECT = 12
"""Units of work that it takes to forget one."""


def expose(machine: Machine, values: Iterable[Value], why: Unknown) -> None:
    """Forgets whatever can be changed through `values`: what containers, objects and modules hold, and what names of
    functions lead to."""
    why = points_to.nowhere(partial_texts.plainly(why))
    pending = list(values)
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, Unknown):
            machine.base.work += len(value.may_be)
            pending.extend(Address(index) for index in sorted(value.may_be) if is_there(machine, index))
        elif isinstance(value, FunctionValue) and value not in seen:
            seen.add(value)
            pending.extend(callbacks.expose_closure(machine, value, why))
        elif isinstance(value, Address) and value.index in machine.base.held:
            pending.append(machine.base.held[value.index])
        elif isinstance(value, Address) and value not in seen:
            seen.add(value)
            machine.base.work += _UNITS_OF_AN_OBJECT
            item = machine.state.read(value)
            if not isinstance(item, _KEPT):
                held = points_to.held_by(item)
                machine.base.work += len(held)
                pending.extend(held)
                written = machine.state.write(value)
                if isinstance(written, IteratorObject):
                    if written.source is not None:
                        written.source.forgotten(why)
                    _forget_iterator(written, why)
                else:
                    _forget(written, why)
                    if isinstance(written, TensorObject):
                        shared_memory.forget_owners(machine.state, written)
        elif not isinstance(value, (FunctionValue, Address)):
            pending.extend(value.parts())


def is_there(machine: Machine, index: int) -> bool:
    """An object that was made on a path which was left is not."""
    base = machine.base
    held = machine.state.get(index) is not None or index in base.objects
    return held or any(outer.get(index) is not None for outer in base.outer)


def _forget(item: HeapObject, why: Unknown) -> None:
    for name, role in item.ROLES.items():
        rule = _FORGOTTEN.get(role)
        if rule is not None:
            rule(item, name, why)


def _forget_cells(item: Any, name: str, why: Unknown) -> None:
    held = getattr(item, name)
    item.open = points_to.either_of(item.open or why, held)
    setattr(item, name, type(held)())


def _forget_entries(item: Any, name: str, why: Unknown) -> None:
    entries = getattr(item, name)
    item.open = points_to.either_of(item.open or why, entries.values())
    absent = replace(why, optional=True)
    setattr(item, name, {key: points_to.either_of(absent, (value,)) for key, value in entries.items()})


def _forget_attributes(item: Any, name: str, why: Unknown) -> None:
    _forget_values(getattr(item, name), why)


def _forget_store(item: Any, name: str, why: Unknown) -> None:
    store = getattr(item, name)
    _forget_values(store, replace(why, optional=True))
    partial_texts.open_store(store, why)


def _forget_reason(item: Any, name: str, why: Unknown) -> None:
    if name != "further" or isinstance(item, TensorObject) or not isinstance(item.cls, KnownClass):
        setattr(item, name, partial_texts.opened(getattr(item, name), why))


def _forget_flat(item: Any, name: str, why: Unknown) -> None:
    setattr(item, name, None)


def _forget_final(item: Any, name: str, why: Unknown) -> None:
    if getattr(item, name) is not item.FINAL[name]:
        setattr(item, name, None)


def _forget_flags(item: Any, name: str, why: Unknown) -> None:
    flags = getattr(item, name)
    flags.update(dict.fromkeys(flags))


_FORGOTTEN: dict[Role, Callable[[Any, str, Unknown], None]] = {
    Role.CELLS: _forget_cells,
    Role.MEMBERS: _forget_cells,
    Role.ENTRIES: _forget_entries,
    Role.ATTRIBUTES: _forget_attributes,
    Role.STORE: _forget_store,
    Role.REASON: _forget_reason,
    Role.FLAT: _forget_flat,
    Role.SHAPE: _forget_flat,
    Role.FINAL: _forget_final,
    Role.FLAGS: _forget_flags,
}
"""What is not known any more of what the fields of a role hold; of the others everything is."""


def _forget_iterator(item: IteratorObject, why: Unknown) -> None:
    item.items, item.position, item.open = [], 0, points_to.either_of(why, item.items[item.position :])
    item.source = item.running = item.returned = None


def _forget_values(entries: dict[str, Value], why: Unknown) -> None:
    for name, value in entries.items():
        if name == OPEN or name.startswith("<"):  # what no code has a name for
            continue
        if not isinstance(value, Unknown) or value.text is not None or (why.optional and not value.optional):
            entries[name] = points_to.either_of(why, (value,))


_KEPT = (ClassObject, EnvironmentObject)
"""What they hold is forgotten by who knows of whom it is asked: a name of a module, or of a function around."""
