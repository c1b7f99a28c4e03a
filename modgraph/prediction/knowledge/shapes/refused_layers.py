"""What is refused of other functions of `torch.nn.functional`, and of layers, which refuse what their functions do."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain import registry
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import FALSE, NONE, BoundMethod, Constant, Value
from modgraph.prediction.knowledge.shapes.fitting import number
from modgraph.prediction.knowledge.tensors.demanding import (
    differ,
    given,
    is_empty,
    refuse,
    require_floats,
    require_one_dtype,
    require_rank,
    require_shape,
    require_spread,
    require_text,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import category, count
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, made
from modgraph.prediction.knowledge.torch.layers import rank_of, ranks_that
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_FUNCTIONAL, _LAYERS = "torch.nn.functional", "torch.nn.modules"

# ---- element by element ----------------------------------------------------------------------------------------------

_OF_FLOATS = (
    *("celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "leaky_relu", "logsigmoid", "mish", "selu"),
    *("silu", "softplus", "softshrink", "rrelu", "glu", "normalize", "gumbel_softmax"),
)
"""Functions that are not implemented for whole numbers."""


@demands(*(f"{_FUNCTIONAL}.{name}" for name in _OF_FLOATS))
def of_floats(arguments: Arguments, machine: Machine) -> None:
    source = given(arguments, machine, 0, "input")
    name = last_name(arguments.function)
    if not is_empty(source.shape):
        kind = "RuntimeError" if name in ("normalize", "gumbel_softmax") else "NotImplementedError"
        require_floats(machine, name, source, kind=kind)
    if arguments.function.endswith(".gelu"):
        require_text(machine, "gelu", arguments.named("approximate", NONE), "none", "tanh")


_OVER_ONE = ("softmax", "log_softmax", "softmin")


@demands(*(f"{owner}.{name}" for name in _OVER_ONE for owner in ("torch", TENSOR, _FUNCTIONAL)))
def over_one(arguments: Arguments, machine: Machine) -> None:
    """Of floating point, or made so; the dimension is there."""
    source, functional = given(arguments, machine, 0, "input"), arguments.function.startswith(_FUNCTIONAL)
    if source.shape is not None:
        dimension(machine, arguments.get(1, "dim", NONE), len(source.shape))
    if arguments.get(3 if functional else 2, "dtype", NONE) == NONE and not is_empty(source.shape):
        require_floats(machine, last_name(arguments.function), source, kind="NotImplementedError")


@demands(f"{_FUNCTIONAL}.prelu", "torch.prelu", f"{TENSOR}.prelu")
def prelu(arguments: Arguments, machine: Machine) -> None:
    """One slope, or one for each channel."""
    source, weight = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "weight")
    require_one_dtype(machine, "prelu", source, weight)
    require_rank(machine, "prelu: weight", weight.shape, (0, 1))
    slopes = count(weight.shape)
    if source.shape is None or slopes is None or slopes == 1:
        return
    if not source.shape:
        refuse(machine, "prelu: not allowed for an input without dimensions")
    channels = source.shape[1] if len(source.shape) > 1 else 1
    if differ(slopes, channels):
        refuse(machine, f"prelu: {slopes} slopes for {channels} channels of {told(source.shape)}")


@demands(f"{_FUNCTIONAL}.local_response_norm")
def by_neighbours(arguments: Arguments, machine: Machine) -> None:
    source = given(arguments, machine, 0, "input")
    if source.shape is not None and len(source.shape) < 3:
        refuse(machine, f"local_response_norm: expected 3 dimensions or more, not {told(source.shape)}", "ValueError")


@demands(f"{_FUNCTIONAL}.channel_shuffle", "torch.channel_shuffle")
def shuffled(arguments: Arguments, machine: Machine) -> None:
    source, groups = given(arguments, machine, 0, "input"), number(arguments.get(1, "groups", NONE))
    if groups is not None and groups <= 0:
        refuse(machine, f"channel_shuffle: the number of groups must be positive, not {groups}")
    if source.shape is None:
        return
    if len(source.shape) < 3:
        refuse(machine, f"channel_shuffle: expected 3 dimensions or more, not {told(source.shape)}")
    if groups is not None and source.shape[1] is not None and source.shape[1] % groups:
        refuse(machine, f"channel_shuffle: {source.shape[1]} channels are not divisible by {groups}")


# ---- products --------------------------------------------------------------------------------------------------------


@demands(f"{_FUNCTIONAL}.linear")
def linear(arguments: Arguments, machine: Machine) -> None:
    """A bias of the same dtype that spreads to the result, of weights that are a matrix."""
    source, weight = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "weight")
    value = arguments.get(2, "bias", NONE)
    if value == NONE:
        return
    bias = given(arguments, machine, 2, "bias")
    require_one_dtype(machine, "linear", source, weight, bias)
    if bias.shape is None or weight.shape is None or source.shape is None:
        return
    require_rank(machine, "linear: weight beside a bias", weight.shape, (2,))
    rows = source.shape[:-1] or (1,)
    require_spread(machine, "linear: bias", bias.shape, (*rows, weight.shape[0]))


@demands(f"{_FUNCTIONAL}.bilinear")
def bilinear(arguments: Arguments, machine: Machine) -> None:
    """Two inputs that differ in the last size alone, and all of one dtype."""
    parts = [given(arguments, machine, at, name) for at, name in enumerate(("input1", "input2", "weight", "bias"))]
    require_one_dtype(machine, "bilinear", *parts)
    left, right = parts[0].shape, parts[1].shape
    if left is not None and right is not None:
        require_shape(machine, "bilinear", right[:-1], left[:-1])


@demands(
    *(
        f"{owner}.conv{kind}{rank}d"
        for owner in ("torch", _FUNCTIONAL)
        for rank in (1, 2, 3)
        for kind in ("", "_transpose")
    )
)
def convolution(arguments: Arguments, machine: Machine) -> None:
    """A bias of one number for each channel, of the same dtype, and groups that divide."""
    function = last_name(arguments.function)
    transposed = "transpose" in function
    source, weight = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "weight")
    bias, groups = given(arguments, machine, 2, "bias"), number(arguments.get(6, "groups", Constant(1)))
    padding = arguments.get(4, "padding", NONE)
    is_text = isinstance(padding, Constant) and isinstance(padding.value, str)
    if is_text:
        pass  # by another way, which takes more
    elif not transposed:
        require_one_dtype(machine, function, source, bias)
    elif source.dtype is not None and bias.dtype is not None and category(bias.dtype) > category(source.dtype):
        refuse(machine, f"{function}: a bias of {bias.dtype} can't be cast to {source.dtype}")
    if weight.shape is None or len(weight.shape) < 3 or groups is None:
        return
    if groups <= 0:
        refuse(machine, f"{function}: expected positive groups, not {groups}")
    first = weight.shape[0]
    if first is not None and (first % groups or first < groups):
        refuse(
            machine, f"{function}: given groups={groups}, expected weight of {told(weight.shape)} to be divisible by it"
        )
    channels = first
    if transposed:
        channels = None if weight.shape[1] is None else weight.shape[1] * groups
    require_shape(machine, f"{function}: bias", bias.shape, (channels,))


@demands(f"{_FUNCTIONAL}.grid_sample")
def sampled(arguments: Arguments, machine: Machine) -> None:
    source, grid = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "grid")
    modes = ("bilinear", "nearest", "bicubic")
    require_text(machine, "grid_sample", arguments.get(2, "mode", NONE), *modes, kind="ValueError")
    paddings = ("zeros", "border", "reflection")
    require_text(machine, "grid_sample", arguments.get(3, "padding_mode", NONE), *paddings, kind="ValueError")
    require_one_dtype(machine, "grid_sample", source, grid)
    require_floats(machine, "grid_sample", source, kind="NotImplementedError")


@demands(f"{_FUNCTIONAL}.scaled_dot_product_attention", "torch._C._nn.scaled_dot_product_attention")
def attention(arguments: Arguments, machine: Machine) -> None:
    parts = [given(arguments, machine, at, name) for at, name in enumerate(("query", "key", "value"))]
    require_one_dtype(machine, "scaled_dot_product_attention", *parts)
    mask = arguments.get(3, "attn_mask", NONE)
    if mask != NONE and machine.truth(arguments.get(5, "is_causal", FALSE)) is True:
        refuse(machine, "scaled_dot_product_attention: a mask and is_causal cannot both be given")


# ---- layers ----------------------------------------------------------------------------------------------------------

_BY_FUNCTION: dict[str, tuple[str, tuple[str, ...]]] = {
    "normalization.LayerNorm": ("layer_norm", ("normalized_shape", "weight", "bias")),
    "normalization.RMSNorm": ("rms_norm", ("normalized_shape", "weight")),
    "normalization.GroupNorm": ("group_norm", ("num_groups", "weight", "bias")),
    "normalization.LocalResponseNorm": ("local_response_norm", ()),
    "activation.PReLU": ("prelu", ("weight",)),
    "activation.Softmax": ("softmax", ("dim",)),
    "activation.LogSoftmax": ("log_softmax", ("dim",)),
    "activation.Softmin": ("softmin", ("dim",)),
    "channelshuffle.ChannelShuffle": ("channel_shuffle", ("groups",)),
    **{
        f"activation.{name}": (name.lower(), ())
        for name in (
            "CELU",
            "ELU",
            "GELU",
            "GLU",
            "Hardshrink",
            "Hardsigmoid",
            "Hardswish",
            "LogSigmoid",
            "Mish",
            "SELU",
        )
    },
    **{f"activation.{name}": (name.lower(), ()) for name in ("SiLU", "Softplus", "Softshrink", "RReLU")},
    "activation.LeakyReLU": ("leaky_relu", ()),
}
"""Layers, the function that each calls, and attributes that this is given beside the input."""


def _refuses_as(layer: str, function: str, names: tuple[str, ...]) -> None:
    qualified = f"{_FUNCTIONAL}.{function}"

    @demands(f"{_LAYERS}.{layer}.forward")
    def as_function(arguments: Arguments, machine: Machine) -> None:
        module = arguments.positional[0]
        values = tuple(machine.find_attribute(module, name) or NONE for name in names)
        asked = Arguments(qualified, (arguments.get(1, "input", NONE), *values), {}, arguments.where)
        for demand in registry.demanded(qualified):
            demand(asked, machine)


for _layer, (_function, _names) in _BY_FUNCTION.items():
    _refuses_as(_layer, _function, _names)


def _asked_of_layer(machine: Machine, function: str, values: tuple[Value, ...], arguments: Arguments) -> None:
    qualified = f"{_FUNCTIONAL}.{function}"
    asked = Arguments(qualified, values, {}, arguments.where)
    for demand in registry.demanded(qualified):
        demand(asked, machine)


@demands(f"{_LAYERS}.batchnorm._BatchNorm.forward", f"{_LAYERS}.batchnorm.SyncBatchNorm.forward")
def of_batches(arguments: Arguments, machine: Machine) -> None:
    """As its function, which is given the running numbers where it uses them."""
    module = arguments.positional[0]
    mean, variance, weight, bias, epsilon = _held(
        machine, module, ("running_mean", "running_var", "weight", "bias", "eps")
    )
    trains = machine.truth(machine.find_attribute(module, "training") or FALSE)
    if mean == NONE and variance == NONE:
        trains = True
    if trains is None:
        return
    source = given(arguments, machine, 1, "input")
    check = machine.find_attribute(module, "_check_input_dim")
    ranks = ranks_that(check.function if isinstance(check, BoundMethod) else check)
    if source.shape is not None and ranks and len(source.shape) not in ranks:
        return  # another exception
    if source.dtype is not None and source.shape is not None and len(source.shape) > 1:
        values = (arguments.get(1, "input", NONE), mean, variance, weight, bias, Constant(trains), NONE, epsilon)
        _asked_of_layer(machine, "batch_norm", values, arguments)


def _held(machine: Machine, module: Value, names: tuple[str, ...]) -> tuple[Value, ...]:
    return tuple(machine.find_attribute(module, name) or NONE for name in names)


@demands(f"{_LAYERS}.activation.Softmax2d.forward")
def over_channels(arguments: Arguments, machine: Machine) -> None:
    source = given(arguments, machine, 1, "input")
    if source.shape is not None and len(source.shape) not in (3, 4):
        refuse(machine, f"Softmax2d: expected input to be 3D or 4D, got {len(source.shape)}D instead", "ValueError")
    if source.dtype is not None and category(source.dtype) < 2 and not is_empty(source.shape):
        refuse(machine, f"softmax: not implemented for {source.dtype}", "NotImplementedError")


@demands(f"{_LAYERS}.linear.Bilinear.forward")
def bilinear_layer(arguments: Arguments, machine: Machine) -> None:
    weight, bias = _held(machine, arguments.positional[0], ("weight", "bias"))
    values = (arguments.get(1, "input1", NONE), arguments.get(2, "input2", NONE), weight, bias)
    _asked_of_layer(machine, "bilinear", values, arguments)


@demands(f"{_LAYERS}.instancenorm._InstanceNorm.forward")
def of_instances(arguments: Arguments, machine: Machine) -> None:
    """As its function, of an input that has a batch."""
    module, source = arguments.positional[0], given(arguments, machine, 1, "input")
    kind = machine.find_attribute(module, "_get_no_batch_dim")
    rank = rank_of(kind.function if isinstance(kind, BoundMethod) else kind)
    if rank is None or source.shape is None or len(source.shape) not in (rank + 1, rank + 2):
        return
    trains = machine.truth(machine.find_attribute(module, "training") or FALSE)
    tracks = machine.truth(machine.find_attribute(module, "track_running_stats") or FALSE)
    if trains is None or tracks is None:
        return
    wanted = number(machine.find_attribute(module, "num_features") or NONE)
    if differ(source.shape[-rank - 1], wanted):
        return  # another exception, where the channels count
    shape = source.shape if len(source.shape) == rank + 2 else (1, *source.shape)
    whole = made(machine, shape, source.dtype)
    values = (whole, *_held(machine, module, ("running_mean", "running_var", "weight", "bias")))
    _asked_of_layer(machine, "instance_norm", (*values, Constant(trains or not tracks)), arguments)
