"""What collections.abc gives the sequences and mappings that say how one item is read, set and deleted.

Source: `collections.abc` in Python's own library. What only reads is asked of a list of the items.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import IteratorObject, ListObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Constant, KnownClass, TupleValue, Unknown, Value
from modgraph.prediction.python import iteration

SEQUENCE, MUTABLE = "collections.abc.Sequence", "collections.abc.MutableSequence"
MAPPING = "collections.abc.MutableMapping"


def _all(machine: Machine, value: Value) -> Value:
    """A list of what the sequence holds, as its own `__iter__` or the places 0, 1, 2, ... give it."""
    return machine.allocate(ListObject(*_as_held(machine.iterate(value))))


def _as_held(items: list[Value] | Unknown) -> tuple[list[Value], Unknown | None]:
    """The items, and why there may be others."""
    return ([], items) if isinstance(items, Unknown) else (items, None)


@models(f"{SEQUENCE}.__iter__")
def iterator(arguments: Arguments, machine: Machine) -> Value:
    held, why = _as_held(iteration.by_place(machine, arguments.positional[0]))
    return machine.allocate(IteratorObject(held, open=why))


@models(f"{SEQUENCE}.__reversed__")
def backwards(arguments: Arguments, machine: Machine) -> Value:
    """The items at the places of `len`, whatever `__iter__` gives."""
    value = arguments.positional[0]
    size = machine.length(value)
    if isinstance(size, Unknown):
        return machine.allocate(IteratorObject(open=machine.unknown("its length is not known", size)))
    machine.makes(size)
    return machine.allocate(IteratorObject([machine.get_item(value, Constant(place)) for place in range(size)][::-1]))


@models(f"{SEQUENCE}.index", f"{SEQUENCE}.count")
def asked(arguments: Arguments, machine: Machine) -> Value:
    value, *given = arguments.positional
    method = machine.get_attribute(_all(machine, value), last_name(arguments.function))
    return machine.call(method, given, arguments.keywords, arguments.where)


@models(f"{SEQUENCE}.__contains__")
def contains(arguments: Arguments, machine: Machine) -> Value:
    value, wanted = arguments.positional[:2]
    return machine.compare("in", wanted, _all(machine, value))


# ---- what changes ----------------------------------------------------------------------------------------------------


def _method(machine: Machine, value: Value, name: str, *given: Value) -> Value:
    return machine.call(machine.get_attribute(value, name), given)


def _open(machine: Machine, arguments: Arguments, why: str, *causes: Value) -> Unknown:
    """What was changed is not known from here on."""
    unknown = machine.unknown(why, *causes)
    machine.expose(arguments.positional, unknown)
    machine.may_fail()
    return unknown


@models(f"{MUTABLE}.append")
def append(arguments: Arguments, machine: Machine) -> Value:
    value, new = arguments.positional[:2]
    size = machine.length(value)
    if isinstance(size, Unknown):
        return _open(machine, arguments, "where an item is put is not known", size)
    _method(machine, value, "insert", Constant(size), new)
    return NONE


@models(f"{MUTABLE}.extend", f"{MUTABLE}.__iadd__")
def extend(arguments: Arguments, machine: Machine) -> Value:
    value, further = arguments.positional[:2]
    items = machine.iterate(further)
    if isinstance(items, Unknown):
        return _open(machine, arguments, "which items are added is not known", items)
    for each in items:
        _method(machine, value, "append", each)
    return value if arguments.function.endswith("__iadd__") else NONE


@models(f"{MUTABLE}.pop")
def pop(arguments: Arguments, machine: Machine) -> Value:
    value, place = arguments.positional[0], arguments.get(1, "index", Constant(-1))
    found = machine.get_item(value, place)
    machine.delete_item(value, place)
    return found


@models(f"{MUTABLE}.remove")
def remove(arguments: Arguments, machine: Machine) -> Value:
    value, wanted = arguments.positional[:2]
    machine.delete_item(value, _method(machine, value, "index", wanted))
    return NONE


@models(f"{MUTABLE}.clear", f"{MUTABLE}.reverse")
def rearrange(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.positional[0]
    size = machine.length(value)
    if isinstance(size, Unknown):
        return _open(machine, arguments, "how many items there are is not known", size)
    machine.makes(size)
    if arguments.function.endswith("clear"):
        for _ in range(size):
            _method(machine, value, "pop")
        return NONE
    for low in range(size // 2):
        first, last = Constant(low), Constant(size - low - 1)
        one, other = machine.get_item(value, first), machine.get_item(value, last)
        machine.set_item(value, first, other)
        machine.set_item(value, last, one)
    return NONE


@models(f"{MAPPING}.pop", f"{MAPPING}.setdefault")
def taken(arguments: Arguments, machine: Machine) -> Value:
    """What stands under a key, which is gone then; or the default, which `setdefault` puts there."""
    value, key = arguments.positional[0], arguments.get(1, "key", NONE)
    pops = arguments.function.endswith("pop")
    default = arguments.get(2, "default", NONE)
    has_default = not pops or len(arguments.positional) > 2 or "default" in arguments.keywords
    doubts = machine.doubts
    try:
        found = machine.get_item(value, key)
    except Raised as raised:
        is_missing = machine.is_instance(raised.exception, KnownClass("builtins.KeyError"))
        if is_missing is False or not has_default:
            raise
        if not pops:
            machine.set_item(value, key, default)
        return default
    if machine.doubts > doubts:
        return _open(machine, arguments, "whether the key is there is not known")
    if pops:
        machine.delete_item(value, key)
    return found


@models(f"{MAPPING}.popitem", f"{MAPPING}.clear")
def emptied(arguments: Arguments, machine: Machine) -> Value:
    """The first pair that the mapping gives, or all of them."""
    value = arguments.positional[0]
    keys = machine.iterate(value)
    if isinstance(keys, Unknown):
        return _open(machine, arguments, "which keys there are is not known", keys)
    if arguments.function.endswith("clear"):
        for key in keys:
            machine.delete_item(value, key)
        return NONE
    if not keys:
        raise machine.raises("KeyError", "popitem(): mapping is empty")
    found = machine.get_item(value, keys[0])
    machine.delete_item(value, keys[0])
    return TupleValue((keys[0], found))


@models(f"{MAPPING}.update")
def update(arguments: Arguments, machine: Machine) -> Value:
    value, *given = arguments.positional
    pairs = _pairs(machine, given[0]) if given else []
    if isinstance(pairs, Unknown):
        return _open(machine, arguments, "what a mapping is given is not known", pairs)
    for key, item in pairs:
        machine.set_item(value, key, item)
    for name, item in arguments.keywords.items():
        machine.set_item(value, Constant(name), item)
    return NONE


def _pairs(machine: Machine, given: Value) -> list[tuple[Value, Value]] | Unknown:
    """Those of a mapping, or of an iterable of pairs."""
    has_keys = machine.find_attribute(given, "keys")
    if isinstance(has_keys, Unknown):
        return has_keys
    found = machine.iterate(given if has_keys is None else machine.call(has_keys))
    if isinstance(found, Unknown):
        return found
    if has_keys is not None:
        return [(key, machine.get_item(given, key)) for key in found]
    pairs: list[tuple[Value, Value]] = []
    for each in found:
        row = machine.iterate(each)
        if isinstance(row, Unknown):
            return row
        if len(row) != 2:
            raise machine.raises("ValueError", "a pair is of two items")
        pairs.append((row[0], row[1]))
    return pairs
