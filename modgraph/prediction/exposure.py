"""What an unknown call may have changed: everything mutable that it was given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from modgraph.prediction.values import (
    OPEN,
    Address,
    BoundMethod,
    Choice,
    DictObject,
    EnvironmentObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    PartialValue,
    SetObject,
    TensorObject,
    TupleValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter


def expose(machine: Interpreter, values: Iterable[Value], why: Unknown) -> None:
    """Opens whatever can be changed through `values`, containers included; not what modules and objects hold."""
    pending = list(values)
    seen: set[Address] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, TupleValue):
            pending.extend(value.items)
        elif isinstance(value, Choice):
            pending.extend(value.alternatives)
        elif isinstance(value, BoundMethod):
            pending.append(value.receiver)
        elif isinstance(value, PartialValue):
            pending.extend([*value.positional, *(item for _, item in value.keywords)])
        elif isinstance(value, Address) and value not in seen:
            seen.add(value)
            _open(machine, value, why, pending)


def _open(machine: Interpreter, address: Address, why: Unknown, pending: list[Value]) -> None:
    item = machine.state.read(address)
    if isinstance(item, ModuleObject):
        changed = machine.state.change(address, ModuleObject)
        changed.modules.setdefault(OPEN, why)
        changed.open = changed.open or why
        changed.initialised = True
    elif isinstance(item, (ListObject, DictObject, SetObject)):
        pending.extend(item.references())
        target = machine.state.write(address)
        assert isinstance(target, (ListObject, DictObject, SetObject))
        target.open = target.open or why
        if isinstance(target, ListObject):
            target.items = []
    elif isinstance(item, InstanceObject):
        target_instance = machine.state.change(address, InstanceObject)
        target_instance.open = target_instance.open or why
    elif isinstance(item, IteratorObject):
        machine.state.change(address, IteratorObject).open = why
    elif isinstance(item, TensorObject):
        machine.state.change(address, TensorObject).elements = None
    else:
        assert isinstance(item, EnvironmentObject) or item is not None
