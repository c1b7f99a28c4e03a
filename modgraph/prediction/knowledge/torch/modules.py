"""Methods of nn.Module that a constructor calls: modes, look-ups, apply; what converts is in `conversions.py`.

A child that is not known is left as it is: what is done to the others still happens. Source of all:
torch/nn/modules/module.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_SUBMODULES, LimitError
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ModuleObject, TensorObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import (
    FALSE,
    MODULE,
    NONE,
    OPEN,
    TRUE,
    Address,
    BoundMethod,
    Choice,
    Constant,
    KnownFunction,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.torch import forward_hooks
from modgraph.prediction.knowledge.torch.registering import HOOKED
from modgraph.prediction.knowledge.torch.walks import (
    WALKED_BY,
    asked_children,
    asks_its_own_way,
    children_in,
    descendants,
    endless,
    is_own,
    module_of,
    overriding,
    tensors,
    tensors_that_may_be,
)
from modgraph.prediction.python import persistence, torch_names
from modgraph.prediction.python.inner_stores import IS_FULL
from modgraph.prediction.python.registration import class_name, kind_of

known_class(MODULE)


@models(f"{MODULE}.apply")
def apply(arguments: Arguments, machine: Machine) -> Value:
    """Calls the function with every descendant, children before parents, and with the module itself last."""
    address, _ = module_of(machine, arguments)
    function = arguments.get(1, "fn", NONE)
    if overriding(machine, address, ("apply", *WALKED_BY)):
        for child in asked_children(machine, address):
            machine.call(machine.get_attribute(child, "apply"), (function,))
        machine.call(function, (address,))
        return address
    for module in _children_first(machine, address):
        machine.call(function, (module,))
    return address


def _children_first(machine: Machine, root: Address) -> list[Value]:
    ordered: list[Value] = []
    pending: list[tuple[Value, bool]] = [(root, False)]
    above: set[Value] = set()
    while pending:
        machine.spend(1)
        value, entered = pending.pop()
        module = machine.state.find(value, ModuleObject)
        if module is None or entered:
            above.discard(value)
            further = descendants(machine, value) if module is None else None
            ordered.extend([value] if further is None else [further, value])
            continue
        if value in above:
            raise endless(machine)
        above.add(value)
        pending.append((value, True))
        pending.extend((child, False) for _, child in reversed(children_in(module)))
    return ordered


# ---- look-ups --------------------------------------------------------------------------------------------------------


def _reach(arguments: Arguments, machine: Machine) -> tuple[Value, str] | Unknown:
    """The module that holds the last name of the dotted target, and that name."""
    target = arguments.get(1, "target", NONE)
    if not isinstance(target, Constant):
        return machine.unknown("the path of a submodule is not known", target)
    path, _, name = str(target.value).rpartition(".")
    return _descend(machine, arguments.positional[0], path), name


def _asked(machine: Machine, arguments: Arguments) -> tuple[Value, str] | Unknown:
    """The same by `get_submodule`, where the class has one of its own."""
    address, module = module_of(machine, arguments)
    target = arguments.get(1, "target", NONE)
    if not is_own(machine, module, "get_submodule") or not isinstance(target, Constant):
        return _reach(arguments, machine)
    path, _, name = str(target.value).rpartition(".")
    return machine.call(machine.get_attribute(address, "get_submodule"), (Constant(path),)), name


def _descend(machine: Machine, value: Value, path: str) -> Value:
    for name in path.split(".") if path else ():
        value = machine.get_attribute(value, name)
        if kind_of(machine, value) not in ("module", "unknown"):
            raise machine.raises("AttributeError", f"`{name}` is not an nn.Module")
    return value


@models(f"{MODULE}.get_submodule")
def get_submodule(arguments: Arguments, machine: Machine) -> Value:
    target = arguments.get(1, "target", NONE)
    if isinstance(target, Choice):
        first, rest = arguments.positional[0], arguments.positional[2:]
        return machine.distribute(
            target, lambda each: get_submodule(Arguments(arguments.function, (first, each, *rest)), machine)
        )
    if not isinstance(target, Constant):
        machine.may_refuse("AttributeError")
        return _one_of_all(machine, module_of(machine, arguments)[0], target)
    return _descend(machine, arguments.positional[0], str(target.value))


def _one_of_all(machine: Machine, root: Address, path: Value) -> Value:
    """What stands at a path that is not known. It may be changed through it, so where it may be one of many, all are
    open from here on."""
    reason = machine.unknown("the path of a submodule is not known", path).reason
    modules = tuple(value for value in _children_first(machine, root) if isinstance(value, Address))
    if 1 < len(modules) <= MAX_SUBMODULES:
        return Choice(modules, reason, machine.where)
    found = machine.choice(modules, reason)
    if isinstance(found, Unknown):
        machine.expose([root], found)
    return found


@models(f"{MODULE}.get_parameter", f"{MODULE}.get_buffer")
def get_tensor(arguments: Arguments, machine: Machine) -> Value:
    reached = _asked(machine, arguments)
    if isinstance(reached, Unknown):
        machine.may_refuse("AttributeError")
        return reached
    found = machine.get_attribute(*reached)
    owner, name = reached
    module = machine.state.find(owner, ModuleObject)
    if last_name(arguments.function) == "get_parameter":
        tensor = machine.state.find(found, TensorObject)
        is_other = found == NONE or (isinstance(found, Address) and (tensor is None or tensor.is_parameter is False))
    else:
        is_known = module is not None and OPEN not in module.buffers and isinstance(found, (Address, Constant))
        is_other = module is not None and is_known and name not in module.buffers
    if is_other:
        kind = "an nn.Parameter" if arguments.function.endswith("parameter") else "a buffer"
        raise machine.raises("AttributeError", f"`{name}` is not {kind}")
    return found


@models(f"{MODULE}.set_submodule")
def set_submodule(arguments: Arguments, machine: Machine) -> Value:
    reached = _asked(machine, arguments)
    if isinstance(reached, Unknown):
        machine.expose((arguments.positional[0],), reached)
        return NONE
    held = machine.find_attribute(*reached)
    is_other = isinstance(held, Constant) or (held is not None and machine.state.find(held, TensorObject) is not None)
    if is_other or (held is None and machine.truth(arguments.get(3, "strict", FALSE))):
        raise machine.raises("AttributeError", f"`{reached[1]}` is not an nn.Module")
    machine.set_attribute(*reached, arguments.get(2, "module", NONE))
    return NONE


@models(f"{MODULE}._get_name")
def get_name(arguments: Arguments, machine: Machine) -> Value:
    return Constant(class_name(module_of(machine, arguments)[1].cls))


@models(f"{MODULE}.extra_repr")
def extra_repr(arguments: Arguments, machine: Machine) -> Value:
    if torch_names.overrides(machine, module_of(machine, arguments)[1].cls, "extra_repr"):
        return Unknown("how a layer of torch shows itself is not modelled", machine.where, inert=True)
    return Constant("")


_SHOWN = ("__repr__", "extra_repr", "_get_name")
"""Methods by which a class says how it is shown."""


@models(f"{MODULE}.__repr__", f"{MODULE}.__str__")
def text(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    address, _ = module_of(machine, arguments)
    for module in _children_first(machine, address):
        held = machine.state.find(module, ModuleObject)
        for each in _SHOWN if held is not None else ():
            if held is not None and is_own(machine, held, each) and (module, each) != (address, name):
                why = machine.unknown("how often a text is asked for is not known")
                machine.may_be_called([machine.get_attribute(module, each)], why, ("__call__",))
    return Unknown(f"Module.{name} is not interpreted", machine.where, inert=True)


@models(f"{MODULE}.__dir__")
def names(arguments: Arguments, machine: Machine) -> Value:
    return machine.unknown("dir() of a module is not interpreted")


@models(f"{MODULE}.forward")
def forward(arguments: Arguments, machine: Machine) -> Value:
    _, module = module_of(machine, arguments)
    message = f'Module [{class_name(module.cls)}] is missing the required "forward" function'
    raise machine.raises("NotImplementedError", message)


@models(f"{MODULE}.__call__", f"{MODULE}._call_impl", f"{MODULE}._wrapped_call_impl")
def call(arguments: Arguments, machine: Machine) -> Value:
    """A constructor that runs a layer: its `forward`, and the hooks around it."""
    return forward_hooks.call(machine, module_of(machine, arguments)[0], arguments)


# ---- modes -----------------------------------------------------------------------------------------------------------


@models(f"{MODULE}.train")
def train(arguments: Arguments, machine: Machine) -> Value:
    """Sets `training` below, through a user's own `train` of a child. What may be a child may be in either mode."""
    address, _ = module_of(machine, arguments)
    mode = arguments.get(1, "mode", TRUE)
    pending: list[tuple[Address, bool, bool]] = [(address, True, False)]
    above, done, doubted = set[Address](), set[Address](), set[Address]()
    while pending:
        machine.spend(1)
        place, is_certain, entered = pending.pop()
        if entered:
            above.discard(place)
            done.add(place)
        elif place in above and is_certain:
            raise endless(machine)
        elif place not in above and place not in done:
            _set_mode(machine, place, mode, is_certain)
            if is_certain:
                above.add(place)
                pending.append((place, True, True))
            found = list(_left_to_torch(machine, place, mode, is_certain, doubted))
            pending.extend((each, certainly, False) for each, certainly in reversed(found))
    return address


