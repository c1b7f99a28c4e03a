"""Attributes that are set on what is no object of the heap (functions, partials, members of an Enum), and those by
which a function or class becomes another: what is called or asked for then is not known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, DictObject, HeapObject
from modgraph.prediction.domain.values import (
    NONE,
    OPEN,
    Address,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    PartialValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import partial_texts

_MAKING = ("__code__", "__defaults__", "__kwdefaults__", "__closure__")
_KEYWORDS = "<keywords>"
_REBUILT = "<rebuilt>"
_DEFAULTS = "<kept defaults>"


def _owner(value: Value) -> str:
    """Under what the attributes of such a value are kept; partials have no identity here, so one stands for all."""
    if isinstance(value, FunctionValue):
        definition = value.definition
        line = definition.parsed.line(definition.statement)
        return f"<{definition.module}.{definition.qualname} {line}>"
    if isinstance(value, EnumMember):
        return f"<member {value.cls.address.index}.{value.name}>"
    return "<partials>"


def _of_one(value: Value) -> str:
    """The same of one of the functions that a `def` makes whenever it is come to."""
    owner = _owner(value)
    if not isinstance(value, FunctionValue) or (value.closure is None and not value.turn):
        return owner
    return f"{owner} {value.closure.index if value.closure is not None else ''} {value.turn}"


def store(machine: Machine, value: FunctionValue | EnumMember | PartialValue, name: str, new: Value) -> None:
    if isinstance(value, PartialValue):
        new = points_to.either_of(machine.unknown("which partial an attribute was set on is not followed", new), (new,))
    _note(machine, name)
    owner = _of_one(value)
    if owner != _owner(value):
        why = machine.unknown("on which function of a `def` an attribute was set is not known", new)
        machine.state.globals[(_owner(value), name)] = points_to.either_of(why, (new,))
    machine.state.globals[(owner, name)] = new


def _note(machine: Machine, name: str) -> None:
    if name in _MAKING:
        machine.caches.remade = True


def stored(machine: Machine, value: Value, name: str) -> Value | None:
    """What was set; None where nothing was."""
    if not machine.state.globals and not machine.base.globals:
        return None
    owner = _owner(value)
    for key in ((_of_one(value), name), (owner, name), (owner, OPEN)):
        found = machine.state.bound(key)
        if found is not None:
            return found
    return None


def store_unknown(machine: Machine, value: FunctionValue | EnumMember | PartialValue, why: Unknown, new: Value) -> None:
    """setattr(value, ?, new): each attribute that it has may be the new one."""
    state, owners = machine.state, {_owner(value), _of_one(value)}
    for bound in (machine.base.globals, dict(state.globals)):
        for (owner, name), held in bound.items():
            if owner in owners and name != OPEN and partial_texts.may_be(why, name):
                state.globals[(owner, name)] = points_to.either_of(why, (held, new))
    for owner in owners:
        state.globals[(owner, OPEN)] = replace(points_to.either_of(partial_texts.plainly(why), (new,)), optional=True)


def opened(machine: Machine, function: FunctionValue) -> Unknown:
    """Its `__dict__`: what is written there may be any attribute."""
    why = machine.unknown("what is written to the __dict__ of a function is not followed")
    store_unknown(machine, function, why, NONE)
    machine.state.globals[(_owner(function), OPEN)] = why
    return why


def kept_defaults(machine: Machine, function: FunctionValue, entries: dict[Value, Value]) -> Value:
    """Its `__kwdefaults__`, one dict that is kept: who changes it changes what a call of the function runs."""
    key = (_owner(function), _DEFAULTS)
    held = machine.state.bound(key)
    if held is None:
        machine.caches.remade = True
        held = machine.state.globals[key] = machine.allocate(DictObject(entries))
    return held


def _has_other_defaults(machine: Machine, function: FunctionValue) -> bool:
    kept_dict = machine.state.bound((_owner(function), _DEFAULTS))
    held = machine.state.find(kept_dict, DictObject)
    if held is None:
        return kept_dict is not None
    own = dict(function.defaults)
    names = {key.value for key in held.entries if isinstance(key, Constant)}
    return (
        held.unsure is not None
        or any(own.get(str(name)) != held.entries[Constant(name)] for name in names)
        or len(names) != len(held.entries)
    )


def cells(machine: Machine, function: FunctionValue) -> Unknown:
    """Its `__closure__`: what is written there is what its names are."""
    why = machine.unknown("the cells of a function are not followed")
    _note(machine, "__closure__")
    machine.state.globals[(_owner(function), "__closure__")] = why
    return why


def remade(machine: Machine, function: FunctionValue) -> Unknown | None:
    """Why a call of it runs something else than its `def` says."""
    if not machine.caches.remade:
        return None
    if _has_other_defaults(machine, function):
        return machine.unknown(f"{function.name} whose __kwdefaults__ may be another is not followed")
    owner = _owner(function)
    for name in _MAKING:
        new = machine.state.bound((owner, name))
        if new is not None:
            return machine.unknown(f"{function.name} whose {name} may be another is not followed", new)
    return None


def kept(machine: Machine, cls: ClassValue, name: str, make: Callable[[], HeapObject]) -> Value:
    """A dict of a class that is made when it is asked for first, and is the same from then on."""
    key = (f"<class {cls.address.index}>", name)
    found = machine.state.globals.get(key)
    if found is None:
        found = machine.state.globals[key] = machine.allocate(make())
    return found


def keywords_of(machine: Machine, value: PartialValue) -> Address | Unknown:
    """Its `keywords`, a dict that is kept: who changes it changes the partial."""
    if (why := has_other_keywords(machine, value)) is not None:
        return why
    held = machine.allocate(DictObject({Constant(key): item for key, item in value.keywords}))
    machine.state.globals[(_KEYWORDS, str(held.index))] = value
    return held


def rebuilt(machine: Machine, value: PartialValue, name: str) -> Unknown:
    """A method that gives a partial another state, or hands its own one out, as `copy` and `pickle` ask for it."""
    why = machine.unknown(f"{name} of a partial is not followed")
    machine.state.globals[(_REBUILT, str(machine.base.next_index))] = value
    return why


def has_other_keywords(machine: Machine, value: PartialValue) -> Unknown | None:
    """Why an equal partial may have other keywords than it was made with."""
    for (owner, index), made in (*machine.base.globals.items(), *machine.state.globals.items()):
        if owner == _REBUILT and (made == value or isinstance(made, Unknown)):
            return machine.unknown("a partial that was given another state is not followed")
        if owner == _KEYWORDS and (made == value or isinstance(made, Unknown)):
            held = machine.state.find(Address(int(index)), DictObject)
            if held is None or held.unsure or held.entries != {Constant(key): item for key, item in value.keywords}:
                return machine.unknown("the keywords of a partial that were changed are not followed")
    return None


def replace_bases(machine: Machine, cls: ClassValue, new: Value) -> None:
    """`cls.__bases__ = new`."""
    why = machine.unknown("the bases of a class that were replaced are not followed", new)
    item = machine.state.change(cls.address, ClassObject)
    item.bases, item.mro = (why,), (cls, why)
