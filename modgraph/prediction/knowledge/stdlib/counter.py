"""collections.Counter: keys that are counted, of which those that are not there count zero.

Source: `collections.Counter` in Python's own library.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import ITEMS_OF_A_TUPLE, MAX_VALUE_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, IteratorObject, ListObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    NONE,
    NOT_IMPLEMENTED,
    Address,
    Choice,
    Constant,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.stdlib.iteration import pairs_of, prefix_of
from modgraph.prediction.knowledge.stdlib.mappings import COUNTER
from modgraph.prediction.python import items, keys
from modgraph.prediction.python.plain import number_unknown

_ZERO, _ONE = Constant(0), Constant(1)


@models(COUNTER)
def new(arguments: Arguments, machine: Machine) -> Value:
    address = machine.allocate(DictObject({}, cls=KnownClass(COUNTER)))
    _count(machine, address, "+", arguments.positional[:1], arguments)
    return address


@models(f"{COUNTER}.__init__", f"{COUNTER}.update", f"{COUNTER}.subtract")
def update(arguments: Arguments, machine: Machine) -> Value:
    """Adds counts, or takes them away; so does the constructor."""
    address = arguments.positional[0]
    assert isinstance(address, Address)
    _count(
        machine, address, "-" if arguments.function.endswith("subtract") else "+", arguments.positional[1:2], arguments
    )
    return NONE


def _count(machine: Machine, address: Address, symbol: str, given: Sequence[Value], arguments: Arguments) -> None:
    pairs: list[tuple[Value, Value]] = []
    why = arguments.open
    if given and given[0] != NONE:
        if machine.state.find(given[0], DictObject) is not None:
            pairs, found = pairs_of(machine, given[0])
        else:
            elements, found = prefix_of(machine, given[0])
            pairs = [(element, _ONE) for element in elements]
        why = why or found
    pairs.extend((Constant(name), value) for name, value in arguments.keywords.items())
    for key, count in pairs:
        target = machine.state.change(address, DictObject)
        key_ = keys.key_in(machine, target, key)
        if isinstance(key_, (Unknown, Choice)):
            why = why or machine.unknown("a key is not known", key_)
            continue
        before = target.entries.get(key_, _ZERO if target.open is None else target.open)
        after = machine.binary(symbol, before, count)
        machine.state.change(address, DictObject).entries[key_] = after
    if why is not None:
        target = machine.state.change(address, DictObject)
        target.open = target.open or why
        target.entries = dict.fromkeys(target.entries, number_unknown(machine, "a count is not known", why))


@models(f"{COUNTER}.__missing__")
def missing(arguments: Arguments, machine: Machine) -> Value:
    return _ZERO


@models(f"{COUNTER}.__delitem__")
def delete(arguments: Arguments, machine: Machine) -> Value:
    """A key that is not there is no error."""
    address, key = arguments.positional[0], arguments.get(1, "elem", NONE)
    held = machine.state.find(address, DictObject)
    known = held is not None and not isinstance(key, (Unknown, Choice))
    if held is None or not known or keys.find_entry(machine, held, key) is not None:
        items.own_delete(machine, address, key)
    return NONE


@models(f"{COUNTER}.fromkeys")
def from_keys(arguments: Arguments, machine: Machine) -> Value:
    raise machine.raises("NotImplementedError", "Counter.fromkeys() is undefined.  Use Counter(iterable) instead.")


# ---- what is in it ---------------------------------------------------------------------------------------------------


def _counts(machine: Machine, value: Value) -> dict[Value, int] | None:
    """What is counted; None where not all of it is known, or a count is no integer."""
    held = machine.state.find(value, DictObject)
    if held is None or held.unsure is not None:
        return None
    found = {
        key: count.value
        for key, count in held.entries.items()
        if isinstance(count, Constant) and isinstance(count.value, int)
    }
    return found if len(found) == len(held.entries) else None


@models(f"{COUNTER}.total")
def total(arguments: Arguments, machine: Machine) -> Value:
    counts = _counts(machine, arguments.positional[0])
    if counts is None:
        return number_unknown(machine, "counts are not known", arguments.positional[0])
    return Constant(sum(counts.values()))


@models(f"{COUNTER}.elements")
def elements(arguments: Arguments, machine: Machine) -> Value:
    counts = _counts(machine, arguments.positional[0])
    if counts is None or sum(max(count, 0) for count in counts.values()) > MAX_VALUE_SIZE:
        return machine.allocate(IteratorObject([], 0, _among_keys(machine, arguments, "counts are not known")))
    found = list(itertools.chain.from_iterable([key] * count for key, count in counts.items()))
    machine.makes(len(found))
    return machine.allocate(IteratorObject(found))


def _among_keys(machine: Machine, arguments: Arguments, reason: str, *causes: Value) -> Unknown:
    """Why it is not known which of its keys stand somewhere: a number that says which does not make numbers of them."""
    held = machine.state.find(arguments.positional[0], DictObject)
    there = () if held is None else (*held.entries, *(() if held.open is None else (held.open,)))
    return points_to.read(machine, machine.unknown(reason, *causes), there)


@models(f"{COUNTER}.most_common")
def most_common(arguments: Arguments, machine: Machine) -> Value:
    held = machine.state.find(arguments.positional[0], DictObject)
    assert held is not None
    counts = list(held.entries.values())
    if held.unsure is not None or not all(isinstance(count, Constant) for count in counts):
        return machine.allocate(ListObject([], _among_keys(machine, arguments, "counts are not known", *counts)))
    ordered = sorted(held.entries.items(), key=lambda item: -item[1].value if isinstance(item[1], Constant) else 0)
    limit = arguments.get(1, "n", NONE)
    if limit != NONE:
        if not isinstance(limit, Constant) or not isinstance(limit.value, int):
            machine.may_refuse("TypeError")
            why = _among_keys(machine, arguments, "how many counts are asked for is not known", limit)
            return machine.allocate(ListObject([], why))
        ordered = ordered[: max(0, limit.value)]
    machine.makes((ITEMS_OF_A_TUPLE + 2) * len(ordered))
    return machine.allocate(ListObject([TupleValue(pair) for pair in ordered]))


# ---- arithmetic: what is left are counts above zero ------------------------------------------------------------------


_COMBINED: dict[str, Callable[[int, int], int]] = {
    "__add__": lambda ours, theirs: ours + theirs,
    "__sub__": lambda ours, theirs: ours - theirs,
    "__or__": max,
    "__and__": min,
}


@models(*(f"{COUNTER}.{name}" for name in _COMBINED))
def combined(arguments: Arguments, machine: Machine) -> Value:
    """A new Counter of two."""
    one, other = arguments.positional[:2]
    if machine.is_instance(other, KnownClass(COUNTER)) is False:
        return NOT_IMPLEMENTED
    return _made(machine, last_name(arguments.function), one, other)


@models(f"{COUNTER}.__pos__", f"{COUNTER}.__neg__")
def signed(arguments: Arguments, machine: Machine) -> Value:
    empty = machine.allocate(DictObject({}, cls=KnownClass(COUNTER)))
    one = arguments.positional[0]
    pair = (one, empty) if arguments.function.endswith("__pos__") else (empty, one)
    return _made(machine, "__sub__", *pair)


def _made(machine: Machine, name: str, one: Value, other: Value) -> Value:
    found = _combination(machine, name, one, other)
    if found is None:
        why = points_to.read(machine, machine.unknown("counts are not known", one, other), (one, other))
        return machine.allocate(DictObject({}, why, KnownClass(COUNTER)))
    return machine.allocate(DictObject(found, None, KnownClass(COUNTER)))


def _combination(machine: Machine, name: str, one: Value, other: Value) -> dict[Value, Value] | None:
    ours, theirs = _counts(machine, one), _counts(machine, other)
    if ours is None or theirs is None:
        return None
    combine = _COMBINED[name]
    machine.makes(len(ours) + len(theirs))
    found = {key: combine(ours.get(key, 0), theirs.get(key, 0)) for key in (*ours, *theirs)}
    return {key: Constant(count) for key, count in found.items() if count > 0}


@models(*(f"{COUNTER}.__i{name[2:]}" for name in _COMBINED))
def changed(arguments: Arguments, machine: Machine) -> Value:
    """The receiver, with what two are combined to."""
    address, other = arguments.positional[:2]
    assert isinstance(address, Address)
    found = _combination(machine, last_name(arguments.function).replace("__i", "__", 1), address, other)
    if found is None:
        machine.expose([address], machine.unknown("counts are not known", other))
        return address
    machine.state.change(address, DictObject).entries = found
    return address
