"""What `self.x = value`, `del self.x`, `add_module` and kin do to an nn.Module: which of its four stores holds what.

The rules are those of `Module.__setattr__`, `__delattr__`, `register_parameter`, `register_buffer` and `add_module` in
torch/nn/modules/module.py. A name stands in at most one of `_parameters`, `_buffers`, `_modules` and the instance's own
`__dict__`; assigning a value of another kind moves it, assigning over it keeps its position.

A value that is not known may be a module: where the name stands in a store already, it stays there as unknown; else it
is an optional child, one that is there on some paths only. `OPEN` stands where not even the name is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from modgraph.prediction import partial_texts, persistence, possible
from modgraph.prediction.enum_texts import text_given
from modgraph.prediction.knowledge.registry import Arguments, Machine, models
from modgraph.prediction.objects import DictObject, InstanceObject, ModuleObject, TensorObject
from modgraph.prediction.values import (
    MODULE,
    NONE,
    OPEN,
    TRUE,
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

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

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
    if isinstance(value, Choice) and _is_mixed(machine, value):
        machine.distribute(value, lambda each: _assigned(machine, address, name, each))
        return
    module = machine.state.change(address, ModuleObject)
    kind = kind_of(machine, value)
    if isinstance(value, Unknown) and lookup(machine, address, name) is not None:
        kind = "unknown"
    if kind == "parameter" or (name in module.parameters and kind in ("none", "unknown")):
        _require_initialised(machine, address, "parameters")
        if kind == "parameter":
            _remove(module, name, keep="parameters")
        _call_own(machine, address, "register_parameter", name, value)
    elif name in module.parameters:
        raise _misfit(machine, value, f"parameter '{name}' (torch.nn.Parameter or None expected)")
    elif kind == "module" or (name in module.modules and kind in ("none", "unknown")):
        _require_initialised(machine, address, "module")
        if kind == "module":
            _remove(module, name, keep="modules")
        if kind == "unknown":  # a parameter would take the name away from the modules
            value = replace(machine.unknown("it may be a module", value), optional=True)
        module.modules[name] = value
    elif name in module.modules:
        raise _misfit(machine, value, f"child module '{name}' (torch.nn.Module or None expected)")
    elif kind == "buffer" or name in module.buffers:
        _assign_buffer(machine, address, name, value, kind)
    else:
        _assign_plain(machine, address, name, value, kind)


def _is_mixed(machine: Machine, value: Choice) -> bool:
    """torch does not do the same with each of the alternatives."""
    return len({kind_of(machine, each) for each in value.alternatives}) > 1


def _assigned(machine: Machine, address: Address, name: str, value: Value) -> Value:
    assign(machine, address, name, value)
    return NONE


def _assign_buffer(machine: Machine, address: Address, name: str, value: Value, kind: Kind) -> None:
    module = machine.state.change(address, ModuleObject)
    if kind == "plain":
        raise _misfit(machine, value, f"buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
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
    if kind == "unknown" and module.initialised and not _is_size_of_a_layer(machine, name):
        module.attributes.pop(name, None)
        module.modules[name] = replace(machine.unknown("it may be a module", value), optional=True, where=machine.where)
    else:
        module.attributes[name] = value


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
    why = possible.either_of(why, (value,))
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
    return str(name).rpartition(".")[2]


def _remove(module: ModuleObject, name: str, *, keep: str) -> None:
    for store in ("attributes", "parameters", "buffers", "modules", "non_persistent"):
        if store != keep:
            getattr(module, store).pop(name, None)


def _misfit(machine: Machine, value: Value, wanted: str) -> Exception:
    return machine.raises("TypeError", f"cannot assign '{class_name(machine.class_of(value))}' as {wanted}")


def _call_own(machine: Machine, address: Address, method: str, name: str, *values: Value) -> None:
    """`self.register_...(name, ...)`, through a user's override of it, as `Module.__setattr__` calls it."""
    module = machine.state.read(address)
    assert isinstance(module, ModuleObject)
    found = machine.class_attribute(module.cls, method)
    if found is None or isinstance(found, (KnownFunction, Unknown)):
        register = register_parameter if method == "register_parameter" else register_buffer
        register(Arguments(method, (address, Constant(name), *values)), machine)
    else:
        machine.call(BoundMethod(found, address), (Constant(name), *values))


# ---- what a constructor calls ----------------------------------------------------------------------------------------


@models(f"{MODULE}.__init__")
def initialise(arguments: Arguments, machine: Machine) -> Value:
    """`Module.__init__`: empties the stores, also when it runs a second time; plain attributes stay."""
    address = arguments.positional[0]
    module = machine.state.find(address, ModuleObject)
    if module is None or not isinstance(address, Address):
        return NONE
    continues = machine.class_attribute(module.cls, "call_super_init") == TRUE
    if not continues and (len(arguments.positional) > 1 or arguments.keywords):
        extra = next(iter(arguments.keywords), None)
        what = f"an unexpected keyword argument '{extra}'" if extra else "unexpected positional arguments"
        raise machine.raises("TypeError", f"{class_name(module.cls)}.__init__() got {what}")
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
        assign(machine, address, str(name.value), value)
    else:
        why = partial_texts.named(machine.unknown("the name of an attribute is not known", name), name)
        _weak_updates().set_in_module(cast("Interpreter", machine), address, why, value)
    return NONE


