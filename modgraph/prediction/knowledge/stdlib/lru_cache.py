"""functools.lru_cache and cache: the same arguments give the same object again, as long as it is kept.

Source: `functools._make_key`, `functools._lru_cache_wrapper`, and what they are written as in C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import cast

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, InstanceObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.sizes import as_size
from modgraph.prediction.domain.values import (
    CACHED,
    FALSE,
    NONE,
    TRUE,
    Address,
    Choice,
    Constant,
    FunctionValue,
    KnownFunction,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.python import hashing
from modgraph.source import nodes

_CACHED = CACHED.name
known_class(_CACHED)
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
    return machine.allocate(InstanceObject(CACHED, held))


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


@models(f"{_CACHED}.__call__")
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
    why = _doubt(machine, receiver, size)
    lasts = why is None and known.open is None and (size == NONE or len(known.entries) < cast("Constant", size).value)
    if isinstance(made, Unknown):
        machine.may_refuse("TypeError")
        if not lasts:
            return _perhaps(machine, memory, made, call)
        like = _PERHAPS if arguments.open is not None else _perhaps_key(given, arguments)
        return _one_of_those_like(machine, memory, like, made, call)
    key: Value = made
    doubted = known.open is not None or any(map(_is_perhaps, known.entries))
    if doubted and (key not in known.entries or known.open is not None):
        same = _same_whenever_called(machine, known, function, given, arguments)
        if same is not None:
            return same
        if lasts:
            return _one_of_those_like(machine, memory, made, machine.unknown(_ASKED_BEFORE), call)
    if hashing.is_special(machine, key):
        certain = {each: value for each, value in known.entries.items() if not _is_perhaps(each)}
        if hashing.contains(machine, certain, key) is None:
            why = why or machine.unknown("whether two arguments are equal is not known")
        key = hashing.key_of(machine, certain, key) or key
    found = known.entries.get(key)
    if (
        (why is not None and known.entries)
        or (doubted and not lasts)
        or (found is not None and is_optional(found))
        or (found is None and known.open is not None)
    ):
        return _perhaps(machine, memory, why or known.open or machine.unknown(_ASKED_BEFORE, found or NONE), call)
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
    if isinstance(single, Constant) and (type(single.value) in (int, str) or as_size(single.value) is not None):
        return TupleValue((single,))
    parts = [TupleValue(tuple(map(_as_number, given)))]
    parts.extend(TupleValue((Constant(name), _as_number(each))) for name, each in arguments.keywords.items())
    if typed:
        parts.append(TupleValue(tuple(machine.class_of(each) for each in values)))
    return TupleValue(tuple(parts))


_ASKED_BEFORE = "whether a cached function was given the same before is not known"
_PERHAPS = TupleValue((CACHED,))
"""Begins the key of what was given for arguments that are not all known; no key of such as are begins so."""


def _perhaps_key(given: list[Value], arguments: Arguments) -> TupleValue:
    keywords = tuple(TupleValue((Constant(name), value)) for name, value in arguments.keywords.items())
    return TupleValue((*_PERHAPS.items, TupleValue(tuple(given)), *keywords))


def _is_perhaps(key: Value) -> bool:
    return isinstance(key, TupleValue) and key.items[:1] == _PERHAPS.items


def _may_match(machine: Machine, first: TupleValue, second: TupleValue) -> bool:
    """The same arguments may have made the two keys: none that is known differs, and none is given otherwise."""
    if _PERHAPS in (first, second):
        return True
    (mine, names), (other, others) = _parts(first), _parts(second)
    if len(mine) != len(other) or names != others:
        return False
    return all(hashing.same(machine, *pair) is not False for pair in zip(mine, other, strict=True))


def _parts(key: TupleValue) -> tuple[list[Value], list[Value]]:
    """The arguments of a key, and the names of those that have one."""
    items = key.items[1:] if _is_perhaps(key) else key.items
    first = items[0]
    if not isinstance(first, TupleValue):
        return [first], []
    named = [each.items for each in items[1:] if isinstance(each, TupleValue)]
    return [*map(_as_number, (*first.items, *(value for _, value in named)))], [name for name, _ in named]


def _one_of_those_like(
    machine: Machine, memory: Address, like: TupleValue, why: Unknown, call: Callable[[], Value]
) -> Value:
    """What is remembered for arguments that these may be, or what the function gives now. What is remembered stays."""
    known = machine.state.find(memory, DictObject)
    assert known is not None
    machine.spend(len(known.entries))
    held = [
        value
        for key, value in known.entries.items()
        if isinstance(key, TupleValue) and (_is_perhaps(like) or _is_perhaps(key)) and _may_match(machine, key, like)
    ]
    why = Unknown(why.reason, why.where)
    found = machine.fork([lambda: points_to.read(machine, why, held), call], why.reason) if held else call()
    machine.state.change(memory, DictObject).entries[like] = found
    return found


_PLAIN_FUNCTIONS = frozenset(["abs", "bool", "float", "int", "max", "min", "pow", "round"])


def _same_whenever_called(
    machine: Machine, known: DictObject, function: Value, given: list[Value], arguments: Arguments
) -> Value | None:
    """The number that a function gives for numbers, whenever it is called, and for numbers that are equal to these:
    whether it is remembered, and for which of them, is all one then. None where that is not so."""
    numbers = [each.value for each in given if type(each) is Constant and type(each.value) in (int, float)]
    if len(numbers) < len(given) or arguments.keywords or not _is_pure(machine, function):
        return None
    if any(abs(each) >= 2**50 for each in numbers):
        return None
    apart = [place for place, each in enumerate(numbers) if not _is_there_alone(known, place, each)]
    others = [
        [float(each) if at in places else each for at, each in enumerate(numbers)]
        for places in (apart, *([one] for one in apart))
    ]
    try:
        found = machine.call(function, given, {}, arguments.where)
        again = [machine.call(function, [*map(Constant, each)], {}, arguments.where) for each in others]
    except Raised:
        return None
    is_number = type(found) is Constant and type(found.value) in (int, float)
    return found if is_number and all(each == found for each in again) else None


def _is_there_alone(known: DictObject, place: int, number: float) -> bool:
    """All that was remembered for arguments not all known has this number there, and no other that is equal."""
    keys = [key for key in known.entries if isinstance(key, TupleValue) and _is_perhaps(key)]
    given = [key.items[1].items for key in keys if len(key.items) > 1 and isinstance(key.items[1], TupleValue)]
    is_whole = known.open is None and len(given) == len(keys)
    return is_whole and all(place < len(items) and items[place] == Constant(number) for items in given)


def _is_pure(machine: Machine, function: Value) -> bool:
    """All that it reads are its arguments, its own names and functions of Python's on numbers."""
    if not isinstance(function, FunctionValue) or function.closure is not None or function.wrapped is not None:
        return False
    definition = function.definition
    source = machine.finder.source(definition.module)
    names = _functions_called(definition.node)
    return source is not None and names is not None and not names & source.index.bound and not source.index.star_imports


