"""nn.Module's own methods that register: `__init__`, `__setattr__`, `add_module`, `register_parameter` and kin."""

from __future__ import annotations

from collections.abc import Callable

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import LimitError
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ModuleObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    MODULE,
    NONE,
    OPEN,
    TRUE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    KnownClass,
    KnownFunction,
    PropertyValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import partial_texts
from modgraph.prediction.python import attribute_changes, orders, registration, weak_updates
from modgraph.prediction.python.enum_texts import text_given

HOOKED = "a hook on all registrations may have replaced what is registered"


@models(f"{MODULE}.__init__")
def initialise(arguments: Arguments, machine: Machine) -> Value:
    """`Module.__init__`: empties the stores, also when it runs a second time; plain attributes stay.

    Raises:
        LimitError: a hook on all registrations is set.
    """
    if machine.modules.hooked and machine.modules.roots[-1] in machine.modules.hooked:
        raise LimitError(HOOKED)
    address = arguments.positional[0]
    module = machine.state.find(address, ModuleObject)
    if module is None or not isinstance(address, Address):
        return NONE
    continues = machine.class_attribute(module.cls, "call_super_init") == TRUE
    if not continues and (len(arguments.positional) > 1 or arguments.keywords):
        extra = next(iter(arguments.keywords), None)
        what = f"an unexpected keyword argument '{extra}'" if extra else "unexpected positional arguments"
        raise machine.raises("TypeError", f"{registration.class_name(module.cls)}.__init__() got {what}")
    module = machine.state.change(address, ModuleObject)
    module.modules, module.parameters, module.buffers, module.non_persistent = {}, {}, {}, {}
    module.attributes["training"] = TRUE
    module.initialised = True
    if continues:
        following = machine.class_attribute(module.cls, "__init__", KnownClass(MODULE))
        if following is not None and not isinstance(following, (KnownFunction, Unknown)):
            rest, others = arguments.positional[1:], arguments.open
            machine.call(BoundMethod(following, address), rest, arguments.keywords, None, others)
    return NONE


@models(MODULE)
def bare_module(arguments: Arguments, machine: Machine) -> Value:
    """`nn.Module()` itself: an empty module."""
    address = machine.allocate(ModuleObject(KnownClass(MODULE), where=arguments.where))
    given, others = (address, *arguments.positional), arguments.open
    initialise(Arguments("Module", given, arguments.keywords, arguments.where, others), machine)
    return address


@models(f"{MODULE}.__setattr__")
def set_attribute(arguments: Arguments, machine: Machine) -> Value:
    address, name, value = _receiver(arguments), text_given(arguments, machine), arguments.get(2, "value", NONE)
    if isinstance(name, Constant):
        registration.assign(machine, address, str(name.value), value)
    else:
        why = partial_texts.named(machine.unknown("the name of an attribute is not known", name), name)
        weak_updates.set_in_module(machine, address, why, value)
    return NONE


@models("builtins.object.__setattr__")
def past_the_module(arguments: Arguments, machine: Machine) -> Value:
    """Straight into the instance's `__dict__`, past what `Module.__setattr__` does: nothing is registered. Properties
    of the class come first."""
    address, name, new = arguments.positional[0], text_given(arguments, machine), arguments.get(2, "value", NONE)
    if not isinstance(name, Constant):
        why = partial_texts.named(machine.unknown("the name of an attribute is not known", name), name)
        if isinstance(address, Address):
            weak_updates.set_in_dict(machine, address, why, new)
        else:
            weak_updates.set_name(machine, address, why, new)
        return NONE
    if isinstance(address, ClassValue):
        attribute_changes.assign_in_class(machine, address, str(name.value), new)
        return NONE
    if isinstance(name.value, str):
        described = machine.class_attribute(machine.class_of(address), name.value)
        setter = described.setter if isinstance(described, PropertyValue) else None
        if setter is not None and setter != KnownFunction("functools._keep"):
            machine.call(setter, (address, new))
            return NONE
    item = machine.state.write(address) if isinstance(address, Address) else None
    if item is not None and getattr(item, "attributes", None) is not None:
        orders.put(machine, item, "attributes", name.value, new)
    return NONE


