"""Writes under a key, index or name that is not known: each entry that stands there may be the new one afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from modgraph.prediction import classes, partial_texts, registration
from modgraph.prediction.objects import ClassObject, DictObject, InstanceObject, ListObject, ModuleObject, TensorObject
from modgraph.prediction.values import (
    OPEN,
    Address,
    Choice,
    ClassMethod,
    ClassValue,
    FunctionValue,
    PropertyValue,
    StaticMethod,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.knowledge.registry import Machine
    from modgraph.prediction.machine import Interpreter

_METHODS = (FunctionValue, StaticMethod, ClassMethod, PropertyValue)


def set_entry(machine: Interpreter, mapping: DictObject, why: Unknown, new: Value) -> None:
    """mapping[?] = new."""
    mapping.open = mapping.open or partial_texts.plainly(why)
    mapping.entries = {
        key: _either(machine, held, new, why) if partial_texts.may_be_key(why, key) else held
        for key, held in mapping.entries.items()
    }


def set_item(machine: Interpreter, sequence: ListObject, why: Unknown, new: Value) -> None:
    """sequence[?] = new."""
    sequence.items = [_either(machine, held, new, why) for held in sequence.items]


def set_name(machine: Interpreter, value: Value, why: Unknown, new: Value) -> None:
    """setattr(value, ?, new)."""
    if isinstance(value, Choice):
        machine.on_each(value, lambda each: set_name(machine, each, why, new))
    elif isinstance(value, ClassValue):
        _set_in_class(machine, value, why, new)
    elif isinstance(value, Address):
        item = machine.state.read(value)
        if isinstance(item, ModuleObject):
            set_in_module(machine, value, why, new)
        elif isinstance(item, InstanceObject):
            _set_in_instance(machine, value, why, new)
        elif isinstance(item, TensorObject):
            machine.expose([value], why)


def set_in_module(machine: Interpreter, value: Address, why: Unknown, new: Value) -> None:
    """The store that takes such a value is open, each child may be the new one; a parameter takes the name away from
    the modules."""
    registration.assign_unknown_name(machine, value, new, why)
    module = machine.state.change(value, ModuleObject)
    kind = registration.kind_of(machine, new)
    if kind in ("parameter", "unknown"):
        for store in (module.modules, module.parameters):
            _may_be_gone(store, why)
    elif kind == "module":
        children = {name: module.modules[name] for name in _that_may_be(module.modules, why)}
        module.modules.update({name: _either(machine, child, new, why) for name, child in children.items()})
    _replace_attributes(module, why)


def _that_may_be(entries: dict[str, Value], why: Unknown) -> list[str]:
    """The names among the entries that the one that is not known may be."""
    return [name for name in entries if name != OPEN and partial_texts.may_be(why, name)]


def _may_be_gone(entries: dict[str, Value], why: Unknown) -> None:
    absent = replace(why, optional=True, text=None)
    entries.update(dict.fromkeys(_that_may_be(entries, why), absent))


def _replace_attributes(module: ModuleObject, why: Unknown) -> None:
    module.attributes.update(dict.fromkeys(_that_may_be(module.attributes, why), partial_texts.plainly(why)))


def delete_name(machine: Interpreter, value: Value, why: Unknown) -> None:
    """delattr(value, ?)."""
    item = machine.state.find(value, ModuleObject) or machine.state.find(value, InstanceObject)
    if item is None or why.text is None or not isinstance(value, Address):
        machine.expose([value], why)
        return
    machine.may_fail("AttributeError")
    changed = machine.state.change(value, type(item))
    _may_be_gone(changed.attributes, why)
    if isinstance(changed, ModuleObject):
        for store in (changed.modules, changed.parameters, changed.buffers):
            _may_be_gone(store, why)


def set_in_dict(machine: Machine, value: Address, why: Unknown, new: Value) -> None:
    """value.__dict__[?] = new, which registers nothing."""
    item = machine.state.read(value)
    if isinstance(item, ModuleObject) and (item.open is None or item.open.text is not None):
        module = machine.state.change(value, ModuleObject)
        module.open = partial_texts.opened(module.open, why)
        _replace_attributes(module, why)
    elif isinstance(item, InstanceObject) and (item.open is None or new is not why):
        _set_in_instance(cast("Interpreter", machine), value, why, new)


def _set_in_instance(machine: Interpreter, value: Address, why: Unknown, new: Value) -> None:
    """What the class holds under a name may be hidden by what the instance has now."""
    item = machine.state.change(value, InstanceObject)
    item.open = partial_texts.opened(item.open, why)
    changed = {name: item.attributes[name] for name in _that_may_be(item.attributes, why)}
    held = {**item.attributes, **{name: _either(machine, each, new, why) for name, each in changed.items()}}
    hidden: dict[str, Value] = {}
    for base in machine.mro(item.cls):
        if isinstance(base, ClassValue):
            names = [name for name in _data_names(machine, base) if partial_texts.may_be(why, name)]
            hidden.update(dict.fromkeys(names, replace(why, optional=True, text=None)))
    item.attributes = {**held, **{name: each for name, each in hidden.items() if name not in held}}


def _set_in_class(machine: Interpreter, cls: ClassValue, why: Unknown, new: Value) -> None:
    """A method may have taken the place of a method, a value that of a value."""
    is_method = isinstance(new, _METHODS)
    for name in _names(machine, cls):
        held = classes.own_attribute(machine, cls, name)
        may_be = isinstance(new, (Unknown, Choice)) or isinstance(held, _METHODS) == is_method
        if held is not None and may_be and not name.startswith("__") and partial_texts.may_be(why, name):
            machine.state.change(cls.address, ClassObject).namespace[name] = _either(machine, held, new, why)


def _data_names(machine: Interpreter, cls: ClassValue) -> list[str]:
    """Names in the namespace of a class that no method or property stands under."""
    found = {name: classes.own_attribute(machine, cls, name) for name in _names(machine, cls)}
    return [name for name, held in found.items() if not isinstance(held, _METHODS) and not name.startswith("__")]


def _names(machine: Interpreter, cls: ClassValue) -> list[str]:
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    return list(dict.fromkeys([*(item.definition.statements if item.definition is not None else ()), *item.namespace]))


def _either(machine: Interpreter, held: Value, new: Value, why: Unknown) -> Value:
    """What was there, or the new one."""
    if isinstance(held, Unknown):
        return held
    return machine.choice([held, new], why.reason)