@lru_cache(maxsize=256)
def _functions_called(node: nodes.FunctionDef | nodes.Lambda) -> frozenset[str] | None:
    """The functions that it calls; None where it reads, makes or does anything else."""
    own = {each.name for each in (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params)}
    called: set[str] = set()
    pending: list[nodes.Node] = [*nodes.body_of(node)]
    read: set[str] = set()
    while pending:
        part = pending.pop()
        if isinstance(part, _NOT_PURE):
            return None
        if isinstance(part, (nodes.Assign, nodes.AugAssign)):
            for target in part.targets if isinstance(part, nodes.Assign) else (part.target,):
                if not isinstance(target, nodes.Name):
                    return None
                own.add(target.value)
        if isinstance(part, nodes.Call) and isinstance(part.func, nodes.Name):
            called.add(part.func.value)
            pending.extend(each.value for each in part.args)
        elif isinstance(part, nodes.Name):
            read.add(part.value)
        else:
            pending.extend(part.children)
    return frozenset(called) if read <= own | {"None", "True", "False"} and called <= _PLAIN_FUNCTIONS - own else None


_NOT_PURE = (
    *(
        nodes.Attribute,
        nodes.Subscript,
        nodes.List,
        nodes.Dict,
        nodes.Set,
        nodes.Lambda,
        nodes.FunctionDef,
        nodes.ClassDef,
    ),
    *(
        nodes.Global,
        nodes.Nonlocal,
        nodes.Import,
        nodes.ImportFrom,
        nodes.With,
        nodes.Try,
        nodes.For,
        nodes.While,
        nodes.Await,
        nodes.Yield,
    ),
    *(nodes.SimpleComp, nodes.DictComp, nodes.FormattedString, nodes.Del),
    *(nodes.Match, nodes.OtherExpression, nodes.OtherStatement),
)


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
    if item is None or (not machine.module_depth and item.attributes["<asked at import>"] == FALSE):
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
        found = machine.fork([lambda: points_to.read(machine, why, held), call], why.reason)
    else:
        found = call()
    opened = machine.state.change(memory, DictObject)
    opened.open = points_to.either_of(opened.open or why, [*opened.entries.values(), found])
    opened.entries = {
        name: points_to.either_of(replace(why, optional=True), (each,)) for name, each in opened.entries.items()
    }
    return found


@models(f"{_CACHED}.cache_clear")
def clear(arguments: Arguments, machine: Machine) -> Value:
    item = machine.state.find(arguments.positional[0], InstanceObject)
    memory = item.attributes["<memory>"] if item is not None else None
    if isinstance(memory, Address):
        emptied = machine.state.change(memory, DictObject)
        emptied.entries, emptied.open = {}, None
    return NONE
