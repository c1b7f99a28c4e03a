"""What an iterable is before it is walked: the container of Python's own, or an `__iter__` in source."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.objects import (
    DictObject,
    HeapObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    Address,
    ClassValue,
    Unknown,
    Value,
)
from modgraph.prediction.python import unordered

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def overrides(machine: Machine, value: Address) -> bool:
    """Its class, which has source, has an `__iter__` of its own."""
    cls = machine.class_of(value)
    if not isinstance(cls, ClassValue):
        return False
    for base in machine.mro(cls):
        if isinstance(base, ClassValue) and machine.own_attribute(base, "__iter__") is not None:
            return True
    return False


def items_of(machine: Machine, item: HeapObject) -> list[Value] | Unknown:
    """Those of a list, dict or set, in their order."""
    if isinstance(item, ListObject):
        return list(item.items) if item.open is None else points_to.read(machine, item.open, item.items)
    if isinstance(item, DictObject):
        return list(item.entries) if item.unsure is None else points_to.read(machine, item.unsure, item.entries)
    assert isinstance(item, SetObject)
    return unordered.in_order(machine, item) if item.open is None else points_to.read(machine, item.open, item.items)


def own_iterator(machine: Machine, value: Value) -> Value | None:
    """What the `__iter__` of its class gives; None where it has none, or is a container of Python's own."""
    item = machine.state.read(value) if isinstance(value, Address) else None
    if item is None or isinstance(item, (IteratorObject, TensorObject)):
        return None
    cls = machine.class_of(value)
    if isinstance(item, (ListObject, DictObject, SetObject)) and not overrides(machine, cast(Address, value)):
        return None
    method = machine.class_attribute(cls, "__iter__") if machine.is_class(cls) else None
    return None if method is None or isinstance(method, Unknown) else machine.call(method, (value,))


def asked_for_length(machine: Machine, value: Value) -> None:
    """How many items there may be is asked for, which some implementations of Python leave out."""
    if machine.state.find(value, InstanceObject) is not None:
        machine.may_be_called([value], machine.unknown("how often a length is asked for is not known"), _LENGTHS)


_LENGTHS = ("__len__", "__length_hint__")
