"""What is refused of how a layer is called: states of another kind, bags that nobody bounds, padding that the input has
no room for.
"""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import NONE, Constant, Value
from modgraph.prediction.knowledge.shapes import fitting
from modgraph.prediction.knowledge.tensors.demanding import given, refuse, require_dtype, told
from modgraph.prediction.knowledge.tensors.refused_arguments import is_several
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of

_FUNCTIONAL, _LAYERS = "torch.nn.functional", "torch.nn.modules"


@demands(*(f"{_LAYERS}.rnn.{name}{kind}.forward" for name in ("RNN", "LSTM", "GRU") for kind in ("", "Cell")))
def recurrent(arguments: Arguments, machine: Machine) -> None:
    """An LSTM begins with two tensors in a row, all others with one."""
    state = arguments.get(2, "hx", NONE)
    if "LSTM" in arguments.function:
        if tensor_of(machine, state) is not None:
            refuse(machine, "the state of an LSTM must be tuple of Tensors, not Tensor")
    elif is_several(machine, state):
        refuse(machine, "'tuple' object has no attribute 'dim'", "AttributeError")


@demands(f"{_LAYERS}.sparse.EmbeddingBag.forward", f"{_FUNCTIONAL}.embedding_bag")
def in_bags(arguments: Arguments, machine: Machine) -> None:
    """A row of indices with where each bag begins, or a bag in each row."""
    is_layer = arguments.function.endswith("forward")
    source, offsets = given(arguments, machine, int(is_layer), "input"), arguments.get(2, "offsets", NONE)
    is_turned = not is_layer and source.dtype not in (None, "int64", "int32")  # the weight first, as it once was
    if source.shape is None or is_turned:
        return
    if len(source.shape) not in (1, 2):
        refuse(machine, f"input has to be 1D or 2D Tensor, but got {told(source.shape)}", "ValueError")
    if len(source.shape) == 1 and offsets == NONE:
        refuse(machine, "offsets has to be a 1D Tensor but got None", "ValueError")
    if len(source.shape) == 2 and tensor_of(machine, offsets) is not None:
        refuse(machine, "if input is 2D, then offsets has to be None", "ValueError")
    rows = given(arguments, machine, 2, "offsets").shape
    if len(source.shape) == 1 and rows is not None and len(rows) != 1:
        refuse(machine, f"offsets has to be a 1D Tensor, but got {told(rows)}", "ValueError")
    require_dtype(machine, "embedding_bag", source, ("int64", "int32"))


# ---- convolutions ----------------------------------------------------------------------------------------------------


@demands(*(f"{owner}.conv{rank}d" for owner in ("torch", _FUNCTIONAL) for rank in (1, 2, 3)))
def padded_by_name(arguments: Arguments, machine: Machine) -> None:
    """As much as keeps the sizes, where it takes every place; or nothing."""
    padding = arguments.get(4, "padding", NONE)
    if not isinstance(padding, Constant) or not isinstance(padding.value, str):
        return
    if padding.value not in ("same", "valid"):
        refuse(machine, f"Invalid padding string: {padding.value!r}")
    rank = int(arguments.function[-2])
    strides = fitting.sizes(machine, arguments.get(3, "stride", Constant(1)), rank)
    if padding.value == "same" and any(type(each) is int and each != 1 for each in strides):
        refuse(machine, "padding='same' is not supported for strided convolutions")


@demands(*(f"{_LAYERS}.conv.Conv{rank}d.forward" for rank in (1, 2, 3)))
def padded_by_itself(arguments: Arguments, machine: Machine) -> None:
    """A picture is continued by what it has: less than itself where it is mirrored, no more than itself around."""
    module, source = arguments.positional[0], given(arguments, machine, 1, "input")
    mode = machine.find_attribute(module, "padding_mode")
    rank = int(arguments.function.rpartition(".")[0][-2])
    if source.shape is None or len(source.shape) < rank or mode not in (Constant("reflect"), Constant("circular")):
        return
    for size, width in zip(source.shape[-rank:], _widths(machine, module, rank), strict=True):
        if size is None or width is None or width == 0:
            continue
        if width > size if mode == Constant("circular") else width >= size:
            refuse(machine, f"padding of {width} is too large for {told(source.shape)} where it is {mode}")


def _widths(machine: Machine, module: Value, rank: int) -> Sequence[int | None]:
    """How much is added at the end of each dimension."""
    padding = machine.find_attribute(module, "padding") or NONE
    if padding == Constant("valid"):
        return [0] * rank
    if padding != Constant("same"):
        return fitting.sizes(machine, padding, rank)
    kernel, dilation = (
        fitting.sizes(machine, machine.find_attribute(module, name) or NONE, rank)
        for name in ("kernel_size", "dilation")
    )
    return [
        None if size is None or apart is None else apart * (size - 1) - apart * (size - 1) // 2
        for size, apart in zip(kernel, dilation, strict=True)
    ]
