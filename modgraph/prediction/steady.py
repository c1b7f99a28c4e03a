"""Walks over what may not change its size meanwhile: dicts, their views, sets, the stores of modules."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import cast

from modgraph.prediction import items
from modgraph.prediction.knowledge.registry import Machine
from modgraph.prediction.objects import DictObject, ModuleObject, SetObject, ViewObject
from modgraph.prediction.values import (
    OPEN,
    Address,
    Constant,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)

VIEWED = "<viewed>"
"""Attribute of the keys, values or items of a dict: the dict."""
VIEWS = tuple(KnownClass(f"builtins.dict_{kind}") for kind in ("keys", "values", "items"))


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
        now = keys_of(machine, watched)
        if now != before:
            if isinstance(now, Unknown) or isinstance(before, Unknown):
                return now if isinstance(now, Unknown) else None
            if len(now) != len(before):
                raise machine.raises("RuntimeError", f"{kind} changed size during iteration")
            machine.may_refuse("RuntimeError")
            return machine.unknown(f"a {kind.lower()} whose keys change while it is walked is not followed")
        if place < len(found):
            yield found[place] if view is None else _seen(machine, watched, found[place], view)
    return None


def _shown(machine: Machine, view: ViewObject) -> dict[str, Value] | None:
    """What the `__dict__` of an object shows now; None of one that is not known by address."""
    owner, store = view.attributes.get(items.VIEW_OF), view.attributes.get(items.VIEW_STORE)
    if not isinstance(owner, Address) or not isinstance(store, Constant):
        return None
    return cast("dict[str, Value]", getattr(machine.state.read(owner), store.value))


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
        return replace(unsure, optional=False) if isinstance(unsure, Unknown) else list(map(Constant, entries))
    item = machine.state.read(watched) if isinstance(watched, Address) else None
    if isinstance(item, ViewObject) and (shown := _shown(machine, item)) is not None:
        return item.unsure or list(map(Constant, shown))
    if isinstance(item, DictObject):
        return item.unsure or list(item.entries)
    if isinstance(item, SetObject):
        return item.open or list(item.items)
    return []
