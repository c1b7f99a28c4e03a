"""Objects that an unknown value may be: those that stood where paths met, or where it was read by a key not known.

They are described all the same, under other names; so what changes the unknown value changes what is said of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.domain.fields import reasons
from modgraph.prediction.domain.limits import MAX_POSSIBLE_OBJECTS
from modgraph.prediction.domain.objects import DictObject, HeapObject, IteratorObject, ListObject, SetObject
from modgraph.prediction.domain.values import (
    Address,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    TupleValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_NONE: frozenset[int] = frozenset()


def objects_of(values: Iterable[Value]) -> frozenset[int]:
    """Where the objects are that these values are, hold or may be."""
    found: set[int] = set()
    pending: list[Value] = []
    for value in values:
        kind = type(value)
        if kind is Address:
            found.add(value.index)  # type: ignore[attr-defined]
        elif kind is not Constant:
            pending.append(value)
    while pending:
        value = pending.pop()
        if isinstance(value, Address):
            found.add(value.index)
        elif isinstance(value, Unknown):
            found |= value.may_be
        elif isinstance(value, FunctionValue):
            if value.holder:
                found.add(value.holder)
            pending += (default for _, default in value.defaults)
        elif isinstance(value, ClassValue):
            found.add(value.address.index)
        else:
            pending += value.parts()
    return frozenset(found) if found else _NONE


def with_objects(why: Unknown, found: frozenset[int]) -> Unknown:
    """`why` of a value that may be these objects too."""
    return why if found <= why.may_be else _naming(why, why.may_be | found)


def _naming(why: Unknown, found: frozenset[int]) -> Unknown:
    """`dataclasses.replace` takes five times as long, and joins do little else."""
    return Unknown(why.reason, why.where, why.inert, why.optional, why.text, found, why.outside, why.library)


def either_of(why: Unknown, values: Iterable[Value]) -> Unknown:
    """`why` of a value that may be each of these: one number among them does not make a number of it."""
    values = list(values)
    if why.inert and not all(map(is_plain, values)):
        why = replace(why, inert=False)
    return with_objects(_of_library(why, values), objects_of(values))


def is_plain(value: Value) -> bool:
    """It is a number, a text or the like, known or not: no module can be reached through it."""
    if isinstance(value, Unknown):
        return value.inert and not value.may_be
    if isinstance(value, (Choice, TupleValue)):
        return all(map(is_plain, value.parts()))
    return isinstance(value, Constant)


def further(why: Unknown, values: Iterable[Value]) -> Unknown:
    """Why there may be items besides those that are shown, each of them one of these: plain where all of these are."""
    values = list(values)
    if not values or not all(map(is_plain, values)):
        return either_of(why, values)
    return _of_library(plain(why), values)


def library_of(values: Iterable[Value]) -> str:
    """A library that one of these comes from, which is not interpreted; "" where none does."""
    found = (each.library for each in values if isinstance(each, Unknown) and each.library)
    return next(found, "")


def _of_library(why: Unknown, values: Iterable[Value]) -> Unknown:
    library = "" if why.library else library_of(values)
    return replace(why, library=library) if library else why


def plain(why: Unknown) -> Unknown:
    """`why` of what is plain; that an operation on it may raise stays so."""
    return why if why.inert else replace(why, inert=True, outside=True)


def read(machine: Machine, why: Unknown, values: Iterable[Value]) -> Unknown:
    """`why` of what was read from among these values, which of them is not known: a number that says which does not
    make a number of it."""
    values = list(values)
    if why.inert and not all(map(is_plain, values)):
        why = replace(why, inert=False)
    why = _of_library(why, values)
    found = objects_of(values)
    if len(found) > MAX_POSSIBLE_OBJECTS:
        found = frozenset([machine.allocate(ListObject([Address(index) for index in sorted(found)])).index])
    return with_objects(why, found)


def read_within(machine: Machine, why: Unknown, containers: Iterable[Value]) -> Unknown:
    """`why` of what was read from within these, of which it is not known what is taken of them, or in which order."""
    values: list[Value] = []
    for each in containers:
        item = machine.state.read(each) if isinstance(each, Address) else None
        if type(item) in _HOLDING:
            assert item is not None
            values += held_by(item)
        else:
            values += each.items if isinstance(each, TupleValue) else [each]
    return read(machine, why, values)


_HOLDING = (ListObject, DictObject, SetObject, IteratorObject)
"""Objects out of which nothing comes but what they hold."""


def held_by(item: HeapObject) -> list[Value]:
    """What can be taken out of an object: values it holds, and what it may hold besides."""
    return [*item.references(), *reasons(item)]


def nowhere(why: Unknown) -> Unknown:
    """Why something is not known, with no object named that it may be."""
    return _naming(why, _NONE) if why.may_be else why
