"""Hooks that run before and after a module's `forward`, where a constructor calls the module.

Source: `torch.nn.Module._call_impl`, torch/utils/hooks.py.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject, ModuleObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import (
    FALSE,
    MODULE,
    NONE,
    Address,
    BoundMethod,
    Choice,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.knowledge.torch.walks import module_of
from modgraph.prediction.paths import recording

_HELD = "<forward hooks>"
"""Attribute of a module: an object that has each hook under a name of its own, with its kind and its options."""
_HOOKS = KnownClass("torch.utils.hooks.<hooks>")
_HANDLE = "torch.utils.hooks.RemovableHandle"
_OPTIONS = ("prepend", "with_kwargs", "always_call")
known_class(_HOOKS.name)
known_class(_HANDLE)


@models(f"{MODULE}.register_forward_pre_hook", f"{MODULE}.register_forward_hook")
def register(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    hook = arguments.get(1, "hook", NONE)
    if _is_of_torch(hook):
        return Unknown("the handle of a hook", machine.where, inert=True)
    held = module.attributes.get(_HELD)
    if not isinstance(held, Address):
        entries = {} if held is None else {"?": held}
        held = machine.allocate(InstanceObject(_HOOKS, entries))
        machine.state.change(address, ModuleObject).attributes[_HELD] = held
    name = f"{arguments.function} {machine.state.base.next_index}"
    plain = arguments.open is None and all(arguments.keywords.get(each, FALSE) == FALSE for each in _OPTIONS)
    machine.state.change(held, InstanceObject).attributes[name] = TupleValue((hook, Constant(plain)))
    return machine.allocate(InstanceObject(KnownClass(_HANDLE), {"hooks": held, "name": Constant(name)}))


def _is_of_torch(hook: Value) -> bool:
    """torch's own, of a lazy layer or one that normalises a weight: what is given and taken stays as it is."""
    function = hook.function if isinstance(hook, BoundMethod) else hook
    if isinstance(function, FunctionValue):
        return function.definition.module.startswith("torch.")
    return isinstance(function, KnownFunction)


@models(f"{_HANDLE}.remove", f"{_HANDLE}.__exit__")
def remove(arguments: Arguments, machine: Machine) -> Value:
    handle = machine.state.find(arguments.positional[0], InstanceObject)
    assert handle is not None
    held, name = (handle.attributes.get(each, NONE) for each in ("hooks", "name"))
    if isinstance(held, Address) and isinstance(name, Constant):
        machine.state.change(held, InstanceObject).attributes.pop(name.value, None)
    return NONE


@models(f"{_HANDLE}.__enter__")
def enter(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


def call(machine: Machine, address: Address, arguments: Arguments) -> Value:
    """`module(...)`: what `forward` gives, or what the hooks make of it."""
    if not machine.is_recording:
        return _call(machine, address, arguments)
    return recording.module_call(machine, address, arguments, lambda: _call(machine, address, arguments))


def _call(machine: Machine, address: Address, arguments: Arguments) -> Value:
    module = machine.state.find(address, ModuleObject)
    held = module.attributes.get(_HELD, NONE) if module is not None else NONE
    given = arguments.positional[1:]
    hooks = InstanceObject(_HOOKS) if held == NONE else machine.state.find(held, InstanceObject)
    if hooks is None or hooks.open is not None or not all(map(_is_plain, hooks.attributes.values())):
        why = machine.unknown("which hooks run before and after a module is not known")
        machine.expose((held, *given, *arguments.keywords.values()), why)
        return why
    for hook in _of_kind(hooks, "pre_hook"):
        found = machine.call(hook, (address, TupleValue(given)))
        if isinstance(found, (Unknown, Choice)):
            return machine.unknown("what a hook makes of the arguments is not known", found)
        if found != NONE:
            given = found.items if isinstance(found, TupleValue) else (found,)
    run = machine.get_attribute(address, "forward")
    _require_arguments(machine, run, given, arguments)
    result = machine.call(run, given, arguments.keywords, arguments.where, arguments.open)
    for hook in _of_kind(hooks, "forward_hook"):
        found = machine.call(hook, (address, TupleValue(given), result))
        if isinstance(found, (Unknown, Choice)):
            result = machine.unknown("what a hook makes of the result is not known", found)
        elif found != NONE:
            result = found
    return result


def _require_arguments(machine: Machine, run: Value, given: tuple[Value, ...], arguments: Arguments) -> None:
    """Each layer of torch whose `forward` is modelled takes one argument at least.

    Raises:
        Raised: TypeError, where there is none.
    """
    function = run.function if isinstance(run, BoundMethod) else run
    if not isinstance(function, KnownFunction) or function.name == f"{MODULE}.forward":
        return
    if machine.is_recording and arguments.open is None and not any(map(is_optional, arguments.keywords.values())):
        recording.require_arguments(machine, function.name, given, arguments.keywords)
    if not given and not arguments.keywords and arguments.open is None:
        layer = ".".join(function.name.split(".")[-2:])
        raise machine.raises("TypeError", f"{layer}() missing 1 required positional argument: 'input'")


def _is_plain(entry: Value) -> bool:
    return isinstance(entry, TupleValue) and entry.items[1] == Constant(True)


def _of_kind(hooks: InstanceObject, kind: str) -> list[Value]:
    found = [(name, entry) for name, entry in hooks.attributes.items() if name.partition(" ")[0].endswith(kind)]
    return [entry.items[0] for _, entry in found if isinstance(entry, TupleValue)]
