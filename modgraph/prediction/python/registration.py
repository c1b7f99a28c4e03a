"""What `self.x = value`, `del self.x`, `add_module` and kin do to an nn.Module: which of its four stores holds what.

The rules are those of `Module.__setattr__`, `__delattr__`, `register_parameter`, `register_buffer` and `add_module` in
torch/nn/modules/module.py. A name stands in at most one of `_parameters`, `_buffers`, `_modules` and the instance's own
`__dict__`; assigning a value of another kind moves it, assigning over it keeps its position.

A value that is not known may be a module: where the name stands in a store already, it stays there as unknown; else it
is an optional child, one that is there on some paths only. `OPEN` stands where not even the name is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import MIXED, DictObject, InstanceObject, ModuleObject, TensorObject
from modgraph.prediction.domain.registry import model
from modgraph.prediction.domain.values import (
    MODULE,
    NONE,
    OPEN,
    Address,
    BoundMethod,
    Choice,
    Constant,
    KnownClass,
    KnownFunction,
    PropertyValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import partial_texts
from modgraph.prediction.python import orders, persistence, plain_attributes
from modgraph.source.plain_uses import Known
from modgraph.source.reached import telling

Kind = Literal["module", "parameter", "buffer", "tensor", "none", "plain", "unknown"]
"""What torch asks of a value; "buffer" is one made by nn.Buffer, "unknown" may be any of them."""

GIVEN_MODULES = ("norm", "encoder", "decoder", "activation", "distance_function")
"""Attributes of torch's own layers that keep a module, or a function, that the constructor was given. All others that
keep an argument keep a number, a flag or a text."""

STORES = {"_modules": "modules", "_parameters": "parameters", "_buffers": "buffers"}
"""torch's names of the stores, and those of `ModuleObject`."""


def kind_of(machine: Machine, value: Value) -> Kind:
    """Which of torch's tests `value` passes; of several alternatives, the first that registers anything."""
    if isinstance(value, Address):
        item = machine.state.read(value)
        if isinstance(item, ModuleObject):
            return "module"
        if isinstance(item, TensorObject):
            if item.is_parameter is None:
                return "unknown"
            return "parameter" if item.is_parameter else "buffer" if item.is_buffer else "tensor"
        if isinstance(item, InstanceObject) and machine.is_instance(value, KnownClass(MODULE)) is None:
            return "unknown"
        return "plain"
    if isinstance(value, Unknown):
        return "plain" if value.inert else "unknown"
    if isinstance(value, Choice):
        kinds = {kind_of(machine, alternative) for alternative in value.alternatives}
        order: tuple[Kind, ...] = ("parameter", "module", "buffer", "unknown", "tensor", "plain", "none")
        return next(kind for kind in order if kind in kinds)
    return "none" if value == NONE else "plain"


def assign(machine: Machine, address: Address, name: str, value: Value) -> None:
    """`module.name = value`, as `Module.__setattr__` does it.

    Raises:
        Raised: AttributeError before `Module.__init__`; TypeError where the name is registered and the value does not
            fit; KeyError where a parameter or buffer meets an attribute of the class.
    """
    if isinstance(value, Choice) and is_mixed(machine, value):
        machine.distribute(value, lambda each: _assigned(machine, address, name, each))
        return
    module = machine.state.change(address, ModuleObject)
    kind = kind_of(machine, value)
    if isinstance(value, Unknown) and lookup(machine, address, name) is not None:
        kind = "unknown"
    if kind == "parameter" or (name in module.parameters and kind in ("none", "unknown")):
        require_initialised(machine, address, "parameters")
        if kind == "parameter":
            _remove(module, name, keep="parameters")
        _call_own(machine, address, "register_parameter", name, value)
    elif name in module.parameters:
        raise misfit(machine, value, f"parameter '{name}' (torch.nn.Parameter or None expected)")
    elif kind == "module" or (name in module.modules and kind in ("none", "unknown")):
        require_initialised(machine, address, "module")
        if kind == "module":
            _remove(module, name, keep="modules")
        if kind == "unknown":  # a parameter would take the name away from the modules
            value = replace(machine.unknown("it may be a module", value), optional=True)
        orders.put(machine, module, "modules", name, value)
    elif name in module.modules:
        raise misfit(machine, value, f"child module '{name}' (torch.nn.Module or None expected)")
    elif kind == "buffer" or name in module.buffers:
        _assign_buffer(machine, address, name, value, kind)
    else:
        _assign_plain(machine, address, name, value, kind)


def is_mixed(machine: Machine, value: Choice) -> bool:
    """torch does not do the same with each of the alternatives."""
    return len({kind_of(machine, each) for each in value.alternatives}) > 1


def _assigned(machine: Machine, address: Address, name: str, value: Value) -> Value:
    assign(machine, address, name, value)
    return NONE


