"""Writes under a key, index or name that is not known: each entry that stands there may be the new one afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.objects import (
    ClassObject,
    DictObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    OPEN,
    Address,
    BoundMethod,
    Choice,
    ClassMethod,
    ClassValue,
    EnumMember,
    FunctionValue,
    KnownClass,
    KnownFunction,
    ModuleReference,
    PartialValue,
    PropertyValue,
    StaticMethod,
    Unknown,
    Value,
)
from modgraph.prediction.paths import partial_texts, several
from modgraph.prediction.python import classes, patched_classes, registration, stored_attributes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_METHODS = (FunctionValue, StaticMethod, ClassMethod, PropertyValue)


def set_entry(machine: Machine, mapping: DictObject, why: Unknown, new: Value) -> None:
    """mapping[?] = new."""
    machine.base.work += len(mapping.entries)
    rest = points_to.further if mapping.open is None else points_to.either_of
    mapping.open = rest(mapping.open or partial_texts.plainly(why), (new,))
    mapping.entries = {
        key: _either(machine, held, new, why) if partial_texts.may_be_key(why, key) else held
        for key, held in mapping.entries.items()
    }


def set_item(machine: Machine, sequence: ListObject, why: Unknown, new: Value) -> None:
    """sequence[?] = new."""
    machine.base.work += len(sequence.items)
    sequence.items = [_either(machine, held, new, why) for held in sequence.items]
    if sequence.open is not None:  # it may be one of those behind
        sequence.open = points_to.either_of(sequence.open, [new])


def set_name(machine: Machine, value: Value, why: Unknown, new: Value) -> None:
    """setattr(value, ?, new)."""
    if isinstance(value, Choice):
        machine.on_each(value, lambda each: set_name(machine, each, why, new))
    elif isinstance(value, ClassValue):
        _set_in_class(machine, value, why, new)
    elif isinstance(value, KnownClass):
        machine.problem(f"which attribute of {classes.short_name(value)} is set is not known: {why.reason}")
        patched_classes.put_unknown(machine, value, replace(why, optional=True))
    elif isinstance(value, ModuleReference):
        set_in_namespace(machine, value.name, why, new)
    elif isinstance(value, (FunctionValue, EnumMember, PartialValue)):
        stored_attributes.store_unknown(machine, value, why, new)
    elif isinstance(value, Address):
        item = machine.state.read(value)
        if isinstance(item, ModuleObject):
            set_in_module(machine, value, why, new)
        elif isinstance(item, InstanceObject):
            _set_in_instance(machine, value, why, new)
        elif isinstance(item, TensorObject):
            machine.expose([value], why)
    elif isinstance(value, Unknown):
        machine.expose([value], why)


def set_in_module(machine: Machine, value: Address, why: Unknown, new: Value) -> None:
    """The store that takes such a value is open, and each that stands there may be the new one; what takes a name away
    from another store may have taken any of its names. Source: `Module.__setattr__`."""
    if isinstance(new, Choice):
        for each in new.alternatives:
            set_in_module(machine, value, why, each)
        return
    registration.assign_unknown_name(machine, value, new, why)
    module = machine.state.change(value, ModuleObject)
    kind = registration.kind_of(machine, new)
    stores = {"modules": module.modules, "parameters": module.parameters, "buffers": module.buffers}
    machine.base.work += sum(map(len, stores.values()))
    for name, store in stores.items():
        if kind in _REPLACED_BY[name]:
            store.update({held: _either(machine, store[held], new, why) for held in _that_may_be(store, why)})
        elif kind in _REMOVED_BY[name]:
            _may_be_gone(store, why)
        elif _that_may_be(store, why):
            machine.may_fail("TypeError")
    if kind == "buffer":
        module.non_persistent.update(dict.fromkeys(_that_may_be(module.buffers, why)))
    _replace_attributes(module, why)
    if _is_function(new):
        hidden = _hidden(machine, module.cls, why, _is_method)
        module.attributes.update({name: each for name, each in hidden.items() if name not in module.attributes})


_REPLACED_BY = {
    "modules": ("module", "none"),
    "parameters": ("parameter", "none"),
    "buffers": ("buffer", "tensor", "none"),
}
"""Kinds of values that take the place of an entry of a store."""
_REMOVED_BY = {
    "modules": ("parameter", "unknown"),
    "parameters": ("unknown",),
    "buffers": ("parameter", "module", "unknown"),
}
"""Kinds of values that remove the entry of that name; all others are refused."""


def _that_may_be(entries: dict[str, Value], why: Unknown) -> list[str]:
    """The names among the entries that the one that is not known may be."""
    return [name for name in entries if name != OPEN and partial_texts.may_be(why, name)]


def _may_be_gone(entries: dict[str, Value], why: Unknown) -> None:
    absent = replace(why, optional=True, text=None)
    entries.update({name: points_to.either_of(absent, (entries[name],)) for name in _that_may_be(entries, why)})


def _replace_attributes(module: ModuleObject, why: Unknown) -> None:
    module.attributes.update(dict.fromkeys(_that_may_be(module.attributes, why), partial_texts.plainly(why)))


def delete_name(machine: Machine, value: Value, why: Unknown) -> None:
    """delattr(value, ?)."""
    if isinstance(value, ClassValue):
        _delete_in_class(machine, value, why)
        return
    if isinstance(value, KnownClass):
        machine.problem(f"which attribute of {classes.short_name(value)} is deleted is not known: {why.reason}")
        return
    if isinstance(value, ModuleReference):
        delete_in_namespace(machine, value.name, why)
        return
    item = machine.state.find(value, ModuleObject) or machine.state.find(value, InstanceObject)
    if item is None or why.text is None or not isinstance(value, Address):
        machine.expose([value], why)
    if item is None or not isinstance(value, Address):
        return
    machine.may_fail("AttributeError")
    changed = machine.state.change(value, type(item))
    _may_be_gone(changed.attributes, why)
    if isinstance(changed, ModuleObject):
        for store in (changed.modules, changed.parameters, changed.buffers):
            _may_be_gone(store, why)


def set_in_namespace(machine: Machine, module: str, why: Unknown, new: Value) -> None:
    """vars(module)[?] = new, of a module of Python: there may be another name. A value may have taken the place of a
    value, a class that of a class; if classes and modules may have been replaced by anything, that is told."""
    kept: list[str] = []
    for name, held in _bound_in(machine, module, why).items():
        if _may_replace(machine, held, new):
            machine.state.globals[(module, name)] = _either(machine, held, new, why)
        elif isinstance(new, Unknown):
            kept.append(name)
    if kept:
        machine.problem(f"a name of {module} may be another, as {kept[0]!r}: {why.reason}")
    before = machine.state.bound((module, OPEN))
    opened = points_to.either_of(why, (new,))
    machine.state.globals[(module, OPEN)] = opened if before is None else partial_texts.plainly(opened)


def _may_replace(machine: Machine, held: Value, new: Value) -> bool:
    if isinstance(new, Choice):
        return any(_may_replace(machine, held, each) for each in new.alternatives)
    is_code = machine.is_class(held) or isinstance(held, ModuleReference)
    if isinstance(new, Unknown):
        return not is_code
    if is_code:
        return isinstance(new, ModuleReference) if isinstance(held, ModuleReference) else machine.is_class(new)
    return _is_function(held) == _is_function(new)


def delete_in_namespace(machine: Machine, module: str, why: Unknown) -> None:
    """del vars(module)[?]."""
    machine.may_fail("AttributeError")
    absent = replace(why, optional=True, text=None)
    for name, held in _bound_in(machine, module, why).items():
        machine.state.globals[(module, name)] = points_to.either_of(absent, (held,))


def _bound_in(machine: Machine, module: str, why: Unknown) -> dict[str, Value]:
    """The names of a module that the one that is not known may be. An installed package has too many to ask for each:
    what becomes of it is told."""
    if module not in machine.modules.whole:
        machine.problem(f"which name of {module} is changed is not known: {why.reason}")
        return {}
    bound = [name for held in (machine.base.globals, machine.state.globals) for owner, name in held if owner == module]
    source = machine.modules.whole[module].source
    values = {
        name: machine.global_name(module, name)
        for name in dict.fromkeys([*source.index.names, *bound])
        if name != OPEN and partial_texts.may_be(why, name)
    }
    return {name: value for name, value in values.items() if value is not None}


def set_in_dict(machine: Machine, value: Address, why: Unknown, new: Value) -> None:
    """value.__dict__[?] = new, which registers nothing."""
    item = machine.state.read(value)
    if isinstance(item, ModuleObject) and (item.open is None or item.open.text is not None):
        module = machine.state.change(value, ModuleObject)
        module.open = partial_texts.opened(module.open, why)
        _replace_attributes(module, why)
    elif isinstance(item, InstanceObject) and (item.open is None or new is not why):
        _set_in_instance(machine, value, why, new)


def _set_in_instance(machine: Machine, value: Address, why: Unknown, new: Value) -> None:
    """What the class holds under a name may be hidden by what the instance has now."""
    item = machine.state.change(value, InstanceObject)
    item.open = partial_texts.opened(item.open, points_to.either_of(why, (new,)))
    changed = {name: item.attributes[name] for name in _that_may_be(item.attributes, why)}
    held = {**item.attributes, **{name: _either(machine, each, new, why) for name, each in changed.items()}}
    hidden = _hidden(machine, item.cls, why, lambda each: not isinstance(each, _METHODS))
    if _is_function(new):
        hidden.update(_hidden(machine, item.cls, why, _is_method))
    item.attributes = {**held, **{name: each for name, each in hidden.items() if name not in held}}


def _set_in_class(machine: Machine, cls: ClassValue, why: Unknown, new: Value) -> None:
    """A method may have taken the place of a method, a value that of a value."""
    is_method = isinstance(new, _METHODS)
    for name in _names(machine, cls):
        held = classes.own_attribute(machine, cls, name)
        may_be = isinstance(new, (Unknown, Choice)) or isinstance(held, _METHODS) == is_method
        if held is not None and may_be and not name.startswith("__") and partial_texts.may_be(why, name):
            machine.state.change(cls.address, ClassObject).namespace[name] = _either(machine, held, new, why)


def _delete_in_class(machine: Machine, cls: ClassValue, why: Unknown) -> None:
    machine.may_fail("AttributeError")
    for name in _names(machine, cls):
        held = classes.own_attribute(machine, cls, name)
        if held is not None and not name.startswith("__") and partial_texts.may_be(why, name):
            left = several.sometimes(held, why.reason)
            machine.state.change(cls.address, ClassObject).namespace[name] = left
            several.note(machine, cls, name, left)


def _hidden(machine: Machine, cls: Value, why: Unknown, takes: Callable[[Value], bool]) -> dict[str, Value]:
    """What an instance may have in place of those things in the namespaces of its classes that `takes` is true of."""
    absent = replace(why, optional=True, text=None)
    return {
        name: absent
        for base in machine.mro(cls)
        if isinstance(base, ClassValue)
        for name in _names(machine, base)
        if not name.startswith("__") and partial_texts.may_be(why, name)
        if (held := classes.own_attribute(machine, base, name)) is not None and takes(held)
    }


def _is_method(held: Value) -> bool:
    """An instance may have another under its name."""
    return isinstance(held, (FunctionValue, StaticMethod, ClassMethod))


def _is_function(new: Value) -> bool:
    """What may have been put in the place of a method."""
    if isinstance(new, Choice):
        return any(_is_function(each) for each in new.alternatives)
    return isinstance(new, (FunctionValue, BoundMethod, PartialValue, KnownFunction))


def _names(machine: Machine, cls: ClassValue) -> list[str]:
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    return list(dict.fromkeys([*(item.definition.statements if item.definition is not None else ()), *item.namespace]))


def _either(machine: Machine, held: Value, new: Value, why: Unknown) -> Value:
    """What was there, or the new one."""
    if isinstance(held, Unknown):
        return points_to.either_of(held, (new,))
    return machine.choice([held, new], why.reason)