def _set_mode(machine: Machine, place: Address, mode: Value, is_certain: bool) -> None:
    module = machine.state.change(place, ModuleObject)
    if is_certain or module.attributes.get("training") == mode:
        module.attributes["training"] = mode
    else:
        module.attributes["training"] = Unknown("whether it trains depends on which module is a child", inert=True)


def _left_to_torch(
    machine: Machine, place: Address, mode: Value, is_certain: bool, doubted: set[Address]
) -> Iterator[tuple[Address, bool]]:
    """Children, and whether they are, whose `train` is torch's own; that of others has been called. What may be a child
    is looked at once."""
    for child in asked_children(machine, place):
        for each in (child,) if isinstance(child, Address) else _possible(machine, child):
            inner = machine.state.find(each, ModuleObject)
            is_child = is_certain and each == child
            if inner is None or (not is_child and each in doubted):
                continue
            doubted.update(() if is_child else (each,))
            own = machine.class_attribute(inner.cls, "train")
            if own is None or isinstance(own, (KnownFunction, Unknown)):
                yield each, is_child
            elif is_child:
                machine.call(BoundMethod(own, each), (mode,))
            else:
                _maybe_called(machine, BoundMethod(own, each), mode)


def _possible(machine: Machine, child: Value) -> list[Address]:
    """The modules that a child may be, which of them is not known."""
    if not isinstance(child, (Unknown, Choice)):
        return []
    found = (Address(index) for index in sorted(points_to.objects_of((child,))))
    return [each for each in found if machine.state.find(each, ModuleObject) is not None]


