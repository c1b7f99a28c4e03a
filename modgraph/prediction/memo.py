"""Construction once per class and arguments: equal layers and blocks are interpreted twice, then instantiated.

A construction is remembered only where it depended on nothing but its arguments: these are immutable, and no object
made before it was read or changed. The first call only marks the key, so that what is made once is not copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.prediction.copying import Relocation
from modgraph.prediction.knowledge.registry import Arguments
from modgraph.prediction.limits import MAX_REMEMBERED_OBJECTS
from modgraph.prediction.values import (
    Address,
    ClassObject,
    ClassValue,
    Constant,
    Device,
    Dtype,
    EnumMember,
    FunctionValue,
    HeapObject,
    KnownClass,
    KnownFunction,
    ModuleObject,
    PartialValue,
    TupleValue,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

_IMMUTABLE = (Constant, Dtype, Device, ClassValue, KnownClass, KnownFunction, EnumMember)

Key = tuple[object, ...]


@dataclass(frozen=True)
class Fragment:
    """The objects that a construction made, as they were at its end."""

    root: Address
    objects: tuple[tuple[Address, HeapObject], ...]


def key_of(cls: ClassValue, arguments: Arguments) -> Key | None:
    """What the construction depends on; None where an argument can change."""
    if arguments.open is not None:
        return None
    values = (*arguments.positional, *arguments.keywords.values())
    if not all(_immutable(value) for value in values):
        return None
    return (cls.address, arguments.positional, tuple(arguments.keywords.items()))


def _immutable(value: Value) -> bool:
    if isinstance(value, _IMMUTABLE):
        return True
    if isinstance(value, TupleValue):
        return all(_immutable(item) for item in value.items)
    if isinstance(value, FunctionValue):
        return value.closure is None
    if isinstance(value, PartialValue):
        inner = (value.function, *value.positional, *(item for _, item in value.keywords))
        return all(_immutable(item) for item in inner)
    return False


def recall(machine: Interpreter, key: Key, where: SourceLocation | None) -> Address | None:
    """A fresh instance of what was remembered under that key."""
    fragment = machine.fragments.get(key)
    if fragment is None or machine.state.globals:
        return None
    relocation = Relocation(machine.state)
    for address, item in fragment.objects:
        relocation.take(address, item)
    relocation.finish()
    root = relocation.copies[fragment.root]
    machine.state.change(root, ModuleObject).where = where
    return root


def remember(machine: Interpreter, key: Key, root: Address, since: int) -> None:
    """Keeps a copy of what was just made, the second time it is made; nothing older than `since` was touched."""
    if key not in machine.fragments:
        machine.fragments[key] = None
        return
    found: dict[Address, HeapObject] = {}
    pending: list[Value] = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, Address):
            if value in found or value.index < since:
                continue
            item = machine.state.read(value)
            if isinstance(item, ClassObject) or len(found) > MAX_REMEMBERED_OBJECTS:
                return
            found[value] = item.copy()
            pending.extend(item.references())
        else:
            pending.extend(_inside(value))
    ordered = sorted(found.items(), key=lambda entry: entry[0].index)
    machine.fragments[key] = Fragment(root, tuple(ordered))


def _inside(value: Value) -> tuple[Value, ...]:
    """Values held by an immutable one."""
    parts: tuple[Value, ...] = ()
    for name in ("items", "alternatives", "positional"):
        parts += getattr(value, name, ())
    for name in ("receiver", "function", "closure", "value"):
        part = getattr(value, name, None)
        if isinstance(part, Value):
            parts += (part,)
    return parts + tuple(item for _, item in getattr(value, "keywords", ()))
