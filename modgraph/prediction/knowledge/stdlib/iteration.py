"""What is certain of an index, a slice, an iterable or a mapping that was given as an argument."""

from __future__ import annotations

import itertools
from dataclasses import replace

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import MIXED, DictObject, IteratorObject, ListObject, ModuleObject
from modgraph.prediction.domain.values import (
    OPEN,
    Address,
    Constant,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.paths.partial_texts import plainly
from modgraph.prediction.python import attributes
from modgraph.prediction.python.producing import drain


def openness(module: ModuleObject) -> Unknown | None:
    """Why other children may stand in it, or in another order; None where all are known."""
    why = missing(module)
    return points_to.either_of(module.mixed, module.modules.values()) if why is None and module.mixed else why


def missing(module: ModuleObject) -> Unknown | None:
    """Why further children may stand in it, or some of them may not."""
    why = module.modules.get(OPEN)
    if not isinstance(why, Unknown):
        why = next((each for each in module.modules.values() if isinstance(each, Unknown) and each.optional), None)
    return None if why is None else points_to.either_of(plainly(why), module.modules.values())


def own(machine: Machine, address: Value, method: str, *arguments: Value) -> Value:
    """`self.method(...)`, which a subclass may have overridden."""
    return machine.call(machine.get_attribute(address, method), arguments)


def index_of(value: Value) -> int | None:
    """A known index; None where it is not known."""
    if isinstance(value, Constant) and isinstance(value.value, int):
        return int(value.value)
    return None


def slice_of(value: SliceValue) -> slice | None:
    """A Python slice; None where a bound is not known."""
    bounds = (value.lower, value.upper, value.step)
    if not all(isinstance(bound, Constant) for bound in bounds):
        return None
    return slice(*(bound.value for bound in bounds if isinstance(bound, Constant)))


def certain_children(module: ModuleObject) -> list[Value]:
    """Those that certainly stand first, up to where it is open or one is there on some paths only."""
    if module.mixed is not None:
        return []
    found = itertools.takewhile(lambda entry: entry[0] != OPEN and not is_optional(entry[1]), module.modules.items())
    return [child for _, child in found]


def prefix_of(machine: Machine, value: Value) -> tuple[list[Value], Unknown | None]:
    """The items that an iterable certainly gives first, and why further ones may follow."""
    listed = machine.state.find(value, ListObject)
    if listed is not None and listed.open is not None:
        return list(listed.items), listed.open
    module = machine.state.find(value, ModuleObject)
    if module is not None and (why := openness(module)) is not None:
        return certain_children(module), why
    iterator = machine.state.find(value, IteratorObject)
    if iterator is not None and isinstance(value, Address):
        return drain(machine, value)
    items = machine.iterate(value)
    return ([], items) if isinstance(items, Unknown) else (items, None)


def _in_any_place(held: DictObject, why: Unknown) -> list[tuple[Value, Value]]:
    """Entries whose order is not known, as such that may not be there."""
    absent = replace(why, optional=True)
    return [(key, points_to.either_of(absent, (value,))) for key, value in held.entries.items()]


def pairs_of(machine: Machine, given: Value) -> tuple[list[tuple[Value, Value]], Unknown | None]:
    """(key, value) of a mapping or of an iterable of pairs, and why there may be more."""
    entries = machine.state.find(given, DictObject)
    if entries is not None:
        if MIXED in entries.attributes and entries.open is not None:
            return _in_any_place(entries, entries.open), entries.open
        return list(entries.entries.items()), entries.open
    if isinstance(given, Unknown):
        return [], given
    if attributes.found(machine, given, "items") is not None:
        given = own(machine, given, "items")
    first, why = prefix_of(machine, given)
    pairs: list[tuple[Value, Value]] = []
    for item in first:
        pair = list(item.items) if isinstance(item, TupleValue) else machine.iterate(item)
        if isinstance(pair, Unknown):
            return pairs, pair
        if len(pair) != 2:
            raise machine.raises("ValueError", f"an element of the sequence has length {len(pair)}; 2 is required")
        pairs.append((pair[0], pair[1]))
    return pairs, why
