"""The call of a module: hooks before and after its `forward`. Every call of every module passes here (`call`), in a
constructor and in `forward`, and is told as an `Enter` and a `Leave` by `recording.module_call`.

Source: `torch.nn.Module._call_impl`, torch/utils/hooks.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, InstanceObject, ModuleObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import (
    MODULE,
    NONE,
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
    is_optional,
)
from modgraph.prediction.knowledge.torch.walks import module_of
from modgraph.prediction.paths import recording

_HANDLE = "torch.utils.hooks.RemovableHandle"
_OPTIONS = {
    "forward_pre_hook": {"with_kwargs": "_forward_pre_hooks_with_kwargs"},
    "forward_hook": {"with_kwargs": "_forward_hooks_with_kwargs", "always_call": "_forward_hooks_always_called"},
}
"""By the end of the method's name: where torch keeps which hooks have the option."""
STORES = ("_forward_hooks", "_forward_pre_hooks", *(name for each in _OPTIONS.values() for name in each.values()))
"""Attributes of a module: dicts by the number of the hook, in the order in which hooks run."""
_OF_MODULES = "torch.nn.modules.module"
_ORDERED = KnownClass("collections.OrderedDict")
known_class(_HANDLE)


# ---- setting them ----------------------------------------------------------------------------------------------------


def _store(machine: Machine, address: Address, name: str) -> Value:
    """The dict of that name, which is made where nobody has asked for it before: of all paths, so that asking on one of
    them is nothing to the others."""
    held = _held(machine, address, name)
    if held is None:
        with machine.at_module_level():
            held = machine.allocate(DictObject(cls=_ORDERED))
        machine.modules.hooks[address.index, name] = held
    return held


def _filled(machine: Machine, address: Address, name: str) -> Value:
    """The same, where something is put into it: copies of the module have a copy of it."""
    held = _held(machine, address, name)
    if held is None:
        held = machine.allocate(DictObject(cls=_ORDERED))
    machine.state.change(address, ModuleObject).attributes[name] = held
    return held


def _held(machine: Machine, address: Address, name: str) -> Value | None:
    """None where nobody has asked for it."""
    module = machine.state.find(address, ModuleObject)
    assert module is not None
    held, made = module.attributes.get(name), machine.modules.hooks.get((address.index, name))
    is_made = held is None or (isinstance(held, Unknown) and held.optional and address.index not in _assigned(machine))
    return made if made is not None and is_made else held


def _assigned(machine: Machine) -> set[int]:
    """Modules that were given a dict of their own."""
    return machine.modules.hooks_assigned


