"""What an iterable gives, and how long it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction import classes
from modgraph.prediction.limits import MAX_LOOP_ITERATIONS
from modgraph.prediction.values import (
    Address,
    Choice,
    ClassValue,
    Constant,
    DictObject,
    IteratorObject,
    KnownClass,
    ListObject,
    SetObject,
    TupleValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter


_ITEMS_OF_A_CONSTANT = 8
"""What a value takes, in items of a sequence."""


def iterate(machine: Interpreter, value: Value) -> list[Value] | Unknown:
    """All items, or why they are not known; an iterator is used up.

    Raises:
        Raised: TypeError, where it is no iterable.
    """
    if isinstance(value, TupleValue):
        return list(value.items)
    if isinstance(value, (Unknown, Choice)):
        return machine.unknown("which iterable it is is not known", value)
    if isinstance(value, Constant):
        return _constant(machine, value)
    if isinstance(value, ClassValue):
        members = classes.enum_members(machine, value)
        if members is not None:
            return list(members)
    if isinstance(value, Address):
        item = machine.state.read(value)
        own = isinstance(getattr(item, "cls", None), KnownClass) or not _overrides(machine, value)
        if isinstance(item, IteratorObject):
            rest = item.items[item.position :]
            if item.open is not None:
                return item.open
            machine.state.change(value, IteratorObject).position = len(item.items)
            return rest
        if own and isinstance(item, ListObject):
            return item.open or list(item.items)
        if own and isinstance(item, DictObject):
            return item.open or list(item.entries)
        if own and isinstance(item, SetObject):
            return item.open or list(item.items)
    return _by_method(machine, value)


def _overrides(machine: Interpreter, value: Address) -> bool:
    """Its class, which has source, has an `__iter__` of its own."""
    cls = machine.class_of(value)
    if not isinstance(cls, ClassValue):
        return False
    for base in machine.mro(cls):
        if isinstance(base, ClassValue) and machine.own_attribute(base, "__iter__") is not None:
            return True
    return False


def _constant(machine: Interpreter, value: Constant) -> list[Value] | Unknown:
    try:
        size = len(value.value)
    except TypeError:
        raise machine.raises("TypeError", f"'{type(value.value).__name__}' object is not iterable") from None
    except OverflowError:
        size = MAX_LOOP_ITERATIONS + 1
    if size > MAX_LOOP_ITERATIONS:
        return machine.unknown(f"a loop of more than {MAX_LOOP_ITERATIONS} turns")
    machine.makes(_ITEMS_OF_A_CONSTANT * size)
    return [Constant(item) for item in value.value]


def _by_method(machine: Interpreter, value: Value) -> list[Value] | Unknown:
    cls = machine.class_of(value)
    if isinstance(cls, Unknown):
        return cls
    method = machine.class_attribute(cls, "__iter__")
    if isinstance(method, Unknown):
        return method
    if method is not None:
        given = machine.call(method, (value,))
        if given == value:
            return machine.unknown("an iterator written as a class is not followed")
        return iterate(machine, given)
    getter = machine.class_attribute(cls, "__getitem__")
    if getter is not None:
        size = length(machine, value)
        if isinstance(size, Unknown) or size > MAX_LOOP_ITERATIONS:
            return machine.unknown("its length is not known", *([size] if isinstance(size, Unknown) else []))
        return [machine.call(getter, (value, Constant(place))) for place in range(size)]
    raise machine.raises("TypeError", f"'{classes.short_name(cls)}' object is not iterable")


def length(machine: Interpreter, value: Value) -> int | Unknown:
    """len(value).

    Raises:
        Raised: TypeError.
    """
    if isinstance(value, TupleValue):
        return len(value.items)
    if isinstance(value, Choice):
        sizes = {length(machine, each) for each in value.alternatives}
        only = sizes.pop()
        return only if not sizes else machine.unknown("", value)
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Constant):
        try:
            return len(value.value)
        except (TypeError, OverflowError) as error:
            raise machine.raises(type(error).__name__, str(error)) from None
    if isinstance(value, ClassValue):
        members = classes.enum_members(machine, value)
        if members is not None:
            return len(members)
    cls = machine.class_of(value)
    method = machine.class_attribute(cls, "__len__") if machine.is_class(cls) else None
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(item, (ListObject, DictObject, SetObject)) and not hasattr(method, "definition"):
        if item.open is not None:
            return item.open
        return len(item.entries) if isinstance(item, DictObject) else len(item.items)
    if method is not None and not isinstance(method, Unknown):
        result = machine.call(method, (value,))
        if isinstance(result, Constant) and isinstance(result.value, int):
            return result.value
        return machine.unknown("its length is not known", result)
    if isinstance(method, Unknown) or isinstance(cls, Unknown):
        return machine.unknown("its length is not known")
    raise machine.raises("TypeError", f"object of type '{classes.short_name(cls)}' has no len()")
