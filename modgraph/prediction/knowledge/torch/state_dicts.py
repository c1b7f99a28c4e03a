"""Module.state_dict: the tensors of a module by their keys. Source: `torch.nn.Module.state_dict`."""

from __future__ import annotations

from dataclasses import replace

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import MIXED, DictObject, ModuleObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    FALSE,
    MODULE,
    NONE,
    OPEN,
    TRUE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.torch.walks import disorder, module_of, walk

_OWN = ("state_dict", "_save_to_state_dict")
"""Methods by which a class says for itself what is saved."""
_EXTRA = ("get_extra_state", "set_extra_state")
"""Methods by which a class saves something beside, under a key of its own, and takes it back."""
_HOOKS = "_state_dict_hooks"
_UNITS_OF_A_MODULE = 20
_UNITS_OF_A_TENSOR = 60
"""Units of work that an entry takes besides the call of `detach`. One module may stand at exponentially many places."""
_TORCH = "torch.nn."
"""What torch's own layers and utilities set changes no key: a lazy layer's method, the hook of spectral_norm."""


@models(f"{MODULE}.state_dict")
def state_dict(arguments: Arguments, machine: Machine) -> Value:
    """Parameters and persistent buffers of each module, then those of its children; tensors without gradient."""
    address, _ = module_of(machine, arguments)
    prefix = arguments.keywords.get("prefix", Constant(""))
    if len(arguments.positional) > 1 or arguments.keywords.get("destination", NONE) != NONE or arguments.open:
        return machine.unknown("where a state dict is put is not modelled")
    keeps = machine.truth(arguments.keywords.get("keep_vars", FALSE))
    entries: dict[Value, Value] = {}
    start = prefix.value if isinstance(prefix, Constant) else None
    why = machine.unknown("what is saved of a module is not known", prefix)
    hooks = _hooks_below(machine, address)
    for module, hook, is_before in hooks:
        if is_before:
            machine.call(hook, (module, prefix, arguments.keywords.get("keep_vars", FALSE)))
    _run_own(machine, address, why)
    if keeps is None or not isinstance(start, str) or not _collect(machine, address, start, keeps, entries, set()):
        found = machine.allocate(DictObject(entries, why, KnownClass("collections.OrderedDict")))
        for module, hook, is_before in hooks:
            if not is_before:
                machine.call(hook, (module, found, why, why))
        return found
    mixed = disorder(machine, address)
    marks: dict[str, Value] = {
        "_metadata": Unknown("the versions in a state dict are not modelled", machine.where, inert=True)
    }
    if mixed is not None:
        marks[MIXED] = TRUE
    return machine.allocate(DictObject(entries, mixed, KnownClass("collections.OrderedDict"), marks))


def _run_own(machine: Machine, root: Address, why: Unknown) -> None:
    """What says for itself what is saved may do anything else, too."""
    for _, value in walk(machine, root):
        module = machine.state.find(value, ModuleObject)
        names = (*_OWN, "get_extra_state") if module is not None else ()
        for name in names:
            is_own = module is not None and (name in module.attributes or overrides(machine, module, name) is not None)
            if is_own and (value, name) != (root, "state_dict"):  # that is what has called this
                machine.may_be_called([machine.get_attribute(value, name)], why, ("__call__",))


def _hooks_below(machine: Machine, address: Address) -> list[tuple[Value, Value, bool]]:
    """The modules that have hooks, each with one, and whether that runs before."""
    found: list[tuple[Value, Value, bool]] = []
    for _, value in walk(machine, address):
        module = machine.state.find(value, ModuleObject)
        held = module.attributes.get(_HOOKS) if module is not None else None
        pairs = held.items if isinstance(held, TupleValue) else ()
        found.extend((value, each.items[0], each.items[1] == TRUE) for each in pairs if isinstance(each, TupleValue))
    return found


