"""What changes the resolution of its input, by shape alone: pools, interpolation, windows, shuffles, padding.

Source: "Shape" in the reference of `torch.nn` and `torch.nn.functional`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import Model, models
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Constant, TupleValue, Value
from modgraph.prediction.knowledge.shapes.arithmetic import padded, pooled, unfolded
from modgraph.prediction.knowledge.shapes.fitting import fitted, number, require_pooled
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.tensors.tensor_values import made, size_of, tensor_of
from modgraph.prediction.python.plain import data_unknown

_FUNCTIONAL, _LAYERS = "torch.nn.functional", "torch.nn.modules"
Size = int | None


def _source(arguments: Arguments, machine: Machine, place: int = 0) -> TensorObject:
    return tensor_of(machine, arguments.get(place, "input", NONE)) or TensorObject(None, None)


def _result(machine: Machine, source: TensorObject, shape: Shape | None) -> Value:
    return made(machine, shape, source.dtype, requires_grad=source.requires_grad)


def _numbers(machine: Machine, value: Value, rank: int) -> list[Size]:
    """A number given once or per dimension."""
    if isinstance(value, Constant):
        return [size_of(value)] * rank
    items = machine.iterate(value) if not tensor_of(machine, value) else None
    if not isinstance(items, list):
        return [None] * rank
    return [size_of(item) for item in (items * rank if len(items) == 1 else items)]


def _pool(rank: int, is_max: bool) -> Model:
    def forward(arguments: Arguments, machine: Machine) -> Value:
        source = _source(arguments, machine)
        if source.shape is None:
            return _with_indices(machine, source, None, arguments.get(6, "return_indices", FALSE) if is_max else FALSE)
        kernel_value = arguments.get(1, "kernel_size", NONE)
        stride_value = arguments.get(2, "stride", NONE)
        if stride_value == NONE or (isinstance(stride_value, TupleValue) and not stride_value.items):
            stride_value = kernel_value
        kernel, stride = _numbers(machine, kernel_value, rank), _numbers(machine, stride_value, rank)
        padding = _numbers(machine, arguments.get(3, "padding", Constant(0)), rank)
        dilation = _numbers(machine, arguments.get(4, "dilation", Constant(1)), rank) if is_max else [1] * rank
        upwards = machine.truth(arguments.get(5 if is_max else 4, "ceil_mode", FALSE))
        known, options = source.shape, (kernel, stride, padding, dilation)
        shape = fitted(machine, lambda: pooled(known, options, upwards))
        return _with_indices(machine, source, shape, arguments.get(6, "return_indices", FALSE) if is_max else FALSE)

    return forward


def _adaptive(rank: int) -> Model:
    def forward(arguments: Arguments, machine: Machine) -> Value:
        source, wanted = _source(arguments, machine), arguments.get(1, "output_size", NONE)
        asked = FALSE if "avg" in arguments.function else arguments.get(2, "return_indices", FALSE)
        items = list(wanted.items) if isinstance(wanted, TupleValue) else [wanted] * rank
        is_mean = rank > 1 and "avg" in arguments.function and all(each == Constant(1) for each in items)
        if source.shape is not None and not is_mean:
            require_pooled(machine, source.shape, rank)
        if source.shape is None:
            return _with_indices(machine, source, None, asked)
        spatial = source.shape[-rank:]
        sizes = [size if item == NONE else size_of(item) for item, size in zip(items, spatial, strict=False)]
        return _with_indices(machine, source, (*source.shape[:-rank], *sizes), asked)

    return forward


def _fractional(rank: int) -> Model:
    """To an output of a size, or of so much of the input."""

    def forward(arguments: Arguments, machine: Machine) -> Value:
        source, shape = _source(arguments, machine), None
        wanted, ratio = arguments.get(2, "output_size", NONE), arguments.get(3, "output_ratio", NONE)
        if source.shape is not None and len(source.shape) > rank:
            sizes = _numbers(machine, wanted, rank)
            if wanted == NONE:
                if isinstance(ratio, Constant) and ratio != NONE:
                    raise machine.raises("TypeError", f"object of type '{type(ratio.value).__name__}' has no len()")
                ratios = machine.iterate(ratio) if ratio != NONE else None
                known = ratios if isinstance(ratios, list) and len(ratios) == rank else [NONE] * rank
                sizes = [_times(size, by) for size, by in zip(source.shape[-rank:], known, strict=True)]
            shape = (*source.shape[:-rank], *sizes)
        return _with_indices(machine, source, shape, arguments.get(4, "return_indices", FALSE))

    return forward


def _always(model: Model, place: int) -> Model:
    """With the indices, which are asked for at that place."""

    def forward(arguments: Arguments, machine: Machine) -> Value:
        keywords = {**arguments.keywords, "return_indices": TRUE}
        return model(Arguments(arguments.function, arguments.positional[:place], keywords), machine)

    return forward


def _with_indices(machine: Machine, source: TensorObject, shape: Shape | None, asked: Value) -> Value:
    """What a pool gives, and the indices of it where these are asked for."""
    answer = machine.truth(asked)
    if answer is None:
        return data_unknown(machine, "torch.nn.functional.max_pool", "whether a pool gives indices is not known")
    result = _result(machine, source, shape)
    return TupleValue((result, made(machine, shape, "int64"))) if answer else result


for _rank in (1, 2, 3):
    models(f"{_FUNCTIONAL}.max_pool{_rank}d")(_pool(_rank, True))
    models(f"{_FUNCTIONAL}.max_pool{_rank}d_with_indices")(_always(_pool(_rank, True), 6))
    models(f"{_FUNCTIONAL}.adaptive_max_pool{_rank}d_with_indices")(_always(_adaptive(_rank), 2))
    models(f"{_FUNCTIONAL}.avg_pool{_rank}d")(_pool(_rank, False))
    models(f"{_FUNCTIONAL}.adaptive_avg_pool{_rank}d", f"{_FUNCTIONAL}.adaptive_max_pool{_rank}d")(_adaptive(_rank))
for _rank in (2, 3):
    models(f"{_FUNCTIONAL}.fractional_max_pool{_rank}d")(_fractional(_rank))
    models(f"{_FUNCTIONAL}.fractional_max_pool{_rank}d_with_indices")(_always(_fractional(_rank), 4))


# ---- interpolation ---------------------------------------------------------------------------------------------------


def _scaled(machine: Machine, source: TensorObject, size: Value, factor: Value) -> Value:
    if source.shape is None or len(source.shape) < 3:
        return _result(machine, source, None)
    spatial = source.shape[2:]
    if size != NONE:
        sizes = _numbers(machine, size, len(spatial))
    else:
        factors = [factor] * len(spatial) if isinstance(factor, Constant) else machine.iterate(factor)
        if not isinstance(factors, list) or len(factors) != len(spatial):
            return _result(machine, source, None)
        sizes = [_times(each, by) for each, by in zip(spatial, factors, strict=True)]
    return _result(machine, source, (*source.shape[:2], *sizes) if len(sizes) == len(spatial) else None)


def _times(size: Size, factor: Value) -> Size:
    number = factor.value if isinstance(factor, Constant) else None
    return math.floor(size * number) if size is not None and isinstance(number, (int, float)) else None


@models(f"{_FUNCTIONAL}.interpolate", f"{_FUNCTIONAL}.upsample")
def interpolate(arguments: Arguments, machine: Machine) -> Value:
    size, factor = arguments.get(1, "size", NONE), arguments.get(2, "scale_factor", NONE)
    return _scaled(machine, _source(arguments, machine), size, factor)


@models(f"{_LAYERS}.upsampling.Upsample.forward")
def upsample(arguments: Arguments, machine: Machine) -> Value:
    size, factor = (machine.find_attribute(arguments.positional[0], name) for name in ("size", "scale_factor"))
    return _scaled(machine, _source(arguments, machine, 1), size or NONE, factor or NONE)


# ---- windows, shuffles, padding --------------------------------------------------------------------------------------


def _windows(machine: Machine, source: TensorObject, options: Sequence[Value]) -> Value:
    kernel, dilation, padding, stride = (_numbers(machine, option, 2) for option in options)
    shape = source.shape
    if shape is not None:
        known = shape
        shape = fitted(machine, lambda: unfolded(known, (kernel, stride, padding, dilation)))
    return _result(machine, source, shape)


@models(f"{_FUNCTIONAL}.unfold")
def unfold(arguments: Arguments, machine: Machine) -> Value:
    defaults = (("kernel_size", NONE), ("dilation", Constant(1)), ("padding", Constant(0)), ("stride", Constant(1)))
    options = [arguments.get(place, name, default) for place, (name, default) in enumerate(defaults, 1)]
    return _windows(machine, _source(arguments, machine), options)


@models(f"{_LAYERS}.fold.Unfold.forward")
def unfold_layer(arguments: Arguments, machine: Machine) -> Value:
    names = ("kernel_size", "dilation", "padding", "stride")
    options = [machine.find_attribute(arguments.positional[0], name) or NONE for name in names]
    return _windows(machine, _source(arguments, machine, 1), options)


def _shuffled(machine: Machine, source: TensorObject, factor: Value, up: bool) -> Value:
    by = size_of(factor)
    if source.shape is None or len(source.shape) < 3 or not by:
        return _result(machine, source, None)
    channels, *spatial = source.shape[-3:]
    if up and channels is not None and channels % by**2:
        told = f"channels divisible by the square of {by}, not {channels}"
        raise machine.raises("RuntimeError", f"pixel_shuffle expects {told}")
    if not up and any(size is not None and size % by for size in spatial):
        raise machine.raises("RuntimeError", f"pixel_unshuffle expects height and width to be divisible by {by}")
    new = [None if size is None else size * by if up else size // by for size in spatial]
    depth = None if channels is None else channels // by**2 if up else channels * by**2
    return _result(machine, source, (*source.shape[:-3], depth, *new))


@models(*(f"{_FUNCTIONAL}.pixel_{name}" for name in ("shuffle", "unshuffle")))
def shuffle(arguments: Arguments, machine: Machine) -> Value:
    up = not arguments.function.endswith("unshuffle")
    factor = arguments.get(1, "upscale_factor" if up else "downscale_factor", NONE)
    return _shuffled(machine, _source(arguments, machine), factor, up)


@models(*(f"{_LAYERS}.pixelshuffle.Pixel{name}.forward" for name in ("Shuffle", "Unshuffle")))
def shuffle_layer(arguments: Arguments, machine: Machine) -> Value:
    up = "Unshuffle" not in arguments.function
    factor = machine.find_attribute(arguments.positional[0], "upscale_factor" if up else "downscale_factor")
    return _shuffled(machine, _source(arguments, machine, 1), factor or NONE, up)


@models(*(f"{_LAYERS}.padding._{name}PadNd.forward" for name in ("Circular", "Constant", "Reflection", "Replication")))
def pad(arguments: Arguments, machine: Machine) -> Value:
    """From the last dimension on, two numbers each."""
    source, padding = _source(arguments, machine, 1), machine.find_attribute(arguments.positional[0], "padding")
    if source.shape is None or not isinstance(padding, TupleValue):
        return _result(machine, source, None)
    shape, numbers = source.shape, [_signed(item) for item in padding.items]
    return _result(machine, source, fitted(machine, lambda: padded(shape, numbers)))


def _signed(value: Value) -> Size:
    """Padding may be negative: then it is cut off."""
    return number(value)
