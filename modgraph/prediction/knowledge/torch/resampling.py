"""What changes the resolution of its input, by shape alone: pools, interpolation, windows, shuffles, padding.

Source: "Shape" in the reference of `torch.nn` and `torch.nn.functional`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import POOLED, TensorObject
from modgraph.prediction.domain.registry import Model, models
from modgraph.prediction.domain.sizes import same_sizes
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Constant, TupleValue, Value
from modgraph.prediction.knowledge.shapes.arithmetic import padded, pooled, spread_out, unfolded
from modgraph.prediction.knowledge.shapes.fitting import fitted, number, require_pooled
from modgraph.prediction.knowledge.tensors.elements import Shape, count
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
            kernel = _numbers(machine, arguments.get(1, "kernel_size", NONE), rank)
            given, many, batched = source.shape, tuple(sizes), len(source.shape) == rank + 2
            shape = fitted(machine, lambda: spread_out(given, kernel, many, batched))
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
    if not answer:
        return result
    indices = made(machine, shape, "int64")
    if source.shape is not None and None not in source.shape:
        held = TupleValue(tuple(map(Constant, source.shape)))
        machine.state.change(indices, TensorObject).attributes[POOLED] = held
    return TupleValue((result, indices))


for _rank in (1, 2, 3):
    models(f"{_FUNCTIONAL}.max_pool{_rank}d")(_pool(_rank, True))
    models(f"{_FUNCTIONAL}.max_pool{_rank}d_with_indices")(_always(_pool(_rank, True), 6))
    models(f"{_FUNCTIONAL}.adaptive_max_pool{_rank}d_with_indices")(_always(_adaptive(_rank), 2))
    models(f"{_FUNCTIONAL}.avg_pool{_rank}d")(_pool(_rank, False))
    models(f"{_FUNCTIONAL}.adaptive_avg_pool{_rank}d", f"{_FUNCTIONAL}.adaptive_max_pool{_rank}d")(_adaptive(_rank))
for _rank in (2, 3):
    models(f"{_FUNCTIONAL}.fractional_max_pool{_rank}d")(_fractional(_rank))
    models(f"{_FUNCTIONAL}.fractional_max_pool{_rank}d_with_indices")(_always(_fractional(_rank), 4))


# ---- the other way ---------------------------------------------------------------------------------------------------


def _unpool(rank: int) -> Model:
    """To what the pool was given, or to a size near it."""

    def forward(arguments: Arguments, machine: Machine) -> Value:
        is_layer = arguments.function.endswith(".forward")
        source = _source(arguments, machine, int(is_layer))
        if is_layer:
            held = [machine.find_attribute(arguments.positional[0], name) for name in _OF_UNPOOL]
            values, wanted = [each or NONE for each in held], arguments.get(3, "output_size", NONE)
        else:
            values = [arguments.get(place, name, NONE) for place, name in enumerate(_OF_UNPOOL, 2)]
            values = [values[0], values[0] if values[1] == NONE else values[1], values[2]]
            values[2] = Constant(0) if values[2] == NONE else values[2]
            wanted = arguments.get(5, "output_size", NONE)
        if source.shape is None:
            return _result(machine, source, None)
        indices = tensor_of(machine, arguments.get(1 + is_layer, "indices", NONE))
        _require_unpooled(machine, source, indices, rank)
        kernel, stride, padding = (_numbers(machine, each, rank) for each in values)
        sizes: list[Size] = [
            None if None in each else (each[0] - 1) * each[1] + each[2] - 2 * each[3]  # type: ignore[operator]
            for each in zip(source.shape[-rank:], stride, kernel, padding, strict=True)
        ]
        if wanted != NONE:
            sizes = _wanted_sizes(machine, wanted, sizes, stride)
        if any(each is not None and each < 0 for each in sizes):
            raise machine.raises("ValueError", f"max_unpooling: output_size must not be negative, but is {sizes}")
        if not _has_room(indices, rank, sizes):
            machine.may_fail("RuntimeError")  # an index may lie outside
        return _result(machine, source, (*source.shape[:-rank], *sizes))

    return forward


_OF_UNPOOL = ("kernel_size", "stride", "padding")


def _has_room(indices: TensorObject | None, rank: int, sizes: Sequence[Size]) -> bool:
    """There are as many places as in what was pooled."""
    pooled_from = indices.attributes.get(POOLED) if indices is not None else None
    items = pooled_from.items[-rank:] if isinstance(pooled_from, TupleValue) else ()
    held = tuple(each.value for each in items if isinstance(each, Constant))
    if same_sizes(held, sizes):
        return True
    numbers = (count(held), count(tuple(sizes)))
    return len(held) == rank and type(numbers[0]) is type(numbers[1]) is int and numbers[0] <= numbers[1]


def _require_unpooled(machine: Machine, source: TensorObject, indices: TensorObject | None, rank: int) -> None:
    """Of what is given, and where it stood.

    Raises:
        Raised: it has another number of dimensions, or the indices are others.
    """
    assert source.shape is not None
    if indices is not None and indices.dtype not in (None, "int64"):
        raise machine.raises("RuntimeError", f"elements in indices should be type int64 but got: {indices.dtype}")
    if len(source.shape) not in (rank + 1, rank + 2):
        kind = "IndexError" if len(source.shape) < rank else "RuntimeError"
        raise machine.raises(kind, f"max_unpool{rank}d: not of {len(source.shape)} dimensions")
    held = indices.shape if indices is not None else None
    if held is not None and (
        len(held) != len(source.shape)
        or any(a is not None and b is not None and a != b for a, b in zip(held, source.shape, strict=True))
    ):
        raise machine.raises("RuntimeError", "Expected shape of indices to be same as that of the input tensor")


def _wanted_sizes(machine: Machine, wanted: Value, usual: list[Size], stride: list[Size]) -> list[Size]:
    """As they are asked for: nearer to the usual ones than a step.

    Raises:
        Raised: ValueError, where they are others.
    """
    items = machine.iterate(wanted)
    if not isinstance(items, list):
        return [None] * len(usual)
    sizes: list[Size] = [size_of(each) for each in (items[2:] if len(items) == len(usual) + 2 else items)]
    if len(sizes) != len(usual):
        raise machine.raises("ValueError", f"output_size should have {len(usual)} elements, but it has {len(items)}")
    for size, near, step in zip(sizes, usual, stride, strict=True):
        if size is not None and near is not None and step is not None and not near - step < size < near + step:
            raise machine.raises("ValueError", f"invalid output_size {size}: it must be near {near}")
    return sizes


for _rank in (1, 2, 3):
    models(f"{_FUNCTIONAL}.max_unpool{_rank}d", f"{_LAYERS}.pooling.MaxUnpool{_rank}d.forward")(_unpool(_rank))


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


@models(*(f"{_FUNCTIONAL}.{name}" for name in ("interpolate", "upsample", "upsample_nearest", "upsample_bilinear")))
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
        if len(shape) < 3:
            raise machine.raises("IndexError", f"unfold takes 3 or 4 dimensions, not {len(shape)}")
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
    by = number(factor)
    if by is not None and by < 1:
        raise machine.raises("RuntimeError", f"pixel_shuffle expects a positive factor, but got {by}")
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
