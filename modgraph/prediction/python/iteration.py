"""What an iterable gives, and how long it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.limits import ITEMS_OF_A_CONSTANT, MAX_LOOP_ITERATIONS
from modgraph.prediction.domain.objects import DictObject, IteratorObject, ListObject, SetObject, ViewObject
from modgraph.prediction.domain.sizes import counted
from modgraph.prediction.domain.values import (
    Address,
    Choice,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import possible_tensors
from modgraph.prediction.python import classes, enumerations, exceptions, iterables, producing, unordered
from modgraph.prediction.python.counted import count
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def iterate(machine: Machine, value: Value) -> list[Value] | Unknown:
    """All items, or why they are not known; an iterator is used up.

    Raises:
        Raised: TypeError, where it is no iterable.
    """
    if isinstance(value, TupleValue):
        method = machine.class_attribute(value.cls, "__iter__") if isinstance(value.cls, ClassValue) else None
        if isinstance(method, FunctionValue):
            return iterate(machine, machine.call(method, (value,)))
        count(machine, len(value.items))
        return list(value.items)
    if isinstance(value, Choice):
        return _of_one(machine, value)
    if isinstance(value, Unknown):
        which = machine.unknown("which iterable it is is not known", possible_tensors.opened(machine, value))
        if value.may_be:
            machine.may_be_called([value], which, _OF_ITERATION)
        return which
    if isinstance(value, Constant):
        return _constant(machine, value)
    if isinstance(value, ClassValue):
        members = enumerations.members(machine, value)
        if members is not None:
            return enumerations.unsure(machine, value) or list(members)
    if isinstance(value, EnumMember):
        return _member(machine, value)
    if isinstance(value, Address):
        item = machine.state.read(value)
        own = isinstance(getattr(item, "cls", None), KnownClass) or not iterables.overrides(machine, value)
        if isinstance(item, IteratorObject):
            if item.open is not None and item.source is None:
                return points_to.read(machine, item.open, item.items[item.position :])
            rest, why = producing.drain(machine, value)
            return why or rest
        if own and isinstance(item, (ListObject, DictObject, SetObject)):
            count(machine, len(item.entries if isinstance(item, DictObject) else item.items))
            return iterables.items_of(machine, item)
    return _by_method(machine, value)


_OF_ITERATION = ("__iter__", "__next__", "__getitem__", "__len__")


def _of_one(machine: Machine, value: Choice) -> list[Value] | Unknown:
    """What one of several iterables gives, which of them is not known."""
    why = machine.unknown("which iterable it is is not known", value)
    found: list[tuple[Value, ...]] = []
    if are_plain(machine, value.alternatives):
        for each in value.alternatives:
            items = iterate(machine, each)
            if isinstance(items, Unknown):
                return points_to.either_of(why, [items, *(one for some in found for one in some)])
            found.append(tuple(items))
    else:  # one that is read is used up, or code of its own runs
        given = machine.distribute(value, lambda each: _row(iterate(machine, each)))
        if isinstance(given, Unknown):
            return points_to.either_of(why, [given])
        kept = given.alternatives if isinstance(given, Choice) else (given,)
        found = [each.items for each in kept if isinstance(each, TupleValue)]
    if len({len(items) for items in found}) == 1:
        return [machine.choice(items, value.reason) for items in zip(*found, strict=True)]
    return points_to.read(machine, why, [one for some in found for one in some])


def are_plain(machine: Machine, values: Iterable[Value]) -> bool:
    """Containers of Python's own: to read them runs no code, and leaves them as they are."""
    return all(isinstance(each, TupleValue) or _is_plain(machine, each) for each in values)


def _row(items: list[Value] | Unknown) -> Value:
    return items if isinstance(items, Unknown) else TupleValue(tuple(items))


def _is_plain(machine: Machine, value: Value) -> bool:
    """A container that is read without any code being run."""
    item = machine.state.read(value) if isinstance(value, Address) else None
    return isinstance(item, (ListObject, DictObject, SetObject)) and isinstance(item.cls, KnownClass)


def _member(machine: Machine, value: EnumMember) -> list[Value] | Unknown:
    """The characters of a member that is text, the single flags of one that is a flag."""
    flags = enumerations.parts(machine, value)
    if flags is not None:
        return flags
    return iterate(machine, value.value) if _is_text(machine, value) else _by_method(machine, value)


def _is_text(machine: Machine, value: EnumMember) -> bool:
    return KnownClass("builtins.str") in machine.mro(value.cls)


def _constant(machine: Machine, value: Constant) -> list[Value] | Unknown:
    try:
        size = len(value.value)
    except TypeError:
        raise machine.raises("TypeError", f"'{type(value.value).__name__}' object is not iterable") from None
    except OverflowError:
        size = MAX_LOOP_ITERATIONS + 1
    if size > MAX_LOOP_ITERATIONS:
        return machine.unknown(Reached(f"a loop of more than {MAX_LOOP_ITERATIONS} turns"))
    machine.makes(ITEMS_OF_A_CONSTANT * size)
    return [Constant(item) for item in value.value]


