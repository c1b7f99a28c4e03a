"""Which objects are certainly still there, since names lead to them. What nothing leads to any more is gone, as far as
Python's way of counting goes: a weak reference to it gives None, and another object may lie where it lay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import EnvironmentObject, HeapObject
from modgraph.prediction.domain.values import (
    Address,
    Choice,
    ClassValue,
    Constant,
    KnownFunction,
    PartialValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.paths import havoc

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

MAX_WALKED = 1_000_000
"""Objects that are walked over in one prediction; of what is asked beyond that, nothing is known to be there."""

WEAK = "weakref._dereference"
"""A function that gives the object of a weak reference, which does not hold it."""


def are_held(machine: Machine, wanted: Iterable[int], values: Iterable[Value] = ()) -> bool:
    """Names lead to each of the objects at these addresses, and to each of these values itself, on every path that has
    come here."""
    missing, missing_values = set(wanted), {id(each) for each in values}
    pending = list(_named(machine))
    seen: set[int] = set()
    while pending and (missing or missing_values):
        value = pending.pop()
        missing_values.discard(id(value))
        if isinstance(value, ClassValue):
            value = value.address
        if not isinstance(value, Address):
            pending.extend(_inside(value))
            continue
        if value.index in seen:
            continue
        seen.add(value.index)
        missing.discard(value.index)
        machine.base.walked += 1
        if machine.base.walked > MAX_WALKED:
            return False
        if havoc.is_there(machine, value.index):
            pending.extend(_held_by(machine.state.read(value)))
    return not missing and not missing_values


def _named(machine: Machine) -> Iterator[Value]:
    """What all of them begin with; the names of the code that runs come last."""
    yield from machine.base.globals.values()
    yield from machine.state.globals.values()
    for frame in machine.frames:
        yield frame.environment
        if frame.receiver is not None:
            yield frame.receiver


def _held_by(item: HeapObject) -> Iterator[Value]:
    if not isinstance(item, EnvironmentObject):
        yield from item.references()
        return
    if item.parent is not None:
        yield item.parent
    for name, value in item.names.items():
        if name not in item.unsure:
            yield value


def _inside(value: Value) -> Iterator[Value]:
    """What a value holds for certain."""
    if isinstance(value, (Constant, Choice, Unknown)) or is_optional(value):
        return
    if isinstance(value, PartialValue) and value.function == KnownFunction(WEAK):
        return
    yield from value.parts()
