"""The order of names and keys, in which one that only some paths have put stands where it is, or behind all others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from modgraph.prediction.domain.objects import ClassObject, HeapObject, InstanceObject, ModuleObject
from modgraph.prediction.domain.values import DELETED, Choice, Unknown, Value, is_optional

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

KeyType = TypeVar("KeyType")
STORES = ("modules", "parameters", "buffers")
"""Of a module: what it registers."""


def loses(machine: Machine, entries: dict[KeyType, Value], key: KeyType) -> Unknown | None:
    """Why the order of the entries is not known any more once that key is put among them; None where it still is."""
    held = entries.get(key)
    if held is None or not _may_be_missing(held) or key == next(reversed(entries)):
        return None
    why = machine.unknown("the order of the entries depends on which path is taken", held)
    return replace(why, optional=False, text=None)


def _may_be_missing(held: Value) -> bool:
    return is_optional(held) or (isinstance(held, Choice) and DELETED in held.alternatives)


def put(machine: Machine, item: HeapObject, store: str, name: str, value: Value) -> None:
    """`name` in a store of an object, or among its attributes, is `value` now."""
    entries: dict[str, Value] = getattr(item, store)
    why = loses(machine, entries, name)
    if why is not None and isinstance(item, ModuleObject) and store in STORES:
        item.mixed = item.mixed or why
    elif why is not None and isinstance(item, (InstanceObject, ModuleObject, ClassObject)):
        item.shuffled = item.shuffled or why
    entries[name] = value


def of(item: object, store: str) -> Unknown | None:
    """Why the order of a store of an object, or of its attributes, is not known."""
    held: Unknown | None = getattr(item, "mixed" if store in STORES else "shuffled", None)
    return held