@models(*(f"{MODULE}.@{name}" for name in STORES))
def hooks(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    name = arguments.function.rpartition("@")[2]
    if name == "_forward_pre_hooks" and _is_computed_anew(module):
        why = Unknown("the hook that computes a weight anew is not modelled", machine.where, inert=True)
        return machine.allocate(DictObject({}, why, _ORDERED))
    return _store(machine, address, name)


def _is_computed_anew(module: ModuleObject) -> bool:
    """`weight_norm`, `spectral_norm` or pruning may have set a hook that makes a weight of its parts."""
    return any(
        name.endswith("_orig") or (name.endswith("_g") and f"{name[:-1]}v" in module.parameters)
        for name in module.parameters
    )


@models(*(f"{MODULE}.@{name}=" for name in STORES))
def set_hooks(arguments: Arguments, machine: Machine) -> Value:
    name = arguments.function.rpartition("@")[2].removesuffix("=")
    address, _ = module_of(machine, arguments)
    machine.modules.hooks_assigned.add(address.index)
    machine.state.change(address, ModuleObject).attributes[name] = arguments.positional[1]
    return NONE


@models(f"{MODULE}.register_forward_pre_hook", f"{MODULE}.register_forward_hook")
def register(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    kind = arguments.function.rpartition(".")[2].removeprefix("register_")
    held = _filled(machine, address, f"_{kind}s")
    options = ("prepend", *_OPTIONS[kind])
    given = {name: machine.truth(arguments.keywords.get(name, Constant(False))) for name in options}
    hooked = machine.state.find(held, DictObject)
    if hooked is None or arguments.open is not None or None in given.values():
        why = machine.unknown("which hooks run before and after a module is not known")
        machine.expose((held,), why)
        return Unknown("the handle of a hook", machine.where, inert=True)
    stores = [_filled(machine, address, store) for option, store in _OPTIONS[kind].items() if given[option]]
    handle = _new_handle(machine, held, stores)
    number = machine.get_attribute(handle, "id")
    for store in (held, *stores):
        machine.set_item(store, number, arguments.get(1, "hook", NONE) if store is held else TRUE)
    if given["prepend"]:
        machine.call(machine.get_attribute(held, "move_to_end"), (number,), {"last": Constant(False)})
    return handle


def _new_handle(machine: Machine, held: Value, further: list[Value]) -> Address:
    number = Constant(machine.state.base.next_index)
    attributes = {"id": number, "<hooks>": held, "<further>": TupleValue(tuple(further))}
    return machine.allocate(InstanceObject(KnownClass(_HANDLE), attributes))


@models(_HANDLE)
def handle_of(arguments: Arguments, machine: Machine) -> Value:
    """Of torch's own functions that set a hook for all modules."""
    further = arguments.keywords.get("extra_dict", NONE)
    return _new_handle(machine, arguments.get(0, "hooks_dict", NONE), [] if further == NONE else [further])


@models(f"{_HANDLE}.remove", f"{_HANDLE}.__exit__")
def remove(arguments: Arguments, machine: Machine) -> Value:
    handle = machine.state.find(arguments.positional[0], InstanceObject)
    assert handle is not None
    further = handle.attributes.get("<further>", TupleValue(()))
    for held in (handle.attributes["<hooks>"], *(further.items if isinstance(further, TupleValue) else ())):
        if held != NONE:
            machine.call(machine.get_attribute(held, "pop"), (handle.attributes["id"], NONE))
    return NONE


@models(f"{_HANDLE}.__enter__")
def enter(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


# ---- running them ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Hook:
    function: Value
    takes_keywords: bool


def call(machine: Machine, address: Address, arguments: Arguments) -> Value:
    """`module(...)`: what `forward` gives, or what hooks make of it; what a class has for itself instead of both."""
    module = machine.state.find(address, ModuleObject)
    own = machine.class_attribute(module.cls, "_call_impl") if module is not None else None
    if isinstance(own, FunctionValue) and not own.definition.module.startswith("torch."):
        if arguments.function.endswith("._call_impl"):  # it is asked from there
            return _call(machine, address, arguments)
        return _recorded(machine, address, arguments, lambda: _of_class(machine, own, arguments))
    return _recorded(machine, address, arguments, lambda: _call(machine, address, arguments))


def _of_class(machine: Machine, own: Value, arguments: Arguments) -> Value:
    return machine.call(own, arguments.positional, arguments.keywords, arguments.where, arguments.open)


def _recorded(machine: Machine, address: Address, arguments: Arguments, run: Callable[[], Value]) -> Value:
    if not machine.is_recording:
        return run()
    return recording.module_call(machine, address, arguments, run)


def _call(machine: Machine, address: Address, arguments: Arguments) -> Value:
    given, keywords = arguments.positional[1:], arguments.keywords
    patched = _patched(machine, address)
    if patched is not None:
        because = machine.unknown(f"{patched} is given another value")
        return _lost(machine, because, (address, *given, *keywords.values()))
    before, after = (_hooks_of(machine, address, kind) for kind in _OPTIONS)
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        why = before if isinstance(before, Unknown) else after
        assert isinstance(why, Unknown)
        return _lost(machine, why, (address, *given, *keywords.values()))
    for hook in before:
        answer = _before(machine, hook, address, given, keywords)
        if answer is None:
            why = machine.unknown("what a hook makes of the arguments is not known")
            return _lost(machine, why, (address, *given, *keywords.values()))
        given, keywords = answer
    run = machine.get_attribute(address, "forward")
    _require_arguments(machine, run, given, arguments)
    result = machine.call(run, given, keywords, arguments.where, arguments.open)
    if (before or after) and machine.is_recording:
        recording.own_operation(machine, address, (*given, *keywords.values()), result)
    for hook in after:
        named = (machine.allocate(_as_dict(keywords)),) if hook.takes_keywords else ()
        found = machine.call(hook.function, (address, TupleValue(given), *named, result))
        if isinstance(found, (Unknown, Choice)):
            result = machine.unknown("what a hook makes of the result is not known", found)
        elif found != NONE:
            result = found
    return result


_RUN = ("forward", "__call__", "_call_impl", "_wrapped_call_impl")


def _patched(machine: Machine, address: Address) -> str | None:
    """What of a class of torch's is given another value, that runs where the module is called."""
    module = machine.state.find(address, ModuleObject) if machine.modules.patched else None
    order = () if module is None else machine.mro(module.cls)
    names = (f"{cls.name}.{name}" for cls in order if isinstance(cls, (ClassValue, KnownClass)) for name in _RUN)
    return next((each for each in names if each in machine.modules.patched), None)


def _lost(machine: Machine, why: Unknown, touched: tuple[Value, ...]) -> Unknown:
    """What the call does is not known, nor which modules it calls."""
    machine.expose(touched, why)
    if machine.is_recording:
        recording.lost(machine, why)
    return why


def _before(
    machine: Machine, hook: _Hook, address: Address, given: tuple[Value, ...], keywords: Mapping[str, Value]
) -> tuple[tuple[Value, ...], Mapping[str, Value]] | None:
    """The arguments that a hook makes of these; None where they are not known.

    Raises:
        Raised: RuntimeError, where a hook that takes arguments by name gives something else than both.
    """
    if not hook.takes_keywords:
        found = machine.call(hook.function, (address, TupleValue(given)))
        if isinstance(found, (Unknown, Choice)):
            return None
        if found == NONE:
            return given, keywords
        return (found.items if isinstance(found, TupleValue) else (found,)), keywords
    found = machine.call(hook.function, (address, TupleValue(given), machine.allocate(_as_dict(keywords))))
    if found == NONE:
        return given, keywords
    if isinstance(found, (Unknown, Choice)):
        return None
    if not isinstance(found, TupleValue) or len(found.items) != 2:
        raise machine.raises("RuntimeError", "forward pre-hook must return None or a tuple of (new_args, new_kwargs)")
    listed, named = machine.iterate(found.items[0]), machine.state.find(found.items[1], DictObject)
    if isinstance(listed, Unknown) or named is None or named.unsure is not None:
        return None
    names = {key.value: value for key, value in named.entries.items() if isinstance(key, Constant)}
    return tuple(listed), names


def _as_dict(keywords: Mapping[str, Value]) -> DictObject:
    return DictObject({Constant(name): value for name, value in keywords.items()})


def _hooks_of(machine: Machine, address: Address, kind: str) -> list[_Hook] | Unknown:
    """Those that run, in order: of all modules, then its own; not one that runs though `forward` has raised."""
    found: list[_Hook] = []
    own = {name: _held(machine, address, name) or NONE for name in (f"_{kind}s", *_OPTIONS[kind].values())}
    for names in ([_of_all(machine, name) for name in own], list(own.values())):
        functions, *options = (_entries(machine, each) for each in names)
        if functions is None or None in options or (len(options) > 1 and options[1]):
            return machine.unknown("which hooks run before and after a module is not known")
        by_name = options[0] or {}
        found += [_Hook(each, key in by_name) for key, each in functions.items() if not _is_of_torch(each)]
    return found


def _of_all(machine: Machine, name: str) -> Value:
    """Of all modules; there is none as long as nothing has asked for the dict in which torch has them."""
    name = f"_global{name}"
    found = machine.state.bound((_OF_MODULES, name))
    if found is None:
        found = machine.modules.namespaces.get(_OF_MODULES, {}).get(name)
    return NONE if found is None else found


def _entries(machine: Machine, store: Value) -> dict[Value, Value] | None:
    """By number; None where some are not known."""
    if store == NONE:
        return {}
    held = machine.state.find(store, DictObject)
    return dict(held.entries) if held is not None and held.unsure is None else None


def _is_of_torch(hook: Value) -> bool:
    """torch's own, of a lazy layer or one that normalises a weight: what is given and taken stays as it is."""
    function = hook.function if isinstance(hook, BoundMethod) else hook
    if isinstance(function, FunctionValue):
        return function.definition.module.startswith("torch.")
    return isinstance(function, KnownFunction)


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