def in_any_order(machine: Machine, value: Value) -> list[Value] | Unknown:
    """The items of an iterable, for whom their order does not matter."""
    found = unordered.elements(machine, value)
    return iterate(machine, value) if found is None else found


def _by_method(machine: Machine, value: Value) -> list[Value] | Unknown:
    cls = machine.class_of(value)
    if isinstance(cls, Unknown):
        return cls
    method = machine.class_attribute(cls, "__iter__")
    if isinstance(method, Unknown):
        return method
    if method is not None:
        given = machine.call(method, (value,))
        return iterate(machine, producing.iterator_by_next(machine, value) if given == value else given)
    return by_place(machine, value)


def by_place(machine: Machine, value: Value) -> list[Value] | Unknown:
    """What stands at 0, 1, 2, ... of what has no `__iter__`.

    Raises:
        Raised: TypeError, where it has no `__getitem__` either.
    """
    cls = machine.class_of(value)
    getter = cls if isinstance(cls, Unknown) else machine.class_attribute(cls, "__getitem__")
    if isinstance(getter, Unknown):
        return getter
    if isinstance(getter, FunctionValue):
        return _by_place(machine, value, getter)
    if getter is not None:
        size = length(machine, value)
        if isinstance(size, Unknown) or size > MAX_LOOP_ITERATIONS:
            return machine.unknown("its length is not known", *([size] if isinstance(size, Unknown) else []))
        return [machine.call(getter, (value, Constant(place))) for place in range(counted(size))]
    raise machine.raises("TypeError", f"'{classes.short_name(cls)}' object is not iterable")


def _by_place(machine: Machine, value: Value, getter: Value) -> list[Value] | Unknown:
    """The items at 0, 1, 2, ... up to the first place at which there is none, whatever `len` says."""
    found: list[Value] = []
    while len(found) <= MAX_LOOP_ITERATIONS:
        try:
            item = machine.call(getter, (value, Constant(len(found))))
        except Raised as raised:
            if machine.is_instance(raised.exception, _ENDS) is not True:
                raise
            return found
        if isinstance(item, Unknown):
            return points_to.either_of(machine.unknown("how many items there are is not known", item), [*found, item])
        found.append(item)
    return machine.unknown(Reached(f"a loop of more than {MAX_LOOP_ITERATIONS} turns"))


_ENDS = TupleValue((KnownClass("builtins.IndexError"), KnownClass("builtins.StopIteration")))


def _length_of(machine: Machine, value: Value) -> Value:
    size = length(machine, value)
    return size if isinstance(size, Unknown) else Constant(size)


def length(machine: Machine, value: Value) -> int | Unknown:
    """len(value).

    Raises:
        Raised: TypeError.
    """
    if isinstance(value, TupleValue):
        own = machine.class_attribute(value.cls, "__len__") if isinstance(value.cls, ClassValue) else None
        if not isinstance(own, FunctionValue):
            return len(value.items)
    if isinstance(value, Choice):
        size = machine.distribute(value, lambda each: _length_of(machine, each))
        return size.value if isinstance(size, Constant) else machine.unknown("", size)
    if isinstance(value, Unknown):
        return value if value.text is None else replace(value, text=None)  # how long a text is, is no text
    if isinstance(value, Constant):
        try:
            return len(value.value)
        except (TypeError, OverflowError) as error:
            raise exceptions.as_python(machine, error) from None
    if isinstance(value, ClassValue):
        members = enumerations.members(machine, value)
        if members is not None:
            return enumerations.unsure(machine, value) or len(members)
    if isinstance(value, EnumMember) and _is_text(machine, value):
        return length(machine, value.value)
    if (found := unordered.elements(machine, value)) is not None:
        return len(found)
    if isinstance(value, EnumMember) and (flags := enumerations.number_of_flags(machine, value)) is not None:
        return flags
    cls = machine.class_of(value)
    method = machine.class_attribute(cls, "__len__") if machine.is_class(cls) else None
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(item, (ListObject, DictObject, SetObject)) and not hasattr(method, "definition"):
        unsure = item.unsure if isinstance(item, DictObject) else item.open
        if unsure is not None:
            return unsure
        if machine.guesses.may_be_empty(value):
            return machine.unknown("how much it holds is not known")
        if isinstance(item, ViewObject) and item.leaves_out:
            return machine.unknown("how many names a class holds is not modelled")
        return len(item.entries) if isinstance(item, DictObject) else len(item.items)
    if method is not None and not isinstance(method, Unknown):
        result = machine.call(method, (value,))
        if isinstance(result, Constant) and isinstance(result.value, int):
            return result.value
        return machine.unknown("its length is not known", result)
    if isinstance(method, Unknown) or isinstance(cls, Unknown):
        return machine.unknown("its length is not known")
    raise machine.raises("TypeError", f"object of type '{classes.short_name(cls)}' has no len()")
