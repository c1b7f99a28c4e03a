"""Whether a call may as well raise: it reaches outside the program, or is given what may not be fit for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.objects import DictObject, ListObject, ModuleObject, TensorObject
from modgraph.prediction.domain.registry import is_outside
from modgraph.prediction.domain.values import (
    MODULE,
    NONE,
    Address,
    Choice,
    Constant,
    Device,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths.guards import Guard
from modgraph.prediction.python.classes import TENSOR

if TYPE_CHECKING:
    from modgraph.prediction.domain.calling import Raised
    from modgraph.prediction.domain.machine import Machine
    from modgraph.prediction.domain.state import State

_NEVER_RAISING = frozenset(
    f"builtins.{name}"
    for name in ("isinstance", "hasattr", "getattr", "callable", "type", "id", "print", "bool", "str")
)
_MOVING = frozenset({f"{MODULE}.to", f"{TENSOR}.to"})
"""They take a device as their first argument."""
_ALWAYS_THERE = ("cpu", "meta")


def may_fail(name: str, found: Value, arguments: Arguments) -> bool:
    """A call that gave `found` may as well raise: it reaches outside, or is given what may not be fit for it."""
    if type(found) is not Unknown or name in _NEVER_RAISING:
        return is_outside(name) or _asks_for_device(name, arguments)
    doubtful = any(type(value) is Unknown and value.is_doubtful for value in arguments.positional)
    one_of_some = not name.startswith("torch.") and any(type(value) is Choice for value in arguments.positional)
    return doubtful or one_of_some or is_outside(name)


def may_refuse(machine: Machine, name: str, arguments: Arguments) -> bool:
    """A function of torch is given what is not wholly known, inside of a `try`: it refuses some sizes and names."""
    if machine.is_recording:  # what a run of `forward` is refused is looked for by itself
        return False
    if not name.startswith("torch.") or name in _TAKING_ANYTHING or not any(map(_handles, machine.guards)):
        return False
    if name.startswith(_FILLING) and machine.frames and machine.frames[-1].module.startswith("torch."):
        return False  # what torch's own layers are filled with fits them
    given = (*arguments.positional, *arguments.keywords.values())
    return any(_is_unsure(machine, each) for each in given) or _is_empty(machine, name, given)


def _is_empty(machine: Machine, name: str, given: tuple[Value, ...]) -> bool:
    """One of the tensors holds nothing (on "meta"), where others hold something, or what it holds may be asked for."""
    lists = (machine.state.find(each, ListObject) for each in given)
    inside = [item for each in lists if each is not None for item in each.items[:_LOOKED_AT]]
    parts = [part for each in given if isinstance(each, TupleValue) for part in each.items]
    layers = (machine.state.find(each, ModuleObject) for each in given)
    weights = [
        held for each in layers if each is not None for held in (*each.parameters.values(), *each.buffers.values())
    ]
    tensors = (machine.state.find(each, TensorObject) for each in (*given, *inside, *parts, *weights))
    devices = [each.device for each in tensors if each is not None]
    last = last_name(name)
    if "meta" not in devices or last in _NOT_COMPUTING:
        return False
    if last == "__getitem__" and len(devices) > 1:  # one may be a mask
        return True
    return len(set(devices)) > 1 or not (name.startswith(_LAYERS) or last in _KINDS or last.strip("_") in _NOT_READING)


_LAYERS = ("torch.nn.modules.", "torch.nn.init.", "torch.nn.parameter.", MODULE)
_NOT_COMPUTING = frozenset(
    (
        *("__init__", "register_buffer", "register_parameter", "add_module", "requires_grad_", "state_dict"),
        *("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like", "to_empty", "detach"),
        *("parameters", "buffers", "named_parameters", "named_buffers"),
    )
)
_KINDS = ("float", "int")
_NOT_READING = frozenset(
    (
        *("abs", "add", "addmm", "all", "amax", "amin", "and", "any", "argmax", "argmin", "asin", "atan"),
        *("atan2", "baddbmm", "bernoulli", "bmm", "cat", "ceil", "chunk", "clamp", "clone", "concat"),
        *("contiguous", "conv1d", "conv2d", "conv3d", "copy", "cos", "cosh", "cumprod", "cumsum", "detach"),
        *("diff", "dim", "div", "double", "dropout", "einsum", "element_size", "elu", "empty", "eq", "erf"),
        *("exp", "expand_as", "exponential", "eye", "fill", "flatten", "flip", "floor", "floordiv", "full"),
        *("gather", "ge", "gelu", "getitem", "gt", "half", "iadd", "idiv", "imul", "invert", "is_complex"),
        *("is_contiguous", "is_floating_point", "isfinite", "isinf", "isnan", "isub", "itruediv"),
        *("layer_norm", "le", "len", "linear", "log", "log10", "log1p", "log2", "log_softmax", "logsumexp"),
        *("long", "lt", "masked_fill", "matmul", "max", "maximum", "mean", "min", "minimum", "mish", "mm"),
        *("mod", "movedim", "mul", "narrow", "ndimension", "ne", "neg", "norm", "normal", "numel", "ones"),
        *("or", "outer", "permute", "pos", "pow", "prod", "radd", "rand", "randn", "randn_like", "relu"),
        *("repeat", "reshape", "requires_grad", "rmul", "roll", "round", "rsqrt", "rsub", "rtruediv", "selu"),
        *("sigmoid", "sign", "silu", "sin", "sinh", "size", "softmax", "softplus", "sort", "sqrt", "square"),
        *("squeeze", "stack", "std", "stride", "sub", "sum", "swapaxes", "swapdims", "t", "tan", "tanh"),
        *("tile", "transpose", "tril", "triu", "truediv", "type_as", "unbind", "uniform", "unsqueeze", "var"),
        *("view", "view_as", "xor", "zero", "zeros", "Parameter", "Buffer"),
    )
)
"""What works on "meta", as far as shapes and kinds fit: functions of torch and methods of tensors, without underscores
around them. What is left out may ask for the items."""


_FILLING = "torch.nn.init."
_TAKING_ANYTHING = frozenset(
    (
        *(f"{MODULE}.{name}" for name in ("__setattr__", "__delattr__", "train", "eval", "apply", "requires_grad_")),
        *("torch.is_tensor", "torch.is_storage", "torch._assert"),
    )
)


def _handles(guard: list[tuple[Raised, State]]) -> bool:
    return isinstance(guard, Guard) and guard.doubts


def _is_unsure(machine: Machine, value: Value) -> bool:
    """It, or a part of it, is not known; or the shape of a tensor is not."""
    if isinstance(value, (Unknown, Choice)):
        return not (isinstance(value, Unknown) and value.reason.startswith("torch."))  # which is a name of torch's own
    if isinstance(value, (TupleValue, SliceValue)):
        return any(_is_unsure(machine, each) for each in value.parts())
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(item, TensorObject):
        return item.shape is None or None in item.shape
    if isinstance(item, ListObject):
        return item.open is not None or any(_is_unsure(machine, each) for each in item.items[:_LOOKED_AT])
    if isinstance(item, DictObject):
        return item.unsure is not None or any(map(_is_plainly_unsure, item.entries))
    return False


_LOOKED_AT = 64
"""Items of a list that are looked at."""


def _is_plainly_unsure(value: Value) -> bool:
    return isinstance(value, (Unknown, Choice))


def _asks_for_device(name: str, arguments: Arguments) -> bool:
    """The call makes or moves something on a device that may not be there."""
    device = arguments.keywords.get("device", NONE)
    if device is not NONE and _may_be_absent(device):
        return True
    return name in _MOVING and len(arguments.positional) > 1 and _may_be_absent(arguments.positional[1])


def _may_be_absent(device: Value) -> bool:
    if isinstance(device, Choice):
        return any(map(_may_be_absent, device.alternatives))
    if isinstance(device, Constant):
        return isinstance(device.value, str) and not device.value.startswith(_ALWAYS_THERE)
    return isinstance(device, Unknown) or (isinstance(device, Device) and not device.name.startswith(_ALWAYS_THERE))


DEVICE = "torch.device"
NOT_KNOWN = "the device is not known"


def is_device(value: Unknown) -> bool:
    """It is a device, whichever."""
    return value.inert and value.reason.startswith(NOT_KNOWN)
