"""What an unknown call may have changed: everything mutable that it was given, and what that leads to.

Nothing of it is known any more than its class: an entry or attribute may have been replaced or removed, a child taken
out, a tensor given other data. What stays is that it is the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from modgraph.prediction import callbacks, partial_texts, possible
from modgraph.prediction.objects import (
    DictObject,
    HeapObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
    ViewObject,
)
from modgraph.prediction.values import (
    OPEN,
    Address,
    BoundMethod,
    Choice,
    FunctionValue,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter


_UNITS_OF_AN_OBJECT = 5
"""Units of work that it takes to forget one."""


def expose(machine: Interpreter, values: Iterable[Value], why: Unknown) -> None:
    """Forgets whatever can be changed through `values`: what containers, objects and modules hold, and what names of
    functions lead to."""
    why = possible.nowhere(partial_texts.plainly(why))
    pending = list(values)
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, TupleValue):
            pending.extend(value.items)
        elif isinstance(value, Unknown):
            machine.base.work += len(value.may_be)
            pending.extend(Address(index) for index in sorted(value.may_be) if is_there(machine, index))
        elif isinstance(value, Choice):
            pending.extend(value.alternatives)
        elif isinstance(value, BoundMethod):
            pending.extend((value.receiver, value.function))
        elif isinstance(value, PartialValue):
            pending.extend([value.function, *value.positional, *(item for _, item in value.keywords)])
        elif isinstance(value, FunctionValue) and value not in seen:
            seen.add(value)
            pending.extend(callbacks.expose_closure(machine, value, why))
        elif isinstance(value, Address) and value not in seen:
            seen.add(value)
            machine.base.work += _UNITS_OF_AN_OBJECT
            item = machine.state.read(value)
            forget = _FORGETTERS.get(type(item))
            if forget is not None:
                held = possible.held_by(item)
                machine.base.work += len(held)
                pending.extend(held)
                if type(item) is IteratorObject and item.source is not None:
                    item.source.forgotten(why)
                forget(machine.state.write(value), why)


def is_there(machine: Interpreter, index: int) -> bool:
    """An object that was made on a path which was left is not."""
    base = machine.base
    held = machine.state.get(index) is not None or index in base.objects
    return held or any(outer.get(index) is not None for outer in base.outer)


def _forget_list(item: ListObject | SetObject, why: Unknown) -> None:
    item.open = possible.either_of(item.open or why, item.items)
    item.items = type(item.items)()
    _forget_entries(item.attributes, why)


def _forget_dict(item: DictObject, why: Unknown) -> None:
    item.open = possible.either_of(item.open or why, item.entries.values())
    absent = replace(why, optional=True)
    item.entries = {key: possible.either_of(absent, (value,)) for key, value in item.entries.items()}


def _forget_iterator(item: IteratorObject, why: Unknown) -> None:
    item.items, item.position, item.open = [], 0, possible.either_of(why, item.items[item.position :])
    item.source = item.running = None


def _forget_instance(item: InstanceObject, why: Unknown) -> None:
    item.open = item.open or why
    _forget_entries(item.attributes, why)


def _forget_module(item: ModuleObject, why: Unknown) -> None:
    item.open = partial_texts.opened(item.open, why)
    item.initialised = True
    for store in (item.modules, item.parameters, item.buffers):
        _forget_entries(store, replace(why, optional=True))
        partial_texts.open_store(store, why)
    _forget_entries(item.attributes, why)
    item.non_persistent.update(dict.fromkeys(item.non_persistent))


def _forget_tensor(item: TensorObject, why: Unknown) -> None:
    item.elements = item.shape = item.dtype = item.requires_grad = None
    _forget_entries(item.attributes, why)


def _forget_entries(entries: dict[str, Value], why: Unknown) -> None:
    for name, value in entries.items():
        if name == OPEN:
            continue
        if not isinstance(value, Unknown) or value.text is not None or (why.optional and not value.optional):
            entries[name] = possible.either_of(why, (value,))


_FORGETTERS: dict[type[HeapObject], Callable[[Any, Unknown], None]] = {
    ListObject: _forget_list,
    SetObject: _forget_list,
    DictObject: _forget_dict,
    ViewObject: _forget_dict,
    IteratorObject: _forget_iterator,
    InstanceObject: _forget_instance,
    ModuleObject: _forget_module,
    TensorObject: _forget_tensor,
}