def _maybe_called(machine: Machine, method: Value, mode: Value) -> None:
    machine.fork([lambda: NONE, lambda: machine.call(method, (mode,))], "depends on which module is a child")


@models(f"{MODULE}.eval")
def evaluation(arguments: Arguments, machine: Machine) -> Value:
    return machine.call(machine.get_attribute(arguments.positional[0], "train"), (FALSE,))


@models(f"{MODULE}.requires_grad_")
def requires_grad(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    given = arguments.get(1, "requires_grad", TRUE)
    flag = machine.truth(given)
    if asks_its_own_way(machine, address, "parameters"):
        found = machine.iterate(machine.call(machine.get_attribute(address, "parameters")))
        if isinstance(found, Unknown):
            machine.expose([address, found], found)
        for each in found if isinstance(found, list) else ():
            machine.call(machine.get_attribute(each, "requires_grad_"), (given,))
        return address
    for each in tensors_that_may_be(machine, address, "parameters"):
        doubted = machine.state.change(each, TensorObject)
        doubted.requires_grad = flag if doubted.requires_grad is flag else None
    for _, tensor in list(tensors(machine, address, "parameters")):
        held = machine.state.find(tensor, TensorObject)
        if isinstance(tensor, Address) and held is not None:
            if held.lazy:
                raise machine.raises("ValueError", "Attempted to use an uninitialized parameter in requires_grad_")
            machine.state.change(tensor, TensorObject).requires_grad = flag
    return address


@models(f"{MODULE}.zero_grad")
def zero_grad(arguments: Arguments, machine: Machine) -> Value:
    """Asks for the parameters, which a class may do for itself."""
    address, _ = module_of(machine, arguments)
    if asks_its_own_way(machine, address, "parameters"):
        machine.iterate(machine.call(machine.get_attribute(address, "parameters")))
    return NONE


@models(
    f"{MODULE}.compile",
    f"{MODULE}.set_extra_state",
    f"{MODULE}.register_full_backward_pre_hook",
)
def no_effect(arguments: Arguments, machine: Machine) -> Value:
    """A hook runs with backward, never in the constructor; its handle is inert."""
    name = last_name(arguments.function)
    return Unknown("the handle of a hook", machine.where, inert=True) if "hook" in name else NONE


@models(f"{MODULE}.register_backward_hook", f"{MODULE}.register_full_backward_hook")
def backward_hook(arguments: Arguments, machine: Machine) -> Value:
    """It runs with backward, too; the module notes of which kind its hooks are."""
    address, _ = module_of(machine, arguments)
    kind = TRUE if "full" in last_name(arguments.function) else FALSE
    machine.state.change(address, ModuleObject).attributes[IS_FULL] = kind
    return no_effect(arguments, machine)


REGISTRATION_HOOKS = tuple(f"register_module_{kind}_registration_hook" for kind in ("module", "parameter", "buffer"))
"""torch's functions that set a hook for all modules."""


@models(*(f"{MODULE.rpartition('.')[0]}.{name}" for name in REGISTRATION_HOOKS))
def hook_on_all(arguments: Arguments, machine: Machine) -> Value:
    """What is registered from here on is what the hook makes of it, and the hook may do anything else.

    Raises:
        LimitError: a constructor sets it; one that begins after a module has set it ends in `Module.__init__`.
    """
    if not machine.module_depth:
        raise LimitError(HOOKED)
    machine.problem(HOOKED)
    set_hook_on_all(machine)
    return Unknown("the handle of a hook", machine.where, inert=True)


def set_hook_on_all(machine: Machine) -> None:
    """Notes that a module of what is predicted sets one."""
    machine.modules.hooked.update(machine.modules.roots[-1:])
    machine.caches.fragments.clear()
    machine.caches.fragments_here.clear()


@models(f"{MODULE}.@_non_persistent_buffers_set")
def non_persistent_names(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    return persistence.view(machine, address)


@models(f"{MODULE}.@_non_persistent_buffers_set=")
def set_non_persistent_names(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    persistence.replace(machine, address, arguments.positional[1])
    return NONE


_HOOKS = (
    *("_backward_pre_hooks", "_backward_hooks", IS_FULL),
    *("_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"),
)


@models(f"{MODULE}.__setstate__")
def set_state(arguments: Arguments, machine: Machine) -> Value:
    """Its attributes are those of the state; that hooks may be missing among them makes no difference here."""
    held = machine.get_attribute(arguments.positional[0], "__dict__")
    machine.call(machine.get_attribute(held, "update"), (arguments.get(1, "state", NONE),))
    return NONE


@models(*(f"{MODULE}.@{name}=" for name in _HOOKS))
def set_hooks(arguments: Arguments, machine: Machine) -> Value:
    """These hooks run with backward or the state dict."""
    return NONE


@models(*(f"{MODULE}.@{name}" for name in _HOOKS))
def hooks(arguments: Arguments, machine: Machine) -> Value:
    return Unknown("hooks are not interpreted", machine.where, inert=True)
