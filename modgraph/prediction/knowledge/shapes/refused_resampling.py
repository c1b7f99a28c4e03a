"""What is refused of what changes the resolution: padding and sizes that do not fit, other kinds of numbers.

Source: `torch.nn.functional`, ATen/native/PadNd.cpp, ReflectionPad.cpp, UpSample.h, AdaptiveAveragePooling.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.sizes import witness_of
from modgraph.prediction.domain.values import FALSE, NONE, Constant, TupleValue, Value
from modgraph.prediction.knowledge.shapes.fitting import length, number, sizes
from modgraph.prediction.knowledge.tensors.demanding import (
    given,
    is_below_one,
    is_empty,
    refuse,
    require_text,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import Shape, category

_FUNCTIONAL, _LAYERS = "torch.nn.functional", "torch.nn.modules"
Size = int | None

# ---- padding ---------------------------------------------------------------------------------------------------------

_MODES = ("constant", "reflect", "replicate", "circular")


@demands(f"{_FUNCTIONAL}.pad", "torch._C._nn.pad")
def pad(arguments: Arguments, machine: Machine) -> None:
    mode, padding = arguments.get(2, "mode", Constant("constant")), arguments.get(1, "pad", NONE)
    require_text(machine, "pad", mode, *_MODES, kind="NotImplementedError")
    many = length(machine, padding)
    source = given(arguments, machine, 0, "input")
    if many is None or not isinstance(mode, Constant) or source.shape is None:
        return
    _require_padding(machine, source.shape, sizes(machine, padding, many), str(mode.value))
    value = arguments.get(3, "value", NONE)
    if mode.value != "constant" and isinstance(value, Constant) and value.value not in (None, 0):
        refuse(machine, f'Padding mode "{mode.value}" doesn\'t take in value argument', "ValueError")


def _require_padding(machine: Machine, shape: Shape, numbers: Sequence[Size], mode: str) -> None:
    """Two numbers each, from the last dimension on.

    Raises:
        Raised: torch refuses them.
    """
    if len(numbers) % 2:
        refuse(machine, f"Padding length must be divisible by 2, but got {len(numbers)}")
    if len(numbers) > 2 * len(shape):
        refuse(machine, f"Padding length should be at most twice the number of dimensions of {told(shape)}")
    padded = len(numbers) // 2
    if mode != "constant" and (padded not in (1, 2, 3) or len(shape) not in (padded + 1, padded + 2)):
        refuse(
            machine,
            f"{mode}: padding by {len(numbers)} numbers is not supported for {told(shape)}",
            "NotImplementedError",
        )
    if mode in ("reflect", "replicate") and any(map(is_below_one, shape[-padded - 1 :])):
        refuse(machine, f"{mode}: expected non-zero sizes, but got {told(shape)}")
    sizes_left: list[Size] = []
    for place in range(padded):
        size, before, after = shape[-1 - place], numbers[2 * place], numbers[2 * place + 1]
        sizes_left.append(None if size is None or before is None or after is None else size + before + after)
        if size is None or before is None or after is None:
            continue
        if mode == "reflect" and (before >= size or after >= size):
            refuse(machine, f"Padding size should be less than the dimension of size {size}, but got {(before, after)}")
        if mode == "circular" and (before > size or after > size):
            refuse(machine, f"Padding value {(before, after)} causes wrapping around more than once of {size}")
        cut = min(before, 0) + min(after, 0) if type(before) is int and type(after) is int else before + after
        left = size + (cut if mode == "constant" else before + after)
        if left < 0:
            refuse(machine, f"padding by {before} and {after} leaves less than nothing of {told(shape)}")
    if mode in ("reflect", "replicate"):
        _require_rest(machine, shape, sizes_left)


def _require_rest(machine: Machine, shape: Shape, left: Sequence[Size]) -> None:
    """Torch asks for one dimension in which something is left of a reflection or a replication.

    Raises:
        Raised: there is none.
    """
    known = [size for size in left if size is not None]
    # Of several that are open, which one it is would be no condition on one of them.
    is_there = len(known) < len(left) or (len(known) > 1 and any(witness_of(size) > 0 for size in known))
    if not is_there and all(size < 1 for size in known):
        refuse(machine, f"padding leaves nothing of {told(shape)}")


@demands(*(f"{_LAYERS}.padding._{name}PadNd.forward" for name in ("Circular", "Constant", "Reflection", "Replication")))
def pad_layer(arguments: Arguments, machine: Machine) -> None:
    source, padding = given(arguments, machine, 1, "input"), machine.find_attribute(arguments.positional[0], "padding")
    many = length(machine, padding or NONE)
    if source.shape is None or padding is None or many is None:
        return
    mode = next(text for kind, text in _BY_KIND.items() if kind in arguments.function)
    check = machine.find_attribute(arguments.positional[0], "_check_input_dim") if mode == "circular" else None
    if check is not None and len(source.shape) not in (many // 2 + 1, many // 2 + 2):
        told_ranks = f"{many // 2 + 1}D or {many // 2 + 2}D"
        refuse(machine, f"expected {told_ranks} input (got {len(source.shape)}D input)", "ValueError")
    _require_padding(machine, source.shape, sizes(machine, padding, many), mode)


_BY_KIND = {"Circular": "circular", "Constant": "constant", "Reflection": "reflect", "Replication": "replicate"}

# ---- interpolation ---------------------------------------------------------------------------------------------------

_RANKS = {"linear": (3,), "bilinear": (4,), "bicubic": (4,), "trilinear": (5,)}
_WAYS = ("nearest", "nearest-exact", "area", *_RANKS)


def _require_resized(machine: Machine, source: TensorObject, size: Value, factor: Value, mode: Value) -> None:
    """Of an interpolation.

    Raises:
        Raised: torch refuses it.
    """
    if (size == NONE) is (factor == NONE) and all(isinstance(each, (Constant, TupleValue)) for each in (size, factor)):
        told_size = "either size or scale_factor should be defined, and only one of them"
        refuse(machine, told_size, "ValueError")
    text = mode.value if isinstance(mode, Constant) else None
    _require_as_many(machine, source.shape, size, factor)
    if isinstance(text, str) and source.shape is not None:
        ranks = _RANKS.get(text, (3, 4, 5))
        if len(source.shape) not in ranks or text not in _WAYS:
            message = f"interpolate: {told(source.shape)} is not supported for the mode {text}"
            refuse(machine, message, "NotImplementedError")
    if source.dtype in ("bool", "int8", "int16", "int32", "int64") and not is_empty(source.shape):
        refuse(machine, f"interpolate: not implemented for {source.dtype}", "NotImplementedError")
    if source.shape is None or len(source.shape) < 3:
        return
    rank = len(source.shape) - 2
    least = 0 if text == "area" else 1  # which is a pool to a size
    some = source.shape[2:] if text == "area" and rank < 3 else source.shape[1:]
    if size != NONE:
        wanted = sizes(machine, size, rank)
        is_one = least == 0 and all(type(each) is int and each == 1 for each in wanted)
        if (any(map(is_below_one, some)) and not is_one) or any(each is not None and each < least for each in wanted):
            refuse(machine, "Input and output sizes should be greater than 0")
    elif text != "area":
        if any(map(is_below_one, some)):
            refuse(machine, f"Non-empty data expected, but got {told(source.shape)}")
        _require_some(machine, source.shape[2:], factor)


def _require_as_many(machine: Machine, shape: Shape | None, size: Value, factor: Value) -> None:
    """A number for each dimension behind the channels, where there are several.

    Raises:
        Raised: ValueError, where there are others.
    """
    for each in (size, factor) if shape is not None else ():
        many, rank = length(machine, each), max(0, len(shape or ()) - 2)
        if many is not None and many != rank:
            message = f"interpolate: {many} sizes for {rank} spatial dimensions of {told(shape or ())}"
            refuse(machine, message, "ValueError")


def _require_some(machine: Machine, spatial: Shape, factor: Value) -> None:
    """Something is left of each size, of which a factor takes a part.

    Raises:
        Raised: nothing is.
    """
    listed = [factor] * len(spatial) if isinstance(factor, Constant) else machine.iterate(factor)
    for size, each in zip(spatial, listed if isinstance(listed, list) else (), strict=False):
        by = each.value if isinstance(each, Constant) else None
        if isinstance(by, (int, float)) and by < 1 and size is not None and math.floor(size * by) < 1:
            refuse(machine, f"Input and output sizes should be greater than 0, but {size} * {by} is less than 1")


@demands(f"{_FUNCTIONAL}.interpolate", f"{_FUNCTIONAL}.upsample")
def interpolate(arguments: Arguments, machine: Machine) -> None:
    size, factor = arguments.get(1, "size", NONE), arguments.get(2, "scale_factor", NONE)
    mode = arguments.get(3, "mode", Constant("nearest"))
    _require_resized(machine, given(arguments, machine, 0, "input"), size, factor, mode)


@demands(f"{_LAYERS}.upsampling.Upsample.forward")
def upsample(arguments: Arguments, machine: Machine) -> None:
    module = arguments.positional[0]
    size, factor, mode = (machine.find_attribute(module, name) or NONE for name in ("size", "scale_factor", "mode"))
    _require_resized(machine, given(arguments, machine, 1, "input"), size, factor, mode)


# ---- pools -----------------------------------------------------------------------------------------------------------


def _adaptive(rank: int, is_layer: bool) -> Callable[[Arguments, Machine], None]:
    def demand(arguments: Arguments, machine: Machine) -> None:
        name = last_name(arguments.function.removesuffix(".forward"))
        if is_layer:
            wanted = machine.find_attribute(arguments.positional[0], "output_size")
        else:
            wanted = arguments.get(1, "output_size", NONE)
        if wanted is None:
            return
        source, many = given(arguments, machine, int(is_layer), "input"), length(machine, wanted)
        if wanted == NONE:
            refuse(machine, "the output_size of a pool is None", "TypeError")
        if many is not None and many != rank and not (many == 1 and name.lower().startswith("adaptive_avg_pool1")):
            refuse(machine, f"{name}: output_size must have {rank} numbers, not {many}")
        asked = sizes(machine, wanted, rank)
        if any(each is not None and each < 0 for each in asked):
            refuse(machine, f"{name}: elements of output_size must not be negative, but are {asked}")
        if source.shape is None or len(source.shape) < rank:
            return
        is_mean = "avg" in name.lower() and all(type(each) is int and each == 1 for each in asked)
        some = rank + (len(source.shape) == rank + 2 and ("max" in name.lower() or rank == 3))
        if any(map(is_below_one, source.shape[-some:])) and not is_mean:
            refuse(machine, f"{name}: expected non-zero sizes, but got {told(source.shape)}")
        if source.dtype is not None and category(source.dtype) < 2 and not is_empty(source.shape):
            refuse(machine, f"{name}: not implemented for {source.dtype}", "NotImplementedError")

    return demand


for _rank in (1, 2, 3):
    for _kind in ("avg", "max"):
        demands(f"{_FUNCTIONAL}.adaptive_{_kind}_pool{_rank}d")(_adaptive(_rank, False))
        demands(f"{_LAYERS}.pooling.Adaptive{_kind.title()}Pool{_rank}d.forward")(_adaptive(_rank, True))


@demands(f"{_FUNCTIONAL}.avg_pool2d", f"{_LAYERS}.pooling.AvgPool2d.forward")
def averaged_pictures(arguments: Arguments, machine: Machine) -> None:
    shape = given(arguments, machine, int(arguments.function.endswith("forward")), "input").shape
    if shape is not None and len(shape) < 3:
        refuse(machine, f"avg_pool2d: expected 3 or 4 dimensions, but got {told(shape)}", "IndexError")


@demands(*(f"{_FUNCTIONAL}.avg_pool{rank}d" for rank in (2, 3)))
def averaged(arguments: Arguments, machine: Machine) -> None:
    divisor = number(arguments.get(6, "divisor_override", NONE))
    if divisor is not None and divisor == 0:
        refuse(machine, "divisor must be not zero")


@demands(*(f"{_LAYERS}.pixelshuffle.Pixel{name}.forward" for name in ("Shuffle", "Unshuffle")))
def shuffled_layer(arguments: Arguments, machine: Machine) -> None:
    _require_pixels(machine, given(arguments, machine, 1, "input").shape)


@demands(*(f"{_FUNCTIONAL}.pixel_{name}" for name in ("shuffle", "unshuffle")))
def shuffled(arguments: Arguments, machine: Machine) -> None:
    _require_pixels(machine, given(arguments, machine, 0, "input").shape)


def _require_pixels(machine: Machine, shape: Shape | None) -> None:
    if shape is not None and len(shape) < 3:
        refuse(machine, f"pixel_shuffle expects 3 dimensions or more, but got {told(shape)}")


# ---- windows ---------------------------------------------------------------------------------------------------------


@demands(
    f"{_FUNCTIONAL}.unfold", f"{_FUNCTIONAL}.fold", *(f"{_LAYERS}.fold.{name}.forward" for name in ("Unfold", "Fold"))
)
def of_windows(arguments: Arguments, machine: Machine) -> None:
    """Of floating point, or truths."""
    source = given(arguments, machine, int(arguments.function.endswith("forward")), "input")
    if source.dtype is not None and category(source.dtype) == 1:
        refuse(machine, f"windows are not implemented for {source.dtype}", "NotImplementedError")


# ---- kinds of numbers ------------------------------------------------------------------------------------------------


def _of_kind(kind: str, rank: int, is_layer: bool) -> Callable[[Arguments, Machine], None]:
    """No truths; means are of floating point or int64, and one kernel of the largest knows no whole numbers."""

    def demand(arguments: Arguments, machine: Machine) -> None:
        source = given(arguments, machine, int(is_layer), "input")
        if source.dtype is None or category(source.dtype) >= 2 or is_empty(source.shape):
            return
        is_taken = source.dtype == "int64" if kind == "avg" else rank > 1
        if kind == "max" and rank == 1:
            asked = arguments.get(6, "return_indices", FALSE)
            asked = (machine.find_attribute(arguments.positional[0], "return_indices") or NONE) if is_layer else asked
            is_taken = asked != FALSE
        if source.dtype == "bool" or not is_taken:
            refuse(machine, f"{kind}_pool{rank}d: not implemented for {source.dtype}", "NotImplementedError")

    return demand


for _rank in (1, 2, 3):
    for _kind in ("avg", "max"):
        demands(f"{_FUNCTIONAL}.{_kind}_pool{_rank}d")(_of_kind(_kind, _rank, False))
        demands(f"{_LAYERS}.pooling.{_kind.title()}Pool{_rank}d.forward")(_of_kind(_kind, _rank, True))


@demands(f"{_FUNCTIONAL}.dropout1d", f"{_LAYERS}.dropout.Dropout1d.forward")
def of_channels(arguments: Arguments, machine: Machine) -> None:
    """Rows of channels, or several of them."""
    source = given(arguments, machine, int(arguments.function.endswith("forward")), "input")
    if source.shape is not None and len(source.shape) not in (2, 3):
        refuse(machine, f"dropout1d: Expected 2D or 3D input, but received a {len(source.shape)}D input")