@models("builtins.object.__setattr__")
def past_the_module(arguments: Arguments, machine: Machine) -> Value:
    """Straight into the instance's `__dict__`, past what `Module.__setattr__` does: nothing is registered. Properties
    of the class come first."""
    address, name = arguments.positional[0], text_given(arguments, machine)
    if isinstance(name, Constant) and isinstance(name.value, str):
        described = machine.class_attribute(machine.class_of(address), name.value)
        setter = described.setter if isinstance(described, PropertyValue) else None
        if setter is not None and setter != KnownFunction("functools._keep"):
            machine.call(setter, (address, arguments.get(2, "value", NONE)))
            return NONE
    item = machine.state.write(address) if isinstance(address, Address) else None
    attributes: dict[str, Value] | None = getattr(item, "attributes", None)
    if attributes is not None and isinstance(name, Constant):
        attributes[name.value] = arguments.get(2, "value", NONE)
    elif isinstance(item, (ModuleObject, InstanceObject)):
        item.open = partial_texts.opened(item.open, machine.unknown("the name of an attribute is not known", name))
    return NONE


@models(f"{MODULE}.__delattr__")
def delete_attribute(arguments: Arguments, machine: Machine) -> Value:
    name = text_given(arguments, machine)
    if isinstance(name, Constant):
        delete(machine, _receiver(arguments), str(name.value))
    else:
        why = partial_texts.named(machine.unknown("the name of what is deleted is not known", name), name)
        _weak_updates().delete_name(cast("Interpreter", machine), _receiver(arguments), why)
    return NONE


@models(f"{MODULE}.__getattr__")
def get_attribute(arguments: Arguments, machine: Machine) -> Value:
    address, name = _receiver(arguments), text_given(arguments, machine)
    if not isinstance(name, Constant):
        return machine.unknown("the name of an attribute is not known", name)
    found = lookup(machine, address, str(name.value))
    if found is None:
        module = machine.state.read(address)
        cls = class_name(module.cls) if isinstance(module, ModuleObject) else "Module"
        raise machine.raises("AttributeError", f"'{cls}' object has no attribute '{name.value}'")
    return found


@models(f"{MODULE}.add_module", f"{MODULE}.register_module")
def add_module(arguments: Arguments, machine: Machine) -> Value:
    address, name, value = _receiver(arguments), text_given(arguments, machine), arguments.get(2, "module", NONE)
    if isinstance(value, Choice) and _is_mixed(machine, value):
        return _each(machine, add_module, arguments, "module", value)
    kind = kind_of(machine, value)
    if kind not in ("module", "none", "unknown"):
        raise machine.raises("TypeError", f"{class_name(machine.class_of(value))} is not a Module subclass")
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
    _require_initialised(machine, address, "module")
    text = _checked_name(machine, address, name, "module", "modules")
    module = machine.state.change(address, ModuleObject)
    if text is None:
        _register_unnamed(machine, module.modules, "child", name, value)
    else:
        module.modules[text] = value


@models(f"{MODULE}.register_parameter")
def register_parameter(arguments: Arguments, machine: Machine) -> Value:
    address, name, value = _receiver(arguments), text_given(arguments, machine), arguments.get(2, "param", NONE)
    if isinstance(value, Choice) and _is_mixed(machine, value):
        return _each(machine, register_parameter, arguments, "param", value)
    _require_initialised(machine, address, "parameter")
    text = _checked_name(machine, address, name, "parameter", "parameters")
    if kind_of(machine, value) not in ("parameter", "none", "unknown"):
        raise _misfit(machine, value, f"parameter '{text}' (torch.nn.Parameter or None required)")
    module = machine.state.change(address, ModuleObject)
    if text is None:
        _register_unnamed(machine, module.parameters, "parameter", name, value)
    else:
        module.parameters[text] = value
        _note_place(machine, value)
    return NONE


@models(f"{MODULE}.register_buffer")
def register_buffer(arguments: Arguments, machine: Machine) -> Value:
    address, name, value = _receiver(arguments), text_given(arguments, machine), arguments.get(2, "tensor", NONE)
    if isinstance(value, Choice) and _is_mixed(machine, value):
        return _each(machine, register_buffer, arguments, "tensor", value)
    persistent = machine.truth(arguments.get(3, "persistent", TRUE))
    _require_initialised(machine, address, "buffer")
    text = _checked_name(machine, address, name, "buffer", "buffers")
    if kind_of(machine, value) in ("plain", "module") and not (isinstance(value, Unknown) and value.inert):
        raise _misfit(machine, value, f"buffer '{text}' (torch Tensor or None required)")
    module = machine.state.change(address, ModuleObject)
    if text is None:
        _register_unnamed(machine, module.buffers, "buffer", name, value)
        return NONE
    module.buffers[text] = value
    _note_place(machine, value)
    module.non_persistent.pop(text, None)
    if persistent is not True:
        module.non_persistent[text] = True if persistent is False else None
    return NONE


def _register_unnamed(machine: Machine, store: dict[str, Value], what: str, name: Value, value: Value) -> None:
    """A store got an entry under a name that is not known: one that has that name gave way to it."""
    why = partial_texts.named(machine.unknown(f"the name of a {what} is not known", name), name)
    why = possible.either_of(why, (value,))
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


def _require_initialised(machine: Machine, address: Address, what: str) -> None:
    module = machine.state.find(address, ModuleObject)
    if module is None:
        return
    if module.initialised is False:
        raise machine.raises("AttributeError", f"cannot assign {what} before Module.__init__() call")
    if module.initialised is None:
        machine.may_refuse("AttributeError")


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


def _weak_updates() -> Any:
    """It stands on what stands here."""
    from modgraph.prediction import weak_updates

    return weak_updates
