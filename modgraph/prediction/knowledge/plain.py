"""Between the interpreter's values and Python's own: constants and containers of constants, both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from modgraph.prediction.knowledge.registry import Arguments, Machine, Model
from modgraph.prediction.limits import MAX_VALUE_SIZE
from modgraph.prediction.values import (
    Constant,
    DictObject,
    EnumMember,
    KnownClass,
    ListObject,
    SetObject,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
)

_DEPTH = 20


def plain(machine: Machine, value: Value, depth: int = 0) -> tuple[Any] | None:
    """The Python object that a constant, or a container of constants, stands for, in a tuple of one; None if none."""
    if isinstance(value, Constant):
        return (value.value,)
    if depth > _DEPTH:
        return None
    if isinstance(value, EnumMember):
        plain_base = any(
            isinstance(base, KnownClass) and base.name in ("builtins.str", "builtins.int")
            for base in machine.mro(value.cls)
        )
        return plain(machine, value.value, depth + 1) if plain_base else None
    if isinstance(value, TupleValue):
        items = _all(machine, value.items, depth)
        return None if items is None else (tuple(items),)
    if isinstance(value, SliceValue):
        bounds = _all(machine, (value.lower, value.upper, value.step), depth)
        return None if bounds is None else (slice(*bounds),)
    listed = machine.state.find(value, ListObject)
    if listed is not None and listed.open is None:
        items = _all(machine, listed.items, depth)
        return None if items is None else (items,)
    mapping = machine.state.find(value, DictObject)
    if mapping is not None and mapping.open is None:
        keys, values = _all(machine, mapping.entries, depth), _all(machine, mapping.entries.values(), depth)
        return None if keys is None or values is None else (dict(zip(keys, values, strict=True)),)
    members = machine.state.find(value, SetObject)
    if members is not None and members.open is None:
        items = _all(machine, members.items, depth)
        return None if items is None else (set(items),)
    return None


def _all(machine: Machine, values: Any, depth: int) -> list[Any] | None:
    found = [plain(machine, value, depth + 1) for value in values]
    return None if any(one is None for one in found) else [one[0] for one in found if one is not None]


def lifted(machine: Machine, result: Any) -> Value:
    """A Python object made of constants, lists, tuples, dicts and sets as a value."""
    if isinstance(result, tuple):
        return TupleValue(tuple(lifted(machine, item) for item in result))
    if isinstance(result, list):
        return machine.allocate(ListObject([lifted(machine, item) for item in result]))
    if isinstance(result, dict):
        return machine.allocate(
            DictObject({lifted(machine, key): lifted(machine, item) for key, item in result.items()})
        )
    return Constant(result)


def number_unknown(machine: Machine, reason: str, *causes: Value) -> Unknown:
    """A number, text or truth that is not known: no module can be behind it."""
    return replace(machine.unknown(reason, *causes), inert=True)


_AS_LARGE_AS_ASKED_FOR = frozenset(
    ("factorial", "comb", "perm", "center", "ljust", "rjust", "zfill", "expandtabs", "to_bytes")
)
"""Functions whose result a number among the arguments can make as large as one likes."""


def folded(function: Callable[..., Any], name: str) -> Model:
    """A pure function of plain values, applied where every argument is one; a number not known otherwise."""

    grows = name.rpartition(".")[2] in _AS_LARGE_AS_ASKED_FOR

    def fold(arguments: Arguments, machine: Machine) -> Value:
        values = [plain(machine, value) for value in arguments.positional]
        keywords = {key: plain(machine, value) for key, value in arguments.keywords.items()}
        if arguments.open is not None or any(found is None for found in (*values, *keywords.values())):
            return number_unknown(machine, f"{name} of something not known", *arguments.positional)
        given = [found[0] for found in values if found is not None]
        if grows and any(isinstance(number, int) and number > MAX_VALUE_SIZE for number in given):
            return machine.unknown(f"the result of {name} is larger than {MAX_VALUE_SIZE}")
        try:
            result = function(*given, **{key: found[0] for key, found in keywords.items() if found is not None})
        except Exception as error:  # what Python raises for these very arguments
            raise machine.raises(type(error).__name__, str(error)) from None
        return lifted(machine, result)

    return fold