@models(f"{MODULE}.__delattr__")
def delete_attribute(arguments: Arguments, machine: Machine) -> Value:
    name = text_given(arguments, machine)
    if isinstance(name, Constant):
        registration.delete(machine, _receiver(arguments), str(name.value))
    else:
        why = partial_texts.named(machine.unknown("the name of what is deleted is not known", name), name)
        weak_updates.delete_name(machine, _receiver(arguments), why)
    return NONE


@models(f"{MODULE}.__getattr__")
def get_attribute(arguments: Arguments, machine: Machine) -> Value:
    address, name = _receiver(arguments), text_given(arguments, machine)
    if not isinstance(name, Constant):
        held = machine.state.read(address)
        machine.may_refuse("AttributeError")
        why = machine.unknown("the name of an attribute is not known", name)
        return points_to.read(machine, why, points_to.held_by(held))
    found = registration.lookup(machine, address, str(name.value))
    if found is None:
        module = machine.state.read(address)
        cls = registration.class_name(module.cls) if isinstance(module, ModuleObject) else "Module"
        raise machine.raises("AttributeError", f"'{cls}' object has no attribute '{name.value}'")
    return found


@models(f"{MODULE}.add_module", f"{MODULE}.register_module")
def add_module(arguments: Arguments, machine: Machine) -> Value:
    address, name, value = _receiver(arguments), text_given(arguments, machine), arguments.get(2, "module", NONE)
    if arguments.function.endswith("register_module"):
        add = machine.get_attribute(address, "add_module")
        if not (isinstance(add, BoundMethod) and isinstance(add.function, KnownFunction)):
            return machine.call(add, (name, value))
    if isinstance(value, Choice) and registration.is_mixed(machine, value):
        return _each(machine, add_module, arguments, "module", value)
    kind = registration.kind_of(machine, value)
    if kind not in ("module", "none", "unknown"):
        raise machine.raises(
            "TypeError", f"{registration.class_name(machine.class_of(value))} is not a Module subclass"
        )
    register_module(machine, address, name, value)
    return NONE


def _each(
    machine: Machine, register: Callable[[Arguments, Machine], Value], arguments: Arguments, name: str, value: Choice
) -> Value:
    """Registers each alternative, on a path of its own."""
    receiver, named = arguments.positional[0], text_given(arguments, machine)
    rest = {key: each for key, each in arguments.keywords.items() if key not in ("name", name)}
    further = arguments.positional[3:]

    def registered(each: Value) -> Value:
        given = Arguments(arguments.function, (receiver, named, each, *further), rest, arguments.where)
        return register(given, machine)

    return machine.distribute(value, registered)


def register_module(machine: Machine, address: Address, name: Value, value: Value) -> None:
    """`module.add_module(name, value)` for a value that is a module, None, or not known."""
    registration.require_initialised(machine, address, "module")
    text = _checked_name(machine, address, name, "module", "modules")
    module = machine.state.change(address, ModuleObject)
    if text is None:
        _register_unnamed(machine, module.modules, "child", name, value)
    else:
        orders.put(machine, module, "modules", text, value)


@models(f"{MODULE}.register_parameter")
def register_parameter(arguments: Arguments, machine: Machine) -> Value:
    address, name, value = _receiver(arguments), text_given(arguments, machine), arguments.get(2, "param", NONE)
    if isinstance(value, Choice) and registration.is_mixed(machine, value):
        return _each(machine, register_parameter, arguments, "param", value)
    registration.require_initialised(machine, address, "parameter")
    text = _checked_name(machine, address, name, "parameter", "parameters")
    if registration.kind_of(machine, value) not in ("parameter", "none", "unknown"):
        raise registration.misfit(machine, value, f"parameter '{text}' (torch.nn.Parameter or None required)")
    module = machine.state.change(address, ModuleObject)
    if text is None:
        _register_unnamed(machine, module.parameters, "parameter", name, value)
    else:
        orders.put(machine, module, "parameters", text, value)
        _note_place(machine, value)
    return NONE


