"""Walks over what may not change its size meanwhile: dicts, their views, sets, the stores of modules."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any, cast

from modgraph.prediction.domain.dict_views import VIEWS
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import VIEW_OF, VIEW_STORE, DictObject, ModuleObject, SetObject, ViewObject
from modgraph.prediction.domain.values import (
    OPEN,
    Address,
    Constant,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.python import inner_stores, orders, slots
from modgraph.prediction.python.may_items import Perhaps


def walked(
    machine: Machine, watched: Value | None, found: list[Value], why: Unknown | None, view: Value | None = None
) -> Generator[Value, None, Unknown | None]:
    """The items of a dict or set, as long as nothing is added to it or taken from it; of the keys that were found, what
    the view shows of them."""
    if why is not None:
        return why
    before = keys_of(machine, watched)
    kind = "Set" if machine.state.find(watched, SetObject) is not None else "dictionary"
    for place in range(len(found) + 1):
        now = before if _is_as_before(machine, watched, before, place) else keys_of(machine, watched)
        if now != before:
            if isinstance(now, Unknown) or isinstance(before, Unknown):
                machine.may_refuse("RuntimeError")
                return now if isinstance(now, Unknown) else None
            if len(now) != len(before):
                raise machine.raises("RuntimeError", f"{kind} changed size during iteration")
            machine.may_refuse("RuntimeError")
            return machine.unknown(f"a {kind.lower()} whose keys change while it is walked is not followed")
        if place < len(found):
            yield found[place] if view is None else _seen(machine, watched, found[place], view)
    return None


def walked_in_part(machine: Machine, watched: Value, view: Value) -> Generator[Value, None, Unknown | None]:
    """The same of a dict in which some keys are on some paths only: these are `Perhaps`."""
    held = machine.state.find(watched, DictObject)
    keys = list(held.entries) if held is not None else []
    for key in keys:
        if held is None or held.open is not None or len(held.entries) != len(keys) or key not in held.entries:
            break
        value = held.entries[key]
        seen = _seen(machine, watched, key, view)
        yield Perhaps(seen, value) if isinstance(value, Unknown) and value.optional else seen
        held = machine.state.find(watched, DictObject)
    if held is not None and held.open is None and list(held.entries) == keys:
        return None
    machine.may_refuse("RuntimeError")
    return machine.unknown("a dictionary whose keys change while it is walked is not followed")


def _is_as_before(machine: Machine, watched: Value | None, before: list[Value] | Unknown, place: int) -> bool:
    """Whether what is walked has the keys that it had, in the midst of a walk: its size, the key that comes next and
    the last one are looked at, as Python adds at the end. At both ends of the walk all of them are."""
    held = _entries(machine, watched)
    if held is None or isinstance(before, Unknown) or place in (0, len(before)) or len(held) != len(before):
        return False
    last = next(reversed(held))
    return before[-1] == (Constant(last) if isinstance(last, str) else last) and not any(
        is_optional(held[key]) if key in held else True for key in (last, _key(held, before[place]))
    )


def _key(held: Mapping[Any, Any], key: Value) -> Any:
    """As the entries of a dict have it, or those of what shows names."""
    return key.value if isinstance(key, Constant) and key not in held else key


def _entries(machine: Machine, watched: Value | None) -> Mapping[Any, Any] | None:
    """What is walked, as it is now; None where that may have other keys."""
    if isinstance(watched, TupleValue):
        owner, store = watched.items
        module = machine.state.find(owner, ModuleObject)
        if module is None or not isinstance(store, Constant) or orders.of(module, store.value) is not None:
            return None
        found: dict[str, Value] = getattr(module, store.value)
        return None if OPEN in found else found
    item = machine.state.read(watched) if isinstance(watched, Address) else None
    if isinstance(item, ViewObject) and (shown := _shown(machine, item)) is not None:
        return shown if item.open is None and _shuffled(machine, item) is None else None
    if isinstance(item, (DictObject, SetObject)):
        held = item.entries if isinstance(item, DictObject) else item.items
        return held if item.open is None else None
    return None


def _shown(machine: Machine, view: ViewObject) -> Mapping[str, Value] | None:
    """What the `__dict__` of an object shows now; None of one that is not known by address."""
    owner, store = view.attributes.get(VIEW_OF), view.attributes.get(VIEW_STORE)
    if not isinstance(owner, Address) or not isinstance(store, Constant):
        return None
    item = machine.state.read(owner)
    held = cast("dict[str, Value]", getattr(item, store.value))
    if store.value != "attributes":
        return held
    return inner_stores.whole(machine, owner, slots.in_dict(machine, item, held))


def _shuffled(machine: Machine, view: ViewObject) -> Unknown | None:
    """Why the order is not known, by now, of what it shows."""
    owner, store = view.attributes.get(VIEW_OF), view.attributes.get(VIEW_STORE)
    if not isinstance(owner, Address) or not isinstance(store, Constant):
        return None
    return orders.of(machine.state.read(owner), str(store.value))


def _seen(machine: Machine, watched: Value | None, key: Value, view: Value) -> Value:
    """What keys, values or items of a dict show of an entry."""
    if isinstance(watched, TupleValue):
        owner, store = watched.items
        assert isinstance(key, Constant)
        value: Value = getattr(machine.state.find(owner, ModuleObject), str(getattr(store, "value", "")))[key.value]
    else:
        held = machine.state.find(watched, DictObject)
        assert held is not None
        shown = _shown(machine, held) if isinstance(held, ViewObject) else None
        value = held.entries[key] if shown is None or not isinstance(key, Constant) else shown[key.value]
    return key if view == VIEWS[0] else value if view == VIEWS[1] else TupleValue((key, value))


def keys_of(machine: Machine, watched: Value | None) -> list[Value] | Unknown:
    if isinstance(watched, TupleValue):
        owner, store = watched.items
        module = machine.state.find(owner, ModuleObject)
        entries: dict[str, Value] = getattr(module, store.value) if isinstance(store, Constant) else {}
        unsure = next((each for name, each in entries.items() if name == OPEN or is_optional(each)), None)
        if unsure is None and isinstance(store, Constant):
            unsure = orders.of(module, str(store.value))
        return replace(unsure, optional=False) if isinstance(unsure, Unknown) else list(map(Constant, entries))
    item = machine.state.read(watched) if isinstance(watched, Address) else None
    if isinstance(item, ViewObject) and (shown := _shown(machine, item)) is not None:
        return item.unsure or _shuffled(machine, item) or list(map(Constant, shown))
    if isinstance(item, DictObject):
        return item.unsure or list(item.entries)
    if isinstance(item, SetObject):
        return item.open or list(item.items)
    return []
