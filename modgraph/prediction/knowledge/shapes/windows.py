"""Convolutions as functions, grids, blocks put together: what reads a window of its input."""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import Model, models
from modgraph.prediction.domain.values import NONE, Constant, Value
from modgraph.prediction.knowledge.shapes import arithmetic, fitting
from modgraph.prediction.knowledge.shapes.arithmetic import Convolution, Size
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.tensors.tensor_math import needs_any
from modgraph.prediction.knowledge.tensors.tensor_values import size_of

_FUNCTIONAL = "torch.nn.functional"
_ONE, _NOTHING = Constant(1), Constant(0)

# ---- convolutions ----------------------------------------------------------------------------------------------------


def _convolution(rank: int, transposed: bool) -> Model:
    def apply(arguments: Arguments, machine: Machine) -> Value:
        given, weight = (
            fitting.tensor(machine, arguments.get(place, name, NONE)) for place, name in enumerate(("input", "weight"))
        )
        shape = given.shape
        fitting.require_one_dtype(machine, given, weight, arguments.function)
        if shape is not None:
            sizes = weight.shape if weight.shape is not None else (None,) * (rank + 2)
            if len(sizes) != rank + 2:
                raise machine.raises("RuntimeError", f"weight should have {rank + 2} dimensions, not {len(sizes)}")
            rule, known = _of_weight(machine, arguments, sizes, transposed), shape
            shape = fitting.fitted(machine, lambda: rule.shape(known))
        return fitting.result(machine, arguments, shape, given.dtype, needs_any((given, weight)))

    return apply


def _of_weight(machine: Machine, arguments: Arguments, weight: Shape, transposed: bool) -> Convolution:
    """The convolution by weights (out, in of a group, *kernel); of a transposed one, (in, out of a group, *kernel)."""
    rank = len(weight) - 2
    groups = size_of(arguments.get(6, "groups", _ONE))
    padding = arguments.get(4, "padding", _NOTHING)
    whole = arithmetic.product((weight[1], groups))
    return Convolution(
        out_channels=whole if transposed else weight[0],
        in_channels=weight[0] if transposed else whole,
        groups=groups,
        kernel=weight[2:],
        stride=fitting.sizes(machine, arguments.get(3, "stride", _ONE), rank),
        padding=padding_of(machine, padding, rank),
        dilation=fitting.sizes(machine, arguments.get(7 if transposed else 5, "dilation", _ONE), rank),
        extra=fitting.sizes(machine, arguments.get(5, "output_padding", _NOTHING), rank) if transposed else None,
    )


def padding_of(machine: Machine, value: Value, rank: int) -> Sequence[Size] | str | None:
    """A number, one per dimension, or "same" and "valid"."""
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value if value.value in ("same", "valid") else None
    return fitting.sizes(machine, value, rank)


def of_asked_size(machine: Machine, shape: Shape, asked: Value, stride: Sequence[Size]) -> Shape:
    """The shape of a transposed convolution that is asked for a size.

    Args:
        shape: without `output_padding`: the smallest.

    Raises:
        Raised: ValueError, where it is out of range, or of another number of dimensions.
    """
    listed, rank = machine.iterate(asked), len(stride)
    if not isinstance(listed, list):
        return (*shape[:-rank], *(None,) * rank)
    if len(listed) not in (rank, len(shape)):
        message = f"output_size must have {rank} or {len(shape)} elements (got {len(listed)})"
        raise machine.raises("ValueError", message)
    sizes = [size_of(each) for each in listed[-rank:]]
    for size, least, step in zip(sizes, shape[-rank:], stride, strict=True):
        if size is not None and least is not None and step is not None and not least <= size < least + step:
            told = f"valid sizes range from {least} to {least + step - 1}"
            raise machine.raises("ValueError", f"requested an output size of {size}, but {told}")
    return (*shape[:-rank], *sizes)


for _rank in (1, 2, 3):
    models(f"{_FUNCTIONAL}.conv{_rank}d", f"torch.conv{_rank}d")(_convolution(_rank, False))
    models(f"{_FUNCTIONAL}.conv_transpose{_rank}d", f"torch.conv_transpose{_rank}d")(_convolution(_rank, True))


# ---- blocks and grids ------------------------------------------------------------------------------------------------