def _assign_buffer(machine: Machine, address: Address, name: str, value: Value, kind: Kind) -> None:
    module = machine.state.change(address, ModuleObject)
    if kind == "plain":
        raise misfit(machine, value, f"buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
    persistent, is_buffer = persistence.of_assigned(machine, module, name, value)
    if is_buffer:
        module.attributes.pop(name, None)
    _call_own(machine, address, "register_buffer", name, value, persistent)


def _assign_plain(machine: Machine, address: Address, name: str, value: Value, kind: Kind) -> None:
    """`object.__setattr__`, with the properties of the class; the stores themselves may be replaced by name too."""
    module = machine.state.change(address, ModuleObject)
    if name in STORES:
        _replace_store(machine, address, name, value)
        return
    held = machine.class_attribute(module.cls, name)
    if isinstance(held, PropertyValue):
        if held.setter is None:
            raise machine.raises("AttributeError", f"property '{name}' has no setter")
        machine.call(held.setter, (address, value))
        return
    by_uses: Known = "number"
    if kind == "unknown" and module.initialised:
        if not _is_size_of_a_layer(machine, name):
            by_uses = plain_attributes.kind_by_uses(machine, module.cls, name)
        if by_uses == "number" and isinstance(value, Unknown):
            value = points_to.plain(value)
    if by_uses in ("number", "object"):
        orders.put(machine, module, "attributes", name, value)
        return
    module.attributes.pop(name, None)
    store, what = ("modules", "module") if by_uses == "unknown" else ("parameters", "parameter")
    why = machine.unknown(f"it may be a {what}", value)
    reason = telling(why.reason, why.reason, where=why.where)
    orders.put(machine, module, store, name, replace(why, reason=reason, optional=True, where=machine.where))


def _is_size_of_a_layer(machine: Machine, name: str) -> bool:
    """A statement of torch's own layers keeps an option there."""
    where = machine.where
    if where is None or not where.file.startswith("torch/nn/modules/"):
        return False
    return name not in GIVEN_MODULES


def _replace_store(machine: Machine, address: Address, name: str, value: Value) -> None:
    """`self._modules = {...}`."""
    shown = machine.state.find(value, InstanceObject)
    other = shown.attributes.get("module") if shown is not None else None
    if other is not None:  # what is done to the store of either is done to that of the other
        machine.expose((address, other), machine.unknown(f"`{name}` is that of another module", value))
    module = machine.state.change(address, ModuleObject)
    entries = machine.state.find(value, DictObject)
    new: dict[str, Value] = {}
    if entries is None:
        new[OPEN] = machine.unknown(f"`{name}` was replaced by something not known", value)
    else:
        for key, item in entries.entries.items():
            new[str(key.value) if isinstance(key, Constant) else OPEN] = item
        if entries.open is not None:
            new[OPEN] = partial_texts.plainly(entries.open)
            if MIXED in entries.attributes:
                module.mixed = module.mixed or partial_texts.plainly(entries.open)
    if name == "_modules":
        module.modules = new
    elif name == "_parameters":
        module.parameters = new
    else:
        module.buffers = new


def assign_unknown_name(machine: Machine, address: Address, value: Value, why: Unknown) -> None:
    """`setattr(module, name, value)` with a name that is not known: the store that takes such a value is open."""
    module = machine.state.change(address, ModuleObject)
    kind = kind_of(machine, value)
    why = points_to.further(why, (value,))
    if kind in ("module", "unknown"):
        partial_texts.open_store(module.modules, why)
    if kind in ("parameter", "unknown"):
        partial_texts.open_store(module.parameters, why)
    if kind == "buffer":
        partial_texts.open_store(module.buffers, why)
    module.open = partial_texts.opened(module.open, why)


def delete(machine: Machine, address: Address, name: str) -> None:
    """`del module.name`, as `Module.__delattr__` does it.

    Raises:
        Raised: AttributeError where there is no such name.
    """
    module = machine.state.change(address, ModuleObject)
    for store in (module.parameters, module.buffers, module.modules, module.attributes):
        if name in store:
            del store[name]
            module.non_persistent.pop(name, None)
            return
    held = machine.class_attribute(module.cls, name)
    if isinstance(held, PropertyValue) and held.deleter is not None:
        machine.call(held.deleter, (address,))
    elif partial_texts.hidden(module.open, name) is None and not any(
        partial_texts.further(store, name) for store in (module.parameters, module.buffers, module.modules)
    ):
        raise machine.raises("AttributeError", f"'{class_name(module.cls)}' object has no attribute '{name}'")


def lookup(machine: Machine, address: Address, name: str) -> Value | None:
    """What `Module.__getattr__` finds in the stores; None where it is in none, Unknown where one is open."""
    module = machine.state.find(address, ModuleObject)
    if module is None:
        return None
    stores = (module.parameters, module.buffers, module.modules)
    for store in stores:
        if name in store:
            return store[name]
    if name.startswith("__"):
        return None
    return next((why for store in stores if OPEN in store and (why := partial_texts.further(store, name))), None)


def class_name(cls: Value) -> str:
    """`cls.__name__`, for messages."""
    name = getattr(cls, "name", "object")
    return last_name(str(name))


def _remove(module: ModuleObject, name: str, *, keep: str) -> None:
    for store in ("attributes", "parameters", "buffers", "modules", "non_persistent"):
        if store != keep:
            getattr(module, store).pop(name, None)


def misfit(machine: Machine, value: Value, wanted: str) -> Exception:
    return machine.raises("TypeError", f"cannot assign '{class_name(machine.class_of(value))}' as {wanted}")


def _call_own(machine: Machine, address: Address, method: str, name: str, *values: Value) -> None:
    """`self.register_...(name, ...)`, through a user's override of it, as `Module.__setattr__` calls it."""
    module = machine.state.read(address)
    assert isinstance(module, ModuleObject)
    found = machine.class_attribute(module.cls, method)
    if found is None or isinstance(found, (KnownFunction, Unknown)):
        register = model(f"{MODULE}.{method}")
        assert register is not None
        register(Arguments(method, (address, Constant(name), *values)), machine)
    else:
        machine.call(BoundMethod(found, address), (Constant(name), *values))


def require_initialised(machine: Machine, address: Address, what: str) -> None:
    module = machine.state.find(address, ModuleObject)
    if module is None:
        return
    if module.initialised is False:
        raise machine.raises("AttributeError", f"cannot assign {what} before Module.__init__() call")
    if module.initialised is None:
        machine.may_refuse("AttributeError")
