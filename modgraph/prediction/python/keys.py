"""Keys of a dict: under which one of those that are there an equal one stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.objects import MIXED, DictObject, ViewObject
from modgraph.prediction.domain.values import TRUE, Choice, Constant, EnumMember, Unknown, Value
from modgraph.prediction.python import hashing, inner_stores, orders

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def find_entry(machine: Machine, mapping: DictObject, key: Value) -> Value | None:
    """The entry of a key that is equal to `key`; None where none is found, optional where it may be one of some."""
    hashing.asked(machine, key)
    hashing.require(machine, key)
    if machine.guesses.kinds and mapping.entries and machine.guesses.doubts(key):  # what is made when asked for stays
        return points_to.either_of(
            replace(machine.unknown(_UNSURE, key), optional=True), list(mapping.entries.values())
        )
    if type(mapping) is ViewObject and type(key) is Constant:
        return inner_stores.entry(machine, mapping, key)
    found = mapping.entries.get(key)
    if found is not None:
        return found
    if isinstance(key, Constant) and not isinstance(key.value, (bool, int, float, complex, range)):
        # Only members of enums can equal a string without being the same value.
        for other, value in mapping.entries.items():
            if isinstance(other, EnumMember) and machine.equal(other, key):
                return value
        return None
    perhaps: list[Value] = []
    for other, value in mapping.entries.items():
        answer = machine.equal(other, key)
        if answer:
            return value
        perhaps += [value] if answer is None else []
    if not perhaps:
        return None
    return points_to.either_of(replace(machine.unknown(_UNSURE, key), optional=True), perhaps)


def put(machine: Machine, mapping: DictObject, key: Value, value: Value) -> None:
    """mapping[key] = value: a key that only some paths have put there stands where it is, or behind all others."""
    if type(mapping) is DictObject and (why := orders.loses(machine, mapping.entries, key)) is not None:
        mapping.open = mapping.open or why
        mapping.attributes[MIXED] = TRUE
    mapping.entries[key] = value


_UNSURE = "whether two keys are equal is not known"
_KEYS_OF_A_UNIT = 16
"""Keys that are looked through in one unit of work."""
_LARGEST = 2**1024  # all floats are smaller


def key_in(machine: Machine, mapping: DictObject, key: Value, *, of_constants: bool = False) -> Value:
    """The key under which an equal one already stands; else `key`, or an Unknown where that is not known.

    Args:
        of_constants: it is known that all keys are constants; they need not be looked through for that.
    """
    key = hashing.settled(machine, key)
    hashing.asked(machine, key)
    if isinstance(key, (Unknown, Choice)) or key in mapping.entries:
        return key
    hashing.require(machine, key)
    if not isinstance(key, (Constant, EnumMember)):
        if not hashing.is_special(machine, key):
            return key
        held = hashing.key_of(machine, mapping.entries, key)
        if held is None and hashing.contains(machine, mapping.entries, key) is None:
            return points_to.either_of(replace(machine.unknown(_UNSURE, key), text=()), (key,))
        return held or key
    if isinstance(key, Constant) and isinstance(key.value, str):
        return key
    candidates: Iterable[Value] = mapping.entries
    if isinstance(key, Constant) and type(key.value) is int and not machine.base.has_open_keys:
        number = key.value if abs(key.value) < _LARGEST // 2 else 0
        same = [Constant(kind(number)) for kind in (bool, float, complex) if kind(number) == key.value]
        candidates = [each for each in same if each in mapping.entries]
        machine.base.work += 0 if of_constants else len(mapping.entries) // _KEYS_OF_A_UNIT
        if not of_constants and set(map(type, mapping.entries)) != {Constant}:
            candidates += [other for other in mapping.entries if type(other) is not Constant]
    return next((other for other in candidates if machine.equal(other, key)), key)
