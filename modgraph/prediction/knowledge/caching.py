"""functools.lru_cache and cache: the same arguments give the same object again, as long as it is kept.

Source: `functools._make_key`, `functools._lru_cache_wrapper`, and what they are written as in C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from modgraph.prediction import hashing, possible
from modgraph.prediction.knowledge.registry import Arguments, Machine, known_class, models
from modgraph.prediction.objects import DictObject, InstanceObject
from modgraph.prediction.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    Choice,
    Constant,
    KnownClass,
    KnownFunction,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

CACHED = "functools._lru_cache_wrapper"
known_class(CACHED)
_SIZE = Constant(128)


@models("functools.cache", "functools._cached")
def cached(arguments: Arguments, machine: Machine) -> Value:
    """The function with a memory of what it gave."""
    held = {
        "__wrapped__": arguments.positional[0],
        "<memory>": machine.allocate(DictObject()),
        "<size>": arguments.keywords.get("maxsize", NONE),
        "<typed>": arguments.keywords.get("typed", FALSE),
        "<asked at import>": FALSE,
    }
    return machine.allocate(InstanceObject(KnownClass(CACHED), held))


@models("functools.lru_cache")
def with_size(arguments: Arguments, machine: Machine) -> Value:
    """With or without arguments."""
    size, typed = arguments.get(0, "maxsize", _SIZE), arguments.get(1, "typed", FALSE)
    if isinstance(size, Constant):
        if size != NONE and not isinstance(size.value, int):
            raise machine.raises("TypeError", "Expected first argument to be an integer, a callable, or None")
    elif not isinstance(size, (Unknown, Choice)):
        return cached(Arguments(arguments.function, (size,), {"maxsize": _SIZE, "typed": typed}), machine)
    return PartialValue(KnownFunction("functools._cached"), (), (("maxsize", size), ("typed", typed)))


@models(f"{CACHED}.__call__")
def recalled(arguments: Arguments, machine: Machine) -> Value:
    """What is remembered, else what the function gives now; either where it is not known which."""
    receiver, *given = arguments.positional
    item = machine.state.find(receiver, InstanceObject)
    memory = item.attributes["<memory>"] if item is not None else NONE
    known = machine.state.find(memory, DictObject)
    assert item is not None
    assert isinstance(memory, Address)
    function = item.attributes["__wrapped__"]

    def call() -> Value:
        return machine.call(function, given, arguments.keywords, arguments.where)

    size = item.attributes["<size>"]
    if known is None or (isinstance(size, Constant) and size != NONE and size.value <= 0):
        return call()
    made = _key(machine, item, given, arguments)
    if isinstance(made, Unknown):
        return _perhaps(machine, memory, made, call)
    key: Value = made
    why = _doubt(machine, receiver, size)
    interpreter = cast("Interpreter", machine)
    if hashing.is_special(interpreter, key):
        if hashing.contains(machine, known.entries, key) is None:
            why = why or machine.unknown("whether two arguments are equal is not known")
        key = hashing.key_of(machine, known.entries, key) or key
    found = known.entries.get(key)
    if (
        (why is not None and known.entries)
        or (found is not None and is_optional(found))
        or (found is None and known.open is not None)
    ):
        return _perhaps(machine, memory, why or known.open or machine.unknown("", found or NONE), call)
    if found is None:
        return _remembered(machine, memory, size, key, call())
    if size != NONE:  # the one that was asked for last is forgotten last
        entries = machine.state.change(memory, DictObject).entries
        entries[key] = entries.pop(key)
    return found


def _key(machine: Machine, item: InstanceObject, given: list[Value], arguments: Arguments) -> TupleValue | Unknown:
    """What the arguments are remembered by; numbers that are equal are one, but for a single integer."""
    values = (*given, *arguments.keywords.values())
    typed = machine.truth(item.attributes["<typed>"])
    unknown = [each for each in values if isinstance(each, (Unknown, Choice))]
    if unknown or arguments.open is not None or typed is None:
        return arguments.open or machine.unknown("arguments of a cached function are not known", *unknown)
    for each in values:
        hashing.require(machine, each)
    single = values[0] if len(values) == len(given) == 1 and not typed else None
    if isinstance(single, Constant) and type(single.value) in (int, str):
        return TupleValue((single,))
    parts = [TupleValue(tuple(map(_as_number, given)))]
    parts.extend(TupleValue((Constant(name), _as_number(each))) for name, each in arguments.keywords.items())
    if typed:
        parts.append(TupleValue(tuple(machine.class_of(each) for each in values)))
    return TupleValue(tuple(parts))


def _as_number(value: Value) -> Value:
    """A number as the integer that is equal to it."""
    if isinstance(value, TupleValue) and value.cls is None:
        return TupleValue(tuple(map(_as_number, value.items)))
    if isinstance(value, Constant) and isinstance(value.value, (bool, float)) and value.value == value.value // 1:
        return Constant(int(value.value))
    return value


def _doubt(machine: Machine, cache: Value, size: Value) -> Unknown | None:
    """Why it is not known what a cache still keeps: how many it keeps, or what it was asked for before. The statements
    of modules are not followed in their order, so that nothing is known of a small cache that they ask."""
    if isinstance(size, (Unknown, Choice)):
        return machine.unknown("how many results a cache keeps is not known", size)
    if size == NONE or not isinstance(size, Constant) or size.value >= _SIZE.value:
        return None
    item = machine.state.find(cache, InstanceObject)
    if item is None or (
        not cast("Interpreter", machine).module_depth and item.attributes["<asked at import>"] == FALSE
    ):
        return None
    if item.attributes["<asked at import>"] == FALSE and isinstance(cache, Address):
        machine.state.change(cache, InstanceObject).attributes["<asked at import>"] = TRUE
    return machine.unknown("in which order a cache is asked when modules are imported is not followed")


def _remembered(machine: Machine, memory: Address, size: Value, key: Value, found: Value) -> Value:
    entries = machine.state.change(memory, DictObject).entries
    if size == NONE or key not in entries:  # the call may have asked for the same
        entries[key] = found
    if isinstance(size, Constant) and size != NONE and len(entries) > size.value:
        del entries[next(iter(entries))]
    return found


def _perhaps(machine: Machine, memory: Address, why: Unknown, call: Callable[[], Value]) -> Value:
    """One of those that are remembered, or what the function gives now, which may be remembered."""
    why = Unknown(why.reason, why.where)  # of what is remembered, whatever the arguments are
    known = machine.state.find(memory, DictObject)
    assert known is not None
    held = [*known.entries.values(), *([known.open] if known.open is not None else [])]
    if held:
        found = machine.fork([lambda: possible.read(machine, why, held), call], why.reason)
    else:
        found = call()
    opened = machine.state.change(memory, DictObject)
    opened.open = possible.either_of(opened.open or why, [*opened.entries.values(), found])
    opened.entries = {
        name: possible.either_of(replace(why, optional=True), (each,)) for name, each in opened.entries.items()
    }
    return found


@models(f"{CACHED}.cache_clear")
def clear(arguments: Arguments, machine: Machine) -> Value:
    item = machine.state.find(arguments.positional[0], InstanceObject)
    memory = item.attributes["<memory>"] if item is not None else None
    if isinstance(memory, Address):
        emptied = machine.state.change(memory, DictObject)
        emptied.entries, emptied.open = {}, None
    return NONE
