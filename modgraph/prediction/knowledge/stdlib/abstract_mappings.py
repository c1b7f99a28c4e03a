"""What collections.abc.Mapping gives every mapping that says how it is walked through and what stands under a key.

Source: `collections.abc.Mapping` in Python's own library.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.limits import ITEMS_OF_A_TUPLE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ListObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Constant, KnownClass, TupleValue, Unknown, Value

MAPPING = "collections.abc.Mapping"


@models(f"{MAPPING}.keys", f"{MAPPING}.values", f"{MAPPING}.items")
def view(arguments: Arguments, machine: Machine) -> Value:
    """A snapshot, as of a dict; a view of a mapping that changes later is not followed."""
    receiver = arguments.positional[0]
    method = last_name(arguments.function)
    keys = machine.iterate(receiver)
    shown = KnownClass(f"builtins.dict_{method}")
    if isinstance(keys, Unknown):
        return machine.allocate(ListObject([], keys, shown))
    if method == "keys":
        return machine.allocate(ListObject(keys, None, shown))
    values = [machine.get_item(receiver, key) for key in keys]
    if method == "values":
        return machine.allocate(ListObject(values, None, shown))
    machine.makes((ITEMS_OF_A_TUPLE + 2) * len(keys))
    pairs: list[Value] = [TupleValue(pair) for pair in zip(keys, values, strict=True)]
    return machine.allocate(ListObject(pairs, None, shown))


@models(f"{MAPPING}.get", f"{MAPPING}.__contains__")
def get(arguments: Arguments, machine: Machine) -> Value:
    """What stands under a key, or the default; whether there is something."""
    receiver, key = arguments.positional[0], arguments.get(1, "key", NONE)
    asks = arguments.function.endswith("__contains__")
    default = FALSE if asks else arguments.get(2, "default", NONE)
    doubts = machine.doubts
    try:
        found = machine.get_item(receiver, key)
    except Raised as raised:
        if machine.is_instance(raised.exception, KnownClass("builtins.KeyError")) is False:
            raise
        return default
    if machine.doubts > doubts:
        return machine.choice((TRUE if asks else found, default), "it is not known whether the key is there")
    return TRUE if asks else found


@models(f"{MAPPING}.__eq__")
def equals(arguments: Arguments, machine: Machine) -> Value:
    """Two mappings with equal items are equal, of whichever class they are."""
    receiver, other = arguments.positional[:2]
    is_mapping = machine.is_instance(other, KnownClass(MAPPING))
    if is_mapping is False:
        return Constant(NotImplemented)
    pairs = [machine.call(KnownClass("builtins.dict"), (each,)) for each in (receiver, other)] if is_mapping else []
    verdict = machine.equal(*pairs) if pairs else None
    return machine.unknown("whether mappings are equal is not known", other) if verdict is None else Constant(verdict)


_OF_SETS = ("__eq__", "__le__", "__lt__", "__ge__", "__gt__", "__and__", "__or__", "__sub__", "__xor__", "isdisjoint")


@models(*(f"collections.abc.Set.{name}" for name in _OF_SETS))
def compared(arguments: Arguments, machine: Machine) -> Value:
    """Of a set that says how it is walked through: what is made of two is not followed."""
    return machine.unknown(f"{last_name(arguments.function)} of a set written in Python is not followed")