def _collect(
    machine: Machine, value: Value, prefix: str, keeps: bool, entries: dict[Value, Value], above: set[Address]
) -> bool:
    """Adds what one module saves, and its children; False where there may be more."""
    module = machine.state.find(value, ModuleObject)
    if module is None or not isinstance(value, Address) or value in above:
        return False
    machine.spend(_UNITS_OF_A_MODULE)
    if saves_its_own(machine, module) or "get" in extra_state_of(machine, module):
        return False
    stores = (module.parameters, module.buffers)
    for store in stores:
        for name, tensor in store.items():
            if name == OPEN or isinstance(tensor, Unknown):
                return False
            hidden = store is module.buffers and module.non_persistent.get(name, False)
            if hidden is None:
                return False
            if hidden or tensor == NONE:
                continue
            if (saved := _saved(machine, tensor, keeps)) is None:
                return False
            entries[Constant(prefix + name)] = saved
    for name, child in module.modules.items():
        if name == OPEN or (
            child != NONE and not _collect(machine, child, f"{prefix}{name}.", keeps, entries, above | {value})
        ):
            return False
    return True


def _saved(machine: Machine, tensor: Value, keeps: bool) -> Value | None:
    """What is saved of a tensor, or of one of some: it is there on some paths only, where it may be None. None for what
    may be anything."""
    found = tensor.alternatives if isinstance(tensor, Choice) else (tensor,)
    there = [each for each in found if each != NONE]
    if not all(machine.state.find(each, TensorObject) is not None for each in there):
        return None
    machine.spend(_UNITS_OF_A_TENSOR * len(there))
    saved = [each if keeps else machine.call(machine.get_attribute(each, "detach")) for each in there]
    why = machine.unknown("which tensor is registered is not known", tensor)
    if len(there) < len(found):
        return points_to.either_of(replace(why, optional=True), saved)
    return saved[0] if len(saved) == 1 else machine.choice(saved, why.reason)


def saves_its_own(machine: Machine, module: ModuleObject) -> bool:
    """Whether what `state_dict` has of a module, and of those below it, may be other than its parameters and buffers.

    A class of its MRO that is not torch's own says what is saved, or is not known; or the instance has a method
    of its own for that, or a hook.
    """
    if any(name in module.attributes for name in (*_OWN, _HOOKS)):
        return True
    if any(overrides(machine, module, name) is not None for name in _OWN):
        return True
    found = [overrides(machine, module, name) for name in _EXTRA]
    return any(method is not None and not isinstance(method, FunctionValue) for method in found)


def extra_state_of(machine: Machine, module: ModuleObject) -> tuple[str, ...]:
    """Which of "get" and "set" its class certainly defines, of `get_extra_state` and `set_extra_state`."""
    found = {name[:3]: overrides(machine, module, name) for name in _EXTRA}
    return tuple(way for way, method in found.items() if isinstance(method, FunctionValue))


def overrides(machine: Machine, module: ModuleObject, name: str) -> Value | None:
    """The method of that name, where it is not torch's."""
    found = machine.class_attribute(module.cls, name)
    of_all = machine.class_attribute(KnownClass(MODULE), name)
    return None if found is None or _is_of_torch(found) or found == of_all else found


def collect(machine: Machine, address: Address, entries: dict[Value, Value]) -> bool:
    """Adds the tensors of a module and of those below it, under their keys; False where there may be more."""
    return _collect(machine, address, "", True, entries, set())


def is_torchs_hook(machine: Machine, hook: Value) -> bool:
    """A function, method or object of torch's own."""
    function = hook.function if isinstance(hook, BoundMethod) else hook
    if isinstance(function, (FunctionValue, KnownFunction)):
        return _is_of_torch(function)
    cls = machine.class_of(hook)
    return isinstance(cls, (ClassValue, KnownClass)) and cls.name.startswith(_TORCH)


def _is_of_torch(method: Value) -> bool:
    if isinstance(method, FunctionValue):
        return method.definition.module.startswith(_TORCH)
    return isinstance(method, KnownFunction)


@models(
    f"{MODULE}.register_state_dict_post_hook",
    f"{MODULE}.register_state_dict_pre_hook",
    f"{MODULE}._register_state_dict_hook",
)
def add_state_dict_hook(arguments: Arguments, machine: Machine) -> Value:
    """It is called with the state dict, whose entries are not known then."""
    address, module = module_of(machine, arguments)
    hook = arguments.get(1, "hook", NONE)
    if not is_torchs_hook(machine, hook):
        held = module.attributes.get(_HOOKS)
        before = held.items if isinstance(held, TupleValue) else ()
        pair = TupleValue((hook, Constant("pre" in last_name(arguments.function))))
        machine.state.change(address, ModuleObject).attributes[_HOOKS] = TupleValue((*before, pair))
    return Unknown("the handle of a hook", machine.where, inert=True)