_OF_BLOCKS = (("kernel_size", NONE), ("dilation", _ONE), ("padding", _NOTHING), ("stride", _ONE))
_AS_IN_RULES = (0, 3, 2, 1)
"""kernel, stride, padding, dilation."""


@models(f"{_FUNCTIONAL}.fold")
def fold(arguments: Arguments, machine: Machine) -> Value:
    given = arguments.get(0, "input", NONE)
    options = [arguments.get(place, name, default) for place, (name, default) in enumerate(_OF_BLOCKS, 2)]
    return _folded(arguments, machine, given, arguments.get(1, "output_size", NONE), options)


@models("torch.nn.modules.fold.Fold.forward")
def fold_layer(arguments: Arguments, machine: Machine) -> Value:
    module = arguments.positional[0]
    wanted, *options = (
        machine.find_attribute(module, name) or NONE for name in ("output_size", *(name for name, _ in _OF_BLOCKS))
    )
    return _folded(arguments, machine, arguments.get(1, "input", NONE), wanted, options)


def _folded(arguments: Arguments, machine: Machine, value: Value, wanted: Value, options: Sequence[Value]) -> Value:
    given = fitting.tensor(machine, value)
    shape = given.shape
    if shape is not None:
        sizes, known = [fitting.sizes(machine, options[place], 2) for place in _AS_IN_RULES], shape
        shape = fitting.fitted(machine, lambda: arithmetic.folded(known, fitting.sizes(machine, wanted, 2), sizes))
    return fitting.result(machine, arguments, shape, given.dtype, given.requires_grad)


@models(f"{_FUNCTIONAL}.grid_sample", "torch.grid_sampler")
def sampled(arguments: Arguments, machine: Machine) -> Value:
    """(N, C, ...) at the places of a grid (N, ..., number of dimensions)."""
    given, grid = (
        fitting.tensor(machine, arguments.get(place, name, NONE)) for place, name in enumerate(("input", "grid"))
    )
    shape: Shape | None = None
    if given.shape is not None and grid.shape is not None:
        rank = len(given.shape)
        if rank not in (4, 5) or len(grid.shape) != rank:
            told = f"{list(given.shape)} and {list(grid.shape)}"
            raise machine.raises("RuntimeError", f"grid_sample takes two tensors of 4 or 5 dimensions, not {told}")
        for one, two in ((given.shape[0], grid.shape[0]), (rank - 2, grid.shape[-1])):
            if one is not None and two is not None and one != two:
                told = f"{list(given.shape)} and {list(grid.shape)}"
                raise machine.raises("RuntimeError", f"grid_sample of {told} does not fit")
        shape = (given.shape[0], given.shape[1], *grid.shape[1:-1])
    return fitting.result(machine, arguments, shape, given.dtype, needs_any((given, grid)))


@models(f"{_FUNCTIONAL}.affine_grid")
def affine_grid(arguments: Arguments, machine: Machine) -> Value:
    """A grid (N, ..., number of dimensions) for a size (N, C, ...)."""
    theta = fitting.tensor(machine, arguments.get(0, "theta", NONE))
    wanted = machine.iterate(arguments.get(1, "size", NONE))
    shape: Shape | None = None
    if isinstance(wanted, list) and len(wanted) in (4, 5):
        sizes = [size_of(each) for each in wanted]
        shape = (sizes[0], *sizes[2:], len(sizes) - 2)
    return fitting.result(machine, arguments, shape, theta.dtype, theta.requires_grad)


@models(f"{_FUNCTIONAL}.conv_tbc", "torch.conv_tbc")
def convolution_of_time(arguments: Arguments, machine: Machine) -> Value:
    """(time, batch, in) by weights (kernel, in, out)."""
    given, weight, bias = (
        fitting.tensor(machine, arguments.get(place, name, NONE))
        for place, name in enumerate(("input", "weight", "bias"))
    )
    pad = size_of(arguments.get(3, "pad", _NOTHING))
    shape: Shape | None = None
    if given.shape is not None and weight.shape is not None and len(given.shape) == len(weight.shape) == 3:
        (time, batch, _), (width, _, out) = given.shape, weight.shape
        shape = fitting.fitted(machine, lambda: (arithmetic.windowed(time, width, 1, pad, 1, False), batch, out))
    return fitting.result(machine, arguments, shape, given.dtype, needs_any((given, weight, bias)))
