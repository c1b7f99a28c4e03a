"""Which classes can be bases, and which of them together: objects of some have a form in memory of their own."""

from __future__ import annotations

import builtins
import collections
import types
from collections import Counter
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain.values import ClassValue, Constant, KnownClass, TupleValue, Value
from modgraph.prediction.python import classes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_INTERNAL = {each.__name__: each for each in vars(types).values() if isinstance(each, type)}
"""Classes of Python's own that have no name in `builtins`."""
_NO_LAYOUT = ("__dict__", "__weakref__")


def require_bases(machine: Machine, bases: tuple[Value, ...]) -> None:
    """Of a class that is to have these bases.

    Raises:
        Raised: TypeError, where one stands there twice, cannot be one, or no object could be of all of them.
    """
    known = [base for base in bases if isinstance(base, (ClassValue, KnownClass))]
    for base, count in Counter(known).items():
        if count > 1:
            raise machine.raises("TypeError", f"duplicate base class {classes.short_name(base)}")
        if isinstance(base, KnownClass) and not _is_acceptable(base.name):
            raise machine.raises("TypeError", f"type '{last_name(base.name)}' is not an acceptable base type")
    if len(known) > 1:
        _require_one_layout(machine, known)


def _require_one_layout(machine: Machine, bases: list[ClassValue | KnownClass]) -> None:
    solid = dict.fromkeys(found for base in bases for found in machine.mro(base) if _is_solid(machine, found))
    for one, other in combinations(solid, 2):
        if _are_apart(machine, one, other):
            raise machine.raises("TypeError", "multiple bases have instance lay-out conflict")


def _are_apart(machine: Machine, one: Value, other: Value) -> bool:
    if isinstance(one, KnownClass) and isinstance(other, KnownClass) and classes.TENSOR not in (one.name, other.name):
        return _conflict(one.name, other.name)
    return one not in machine.mro(other) and other not in machine.mro(one)


def _is_solid(machine: Machine, cls: Value) -> bool:
    """Its objects have a form of their own, besides what all of them have."""
    if isinstance(cls, KnownClass):
        real = _real(cls.name)
        return cls.name == classes.TENSOR or (real is not None and _size(real) != _size(object))
    if not isinstance(cls, ClassValue) or classes.class_attribute(machine, cls, "__slots__") is None:
        return False
    slots = classes.own_attribute(machine, cls, "__slots__")
    names = (slots,) if isinstance(slots, Constant) else slots.items if isinstance(slots, TupleValue) else ()
    if slots is not None and not names:
        found = machine.iterate(slots)
        names = tuple(found) if isinstance(found, list) else ()
    return any(isinstance(each, Constant) and each.value not in _NO_LAYOUT for each in names)


def _size(real: type) -> tuple[int, int]:
    return real.__basicsize__, real.__itemsize__


@cache
def _real(name: str) -> type | None:
    """The class itself, of Python's own that are made of no source."""
    home, _, short = name.rpartition(".")
    found: object = None
    if home == "builtins":
        found = getattr(builtins, short, _INTERNAL.get(short))
    elif home == "collections":
        found = getattr(collections, short, None)
    return found if isinstance(found, type) else None


@cache
def _is_acceptable(name: str) -> bool:
    real = _real(name)
    if real is None:
        return True
    try:
        type("Derived", (real,), {})
    except TypeError:
        return False
    return True


@cache
def _conflict(one: str, other: str) -> bool:
    """Python makes no class of both, in whichever order."""
    first, second = _real(one), _real(other)
    if first is None or second is None or issubclass(first, second) or issubclass(second, first):
        return False
    try:
        type("Derived", (first, second), {})
    except TypeError:
        return True
    return False
