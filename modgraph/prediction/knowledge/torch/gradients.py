"""Whether operations are recorded for gradients: torch.no_grad and kin, as contexts and as decorators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import (
    A_VIEW,
    DETACHED,
    LEAF,
    MAY_BE,
    OF_LEAF,
    ONE_OF_SEVERAL,
    ModuleObject,
    TensorObject,
)
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    Choice,
    Constant,
    KnownFunction,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import shared_memory
from modgraph.source import nodes
from modgraph.source.code_text import code_text

_MODES = ("torch", "<gradients>")
"""Where a state keeps the contexts that are entered, the innermost last; there is no entry outside of all."""
_INFERRING = Constant("inference")
"""Among these: inference mode, in which nothing is recorded, also where gradients are switched on again."""
_NOT_INFERRING = Constant("no inference")
"""Among these: outside of inference mode, where gradients are switched on."""
_CONTEXTS = {
    "torch._with_gradients": TRUE,
    "torch._without_gradients": FALSE,
    "torch._in_inference": _INFERRING,
    "torch._beside_inference": _NOT_INFERRING,
}
"""What is entered with each."""
_UNSURE = ("torch", "<gradients set>")
"""Set where `set_grad_enabled` was called, which is a context and a statement."""

_OFF = ("torch.no_grad", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad")
_INFERENCE = ("torch.inference_mode", "torch.autograd.grad_mode.inference_mode")
_ON = ("torch.enable_grad", "torch.autograd.grad_mode.enable_grad")
_SET = ("torch.set_grad_enabled", "torch.autograd.grad_mode.set_grad_enabled")


@models(*_OFF, *_INFERENCE, *_ON, *_SET)
def context(arguments: Arguments, machine: Machine) -> Value:
    """As a decorator without arguments, the function itself; called, something that is a context and a decorator."""
    given = arguments.positional
    if given and not isinstance(given[0], (Constant, Unknown)):
        return given[0]
    if arguments.function in _INFERENCE and arguments.open is None:
        mode = machine.truth(arguments.get(0, "mode", TRUE))
        if mode is not None:
            return KnownFunction("torch._in_inference" if mode else "torch._beside_inference")
    if arguments.function in _SET or given or arguments.keywords:
        machine.state.globals[_UNSURE] = TRUE
        return KnownFunction("torch._transparent")
    return KnownFunction("torch._with_gradients" if arguments.function in _ON else "torch._without_gradients")


@models(*_CONTEXTS)
def decorated(arguments: Arguments, machine: Machine) -> Value:
    """The function; what its decorators say is looked at where it runs."""
    return arguments.positional[0] if arguments.positional else NONE


@models(*(f"{each}.__enter__" for each in _CONTEXTS))
def enter(arguments: Arguments, machine: Machine) -> Value:
    mode = _CONTEXTS[arguments.function.removesuffix(".__enter__")]
    machine.state.globals[_MODES] = TupleValue((*_entered(machine), mode))
    return NONE


@models(*(f"{each}.__exit__" for each in _CONTEXTS))
def leave(arguments: Arguments, machine: Machine) -> Value:
    left = _entered(machine)[:-1]
    if left:
        machine.state.globals[_MODES] = TupleValue(left)
    else:
        machine.state.globals.pop(_MODES, None)
    return NONE


def _entered(machine: Machine) -> tuple[Value, ...]:
    held = machine.state.globals.get(_MODES, TupleValue(()))
    return held.items if isinstance(held, TupleValue) else (held,)


def are_recorded(machine: Machine) -> bool | None:
    """Whether an operation here is recorded for gradients; None where that is not known, as of what `forward` computes
    with no `with` of its own around it."""
    enabled, inferring = _are_enabled(machine), _is_inferring(machine)
    if enabled is False or inferring:
        return False
    return None if enabled is None or inferring is None else True


def _are_enabled(machine: Machine) -> bool | None:
    """Whether gradients are switched on, which the innermost context says, in inference mode too; None where that is
    not known."""
    if _UNSURE in machine.state.globals or _may_be_decorated(machine):
        return None
    held = machine.state.globals.get(_MODES)
    if held is None:
        return None if machine.is_recording else True  # of `forward`, its caller decides
    last = held.items[-1] if isinstance(held, TupleValue) and held.items else None
    return None if last is None else last in (TRUE, _NOT_INFERRING)


def _is_inferring(machine: Machine) -> bool | None:
    """Whether it is inference mode, in which nothing is recorded though gradients may be switched on again; None where
    that is not known."""
    if _UNSURE in machine.state.globals or _may_be_decorated(machine):
        return None
    said = [each for each in _entered(machine) if each in (_INFERRING, _NOT_INFERRING)]
    if said:
        return said[-1] == _INFERRING
    return None if machine.is_recording else False  # of `forward`, its caller decides


@models("torch.is_grad_enabled")
def asked(arguments: Arguments, machine: Machine) -> Value:
    """Torch itself asks whether it may take a shorter way, which calls no layers: that is not gone, as in a trace."""
    enabled = _are_enabled(machine)
    if enabled is None and machine.is_recording and machine.is_asked_by_torch:
        return TRUE
    if enabled is None:
        return Unknown("depends on where gradients are recorded", machine.where, inert=True)
    return Constant(enabled)


@models("torch.is_inference_mode_enabled", "torch.is_anomaly_enabled", "torch.is_anomaly_check_nan_enabled")
def asked_of_caller(arguments: Arguments, machine: Machine) -> Value:
    """What a `with` around the model decides, but of inference mode that the program enters or leaves itself."""
    inferring = _is_inferring(machine) if "inference" in arguments.function else None
    if inferring is not None and machine.is_recording:
        return Constant(inferring)
    return Unknown(f"depends on what is around the call ({arguments.function})", machine.where, inert=True)


def _may_be_decorated(machine: Machine) -> bool:
    """A function that runs has a decorator that speaks of gradients."""
    for frame in machine.frames:
        node = frame.function.definition.node if frame.function is not None else None
        if isinstance(node, nodes.FunctionDef) and node.decorators and _speaks_of_gradients(node):
            return True
    return False


@lru_cache(maxsize=1024)
def _speaks_of_gradients(node: nodes.FunctionDef) -> bool:
    texts = [code_text(each) for each in node.decorators]
    return any("grad" in text or "inference" in text for text in texts)


def of_layer(machine: Machine, module: Value, *sources: TensorObject) -> bool:
    """Whether what a layer gives needs a gradient: unless neither its parameters nor what it is given do."""
    held = machine.state.find(module, ModuleObject)
    if held is None or held.modules:
        return True
    parameters = [machine.state.find(value, TensorObject) for value in held.parameters.values() if value != NONE]
    if any(each is None or each.requires_grad is not False for each in parameters):
        return True
    return any(each.requires_grad is not False or (each.shape is None and each.dtype is None) for each in sources)


def needs_of_modules(machine: Machine, values: Iterable[Value]) -> Iterator[bool | None]:
    """Whether the parameters of modules among these need a gradient: what a module gives comes of them, too."""
    for value in values:
        module = machine.state.find(value, ModuleObject)
        if module is None:
            continue
        if module.modules:  # of what these give, and whether they are called, more is needed
            yield None
        for each in module.parameters.values():
            if each != NONE:
                parameter = machine.state.find(each, TensorObject)
                yield None if parameter is None else parameter.requires_grad


def refuse_on_leaf(machine: Machine, value: Value) -> None:
    """Of a tensor that is changed in place.

    Raises:
        Raised: RuntimeError, where it is a leaf that needs a gradient, or a view of one, and operations are recorded.
    """
    tensor = machine.state.find(value, TensorObject)
    if tensor is None or tensor.requires_grad is False or tensor.lazy is not False or tensor.cls is not None:
        return
    is_leaf = tensor.is_parameter is True or LEAF in tensor.attributes
    is_one = ONE_OF_SEVERAL in tensor.attributes
    if not is_leaf and not is_one and OF_LEAF not in tensor.attributes:
        return
    recorded = are_recorded(machine)
    if recorded and tensor.requires_grad:
        what = "one of several views of a tensor" if is_one else "a view of a leaf Variable"
        what = "a leaf Variable" if is_leaf else what
        raise machine.raises("RuntimeError", f"{what} that requires grad is being used in an in-place operation.")
    if recorded is not False:
        machine.may_refuse("RuntimeError")


def written_to(machine: Machine, address: Value, operands: Iterable[Value]) -> None:
    """A tensor that others are written into needs a gradient if they do, where operations are recorded; so does one
    whose memory that is.

    Raises:
        Raised: RuntimeError, where it is one of several views, which must not.
    """
    tensor = machine.state.find(address, TensorObject)
    needs = _needs_of(machine, operands)
    if tensor is None or not needs - {False} or not _is_recorded_for(tensor):
        return
    recorded = are_recorded(machine)
    if recorded is False:
        return
    if ONE_OF_SEVERAL in tensor.attributes and True in needs:
        if recorded:
            raise machine.raises("RuntimeError", "one of several views is modified inplace with a gradient.")
        machine.may_refuse("RuntimeError")
    is_sure, seen = bool(recorded) and True in needs, set[Value]()
    while tensor is not None and isinstance(address, Address) and address not in seen:
        seen.add(address)
        if tensor.requires_grad is False or (is_sure and tensor.requires_grad is None):
            machine.state.change(address, TensorObject).requires_grad = True if is_sure else None
        if DETACHED in tensor.attributes:
            return
        is_sure = is_sure and A_VIEW in tensor.attributes
        address = tensor.attributes.get(MAY_BE, NONE)
        tensor = shared_memory.owner(machine.state, address) if isinstance(address, Address) else None


def _needs_of(machine: Machine, operands: Iterable[Value]) -> set[bool | None]:
    """Whether tensors among these need a gradient."""
    found: set[bool | None] = set()
    for value in operands:
        tensor = machine.state.find(value, TensorObject)
        if tensor is not None:
            found.add(tensor.requires_grad)
        elif isinstance(value, Choice):
            needs = _needs_of(machine, value.alternatives)
            found |= needs if len(needs) == 1 else {None}
        elif isinstance(value, Unknown) and (not value.inert or value.library):
            found.add(None)
    return found


def _is_recorded_for(tensor: TensorObject) -> bool:
    """Of whole numbers there are no gradients."""
    return tensor.dtype is None or tensor.dtype.startswith(("float", "bfloat", "complex"))


def may_have_come(machine: Machine, tensor: TensorObject) -> bool:
    """Of a tensor that needed no gradient when it was made: something may have been written since into what it is a
    view of, so that it needs one."""
    seen = set[Value]()
    while DETACHED not in tensor.attributes:
        address = tensor.attributes.get(MAY_BE, NONE)
        above = shared_memory.owner(machine.state, address) if isinstance(address, Address) else None
        if above is None or address in seen:
            return False
        if above.requires_grad is not False:
            return True
        seen.add(address)
        tensor = above
    return False