@models(f"{MODULE}.register_buffer")
def register_buffer(arguments: Arguments, machine: Machine) -> Value:
    address, name, value = _receiver(arguments), text_given(arguments, machine), arguments.get(2, "tensor", NONE)
    if isinstance(value, Choice) and registration.is_mixed(machine, value):
        return _each(machine, register_buffer, arguments, "tensor", value)
    persistent = machine.truth(arguments.get(3, "persistent", TRUE))
    registration.require_initialised(machine, address, "buffer")
    text = _checked_name(machine, address, name, "buffer", "buffers")
    if registration.kind_of(machine, value) in ("plain", "module") and not (isinstance(value, Unknown) and value.inert):
        raise registration.misfit(machine, value, f"buffer '{text}' (torch Tensor or None required)")
    module = machine.state.change(address, ModuleObject)
    if text is None:
        _register_unnamed(machine, module.buffers, "buffer", name, value)
        return NONE
    orders.put(machine, module, "buffers", text, value)
    _note_place(machine, value)
    module.non_persistent.pop(text, None)
    if persistent is not True:
        module.non_persistent[text] = True if persistent is False else None
    return NONE


def _register_unnamed(machine: Machine, store: dict[str, Value], what: str, name: Value, value: Value) -> None:
    """A store got an entry under a name that is not known: one that has that name gave way to it."""
    why = partial_texts.named(machine.unknown(f"the name of a {what} is not known", name), name)
    why = points_to.either_of(why, (value,))
    for held, entry in store.items():
        if held != OPEN and not isinstance(entry, Unknown) and partial_texts.may_be(why, held):
            store[held] = machine.choice([entry, value], why.reason)
    partial_texts.open_store(store, why)


def _note_place(machine: Machine, value: Value) -> None:
    """A tensor of which something is not known is spoken of where it is registered; in torch, at the layer's call."""
    tensor = machine.state.find(value, TensorObject)
    where = machine.where
    if tensor is None or tensor.where is not None or where is None or where.file.startswith("torch/"):
        return
    if tensor.shape is None or None in tensor.shape:
        assert isinstance(value, Address)
        machine.state.change(value, TensorObject).where = where


def _receiver(arguments: Arguments) -> Address:
    address = arguments.positional[0]
    assert isinstance(address, Address)
    return address


def _checked_name(machine: Machine, address: Address, name: Value, what: str, store: str) -> str | None:
    """The name as a str, None where it is not known; what torch refuses is raised."""
    if not isinstance(name, Constant):
        if isinstance(name, (Unknown, Choice)):
            return None
        raise machine.raises("TypeError", f"{what} name should be a string")
    if not isinstance(name.value, str):
        raise machine.raises("TypeError", f"{what} name should be a string. Got {type(name.value).__name__}")
    if "." in name.value:
        got = f", got: {name.value}" if store == "modules" else ""
        raise machine.raises("KeyError", f'{what} name can\'t contain "."{got}')
    if name.value == "":
        raise machine.raises("KeyError", f'{what} name can\'t be empty string ""')
    module = machine.state.read(address)
    if name.value not in getattr(module, store) and _is_taken(machine, address, name.value):
        raise machine.raises("KeyError", f"attribute '{name.value}' already exists")
    return name.value


def _is_taken(machine: Machine, address: Address, name: str) -> bool:
    """`hasattr(self, name)`, where certain."""
    module = machine.state.read(address)
    assert isinstance(module, ModuleObject)
    stores = (module.attributes, module.parameters, module.buffers, module.modules)
    if any(name in store for store in stores):
        return True
    held = machine.class_attribute(module.cls, name)
    if isinstance(held, PropertyValue):
        held = machine.find_attribute(address, name)
    return held is not None and not isinstance(held, (Unknown, Choice))
