"""functools.lru_cache and cache: the same arguments give the same object again."""

from __future__ import annotations

from modgraph.prediction.knowledge.registry import Arguments, Machine, known_class, models
from modgraph.prediction.objects import DictObject, InstanceObject
from modgraph.prediction.values import (
    NONE,
    Address,
    Choice,
    Constant,
    KnownClass,
    KnownFunction,
    TupleValue,
    Unknown,
    Value,
)

CACHED = "functools._lru_cache_wrapper"
known_class(CACHED)


@models("functools.cache", "functools._cached")
def cached(arguments: Arguments, machine: Machine) -> Value:
    """The function with a memory of what it gave."""
    function = arguments.positional[0]
    memory = machine.allocate(DictObject())
    return machine.allocate(InstanceObject(KnownClass(CACHED), {"__wrapped__": function, "<memory>": memory}))


@models("functools.lru_cache")
def with_size(arguments: Arguments, machine: Machine) -> Value:
    """With or without arguments; nothing is forgotten here, as a constructor asks for few."""
    given = arguments.positional
    if given and not isinstance(given[0], Constant):
        return cached(arguments, machine)
    return KnownFunction("functools._cached")


@models(f"{CACHED}.__call__")
def recalled(arguments: Arguments, machine: Machine) -> Value:
    receiver, *given = arguments.positional
    item = machine.state.find(receiver, InstanceObject)
    assert item is not None
    function, memory = item.attributes["__wrapped__"], item.attributes["<memory>"]
    known = machine.state.find(memory, DictObject)
    values = (*given, *arguments.keywords.values())
    if known is None or arguments.open is not None or any(isinstance(each, (Unknown, Choice)) for each in values):
        return machine.call(function, given, arguments.keywords, arguments.where)
    key = TupleValue((*given, *(TupleValue((Constant(name), each)) for name, each in arguments.keywords.items())))
    found = known.entries.get(key)
    if found is None:
        found = machine.call(function, given, arguments.keywords, arguments.where)
        assert isinstance(memory, Address)
        machine.state.change(memory, DictObject).entries[key] = found
    return found


@models(f"{CACHED}.cache_clear")
def clear(arguments: Arguments, machine: Machine) -> Value:
    item = machine.state.find(arguments.positional[0], InstanceObject)
    memory = item.attributes["<memory>"] if item is not None else None
    if isinstance(memory, Address):
        machine.state.change(memory, DictObject).entries.clear()
    return NONE
