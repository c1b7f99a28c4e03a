"""How what layers give lies in memory, and functions that look at more than single elements: pictures whose channels
are the innermost stay so, sequences of batches are turned around.

What no rule speaks of is not known. Source: ATen, `native/cpu`, `RNN.cpp` and `transformers/attention.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import adds_to
from modgraph.prediction.domain.sizes import same
from modgraph.prediction.domain.values import FALSE, NONE, Constant, TupleValue, Unknown, Value
from modgraph.prediction.knowledge.tensors import layout
from modgraph.prediction.knowledge.tensors.layout import Steps
from modgraph.prediction.knowledge.tensors.layout_rules import (
    FUNCTIONAL,
    LAYERS,
    Rule,
    anew,
    as_named,
    both,
    lies,
    of_operands,
)
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.prediction.knowledge.torch.gradients import are_recorded

_PICTURES = (4, 5)
"""Dimensions of what may have its channels innermost."""


def _tensor(machine: Machine, value: Value | None) -> TensorObject:
    found = tensor_of(machine, value) if value is not None else None
    return found or TensorObject(None, None)


def _are_last(tensors: Sequence[TensorObject]) -> bool | None:
    """The channels of all of these are the innermost, or of none; None where that is not known, or they differ."""
    operands = [layout.operand_of(tensor) for tensor in tensors]
    found = {None if each is None else layout.suggests_channels_last(*each) for each in operands}
    return found.pop() if len(found) == 1 else None


def _laid(made: TensorObject, are_last: bool | None) -> Steps | None:
    """The steps of a picture; of what is none, row by row."""
    if made.shape is None or None in made.shape:
        return None
    if len(made.shape) not in _PICTURES or are_last is False:
        return layout.row_by_row(made.shape)
    sizes = [size for size in made.shape if size is not None]
    return layout.dense(sizes, layout.channels_last(len(sizes))) if are_last else None


# ---- pictures --------------------------------------------------------------------------------------------------------


def _as_picture(first: int) -> Rule:
    def rule(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
        return _laid(made, _are_last([_tensor(machine, arguments.get(first, "input", NONE))]))

    return rule


def _convolved(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Channels are the innermost where they are so of the input or of the weights."""
    if arguments.function.endswith(".forward"):
        given, weight = arguments.get(1, "input", NONE), machine.find_attribute(arguments.positional[0], "weight")
    else:
        given, weight = arguments.get(0, "input", NONE), arguments.get(1, "weight", NONE)
    found = {_are_last([_tensor(machine, each)]) for each in (given, weight)}
    if made.dtype not in (None, "float32") and True in found:
        return None
    return _laid(made, False if found == {False} else True if True in found else None)


def _where_plain(first: int) -> Rule:
    """Row by row, of what lies so."""

    def rule(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
        is_plain = layout.is_row_by_row(_tensor(machine, arguments.get(first, "input", NONE)))
        return layout.row_by_row(made.shape) if is_plain else None

    return rule


_IN_FUNCTIONS = (
    *("batch_norm", "group_norm", "rms_norm", "max_pool2d", "max_pool3d", "avg_pool2d", "adaptive_avg_pool2d"),
    *("adaptive_max_pool2d", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "interpolate", "upsample"),
)
_IN_LAYERS = (
    *("batchnorm._BatchNorm", "batchnorm.SyncBatchNorm", "normalization.GroupNorm", "normalization.RMSNorm"),
    *("pooling.MaxPool2d", "pooling.MaxPool3d", "pooling.AvgPool2d", "pooling.AdaptiveAvgPool2d"),
    *("pooling.AdaptiveMaxPool2d", "upsampling.Upsample", "pixelshuffle.PixelShuffle", "pixelshuffle.PixelUnshuffle"),
)
_PLAIN = ("avg_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d", "max_pool1d", "glu")
_PLAIN_LAYERS = (
    *("pooling.MaxPool1d", "pooling.AvgPool1d", "pooling.AdaptiveAvgPool1d", "pooling.AdaptiveMaxPool1d"),
    "activation.GLU",
)
_ANEW = ("avg_pool3d", "adaptive_avg_pool3d", "instance_norm")
_ANEW_LAYERS = ("pooling.AvgPool3d", "pooling.AdaptiveAvgPool3d", "instancenorm._InstanceNorm")
lies(_as_picture(0), *(f"{FUNCTIONAL}.{name}" for name in _IN_FUNCTIONS))
lies(_as_picture(1), *(f"{LAYERS}.{name}.forward" for name in _IN_LAYERS))
lies(_where_plain(0), *(f"{FUNCTIONAL}.{name}" for name in _PLAIN))
lies(_where_plain(1), *(f"{LAYERS}.{name}.forward" for name in _PLAIN_LAYERS))
lies(anew, *(f"{FUNCTIONAL}.{name}" for name in _ANEW), *(f"{LAYERS}.{name}.forward" for name in _ANEW_LAYERS))
lies(as_named("input", first=1), f"{LAYERS}.activation.PReLU.forward")
lies(
    _convolved,
    *(
        name
        for rank in (1, 2, 3)
        for name in (
            *(f"{owner}.conv{kind}{rank}d" for owner in ("torch", FUNCTIONAL) for kind in ("", "_transpose")),
            *(f"{LAYERS}.conv.Conv{kind}{rank}d.forward" for kind in ("", "Transpose")),
        )
    ),
)


def _padded(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """As a picture; where it is around, or nothing is added, in other ways."""
    mode, source = arguments.get(2, "mode", Constant("constant")), _tensor(machine, arguments.get(0, "input", NONE))
    if mode not in (Constant("constant"), Constant("reflect"), Constant("replicate")):
        return layout.row_by_row(made.shape) if mode == Constant("circular") else None
    if layout.is_row_by_row(source):
        return layout.row_by_row(made.shape)
    is_changed = (
        source.shape is not None
        and made.shape is not None
        and any(not same(one, other) for one, other in zip(source.shape, made.shape, strict=True))
    )
    return _laid(made, _are_last([source])) if is_changed else None


lies(_padded, f"{FUNCTIONAL}.pad", "torch._C._nn.pad")
lies(_where_plain(1), *(f"{LAYERS}.padding._{name}PadNd.forward" for name in ("Constant", "Reflection", "Replication")))
lies(anew, f"{LAYERS}.padding._CircularPadNd.forward")

# ---- joined ----------------------------------------------------------------------------------------------------------


def _joined(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    if made.shape is not None and len(made.shape) not in _PICTURES:
        return layout.row_by_row(made.shape)
    listed = machine.iterate(arguments.get(0, "tensors", NONE))
    tensors = [_tensor(machine, each) for each in listed] if isinstance(listed, list) else []
    operands = [layout.operand_of(each) for each in tensors]
    if not operands or None in operands:
        return None
    verdicts = [layout.suggests_channels_last(*each) for each in operands if each is not None]
    return _laid(made, all(verdicts))


def _stacked(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Row by row, but for pictures whose channels are the innermost."""
    listed = machine.iterate(arguments.get(0, "tensors", NONE))
    if made.shape is not None and len(made.shape) not in _PICTURES:
        return layout.row_by_row(made.shape)
    tensors = [_tensor(machine, each) for each in listed] if isinstance(listed, list) else []
    is_plain = bool(tensors) and all(map(layout.is_row_by_row, tensors))
    return layout.row_by_row(made.shape) if is_plain or (made.shape is not None and len(made.shape) == 4) else None


lies(_joined, "torch.cat", "torch.concat", "torch.concatenate")
lies(_stacked, "torch.stack")
lies(_as_picture(0), *both("roll"))

# ---- sequences -------------------------------------------------------------------------------------------------------


@adds_to(*(f"{LAYERS}.rnn.{name}.forward" for name in ("RNN", "LSTM", "GRU")))
def of_sequences(arguments: Arguments, machine: Machine, found: Value) -> None:
    """The output is computed step by step, and turned around where the batch comes first; states lie row by row."""
    if not isinstance(found, TupleValue) or len(found.items) != 2:
        return
    output, states = found.items
    for each in states.items if isinstance(states, TupleValue) else (states,):
        layout.set_anew(machine, each)
    first = machine.truth(machine.find_attribute(arguments.positional[0], "batch_first") or FALSE)
    _turn(machine, output, first)


def _turn(machine: Machine, output: Value, first: bool | None) -> None:
    """Of (batch, length, width), where the batch comes first, the elements lie as those of (length, batch, width)."""
    shape = _tensor(machine, output).shape
    if shape is not None and None not in shape and first is not None:
        order = (2, 0, 1) if first and len(shape) == 3 else range(len(shape))[::-1]
        layout.set_steps(machine, output, layout.dense([size for size in shape if size is not None], order))


@adds_to(f"{LAYERS}.activation.MultiheadAttention.forward")
def of_attention(arguments: Arguments, machine: Machine, found: Value) -> None:
    """The same; torch's shorter way, which does not, is not gone where gradients are recorded."""
    module = arguments.positional[0]
    first = machine.truth(machine.find_attribute(module, "batch_first") or FALSE)
    projection = machine.find_attribute(module, "out_proj")
    weight = _tensor(machine, machine.find_attribute(projection, "weight") if projection is not None else None)
    is_short = first is not False and not (are_recorded(machine) is not False and weight.requires_grad)
    if isinstance(found, TupleValue) and not is_short:
        _turn(machine, found.items[0], first)
        layout.set_anew(machine, found.items[1])


def _heads(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """On a CPU as the queries do; where torch goes another way, that is not known."""
    parts = [_tensor(machine, arguments.get(at, name, NONE)) for at, name in enumerate(("query", "key", "value"))]
    plain = all(each.shape is not None and len(each.shape) == 4 for each in parts)
    if (
        not plain
        or made.shape is None
        or None in made.shape
        or arguments.get(4, "dropout_p", Constant(0.0)) != Constant(0.0)
    ):
        return None
    widths = [each.shape[-1] for each in parts if each.shape is not None]
    grouped = arguments.named("enable_gqa", FALSE) != FALSE
    mask = arguments.get(3, "attn_mask", NONE)
    wanted = _tensor(machine, mask)
    is_masked = mask != NONE and (wanted.requires_grad is not False or wanted.shape is None)
    if grouped or is_masked or not all(same(width, widths[0]) for width in widths):
        return None
    if any(each.device != "cpu" for each in parts) or isinstance(mask, Unknown):
        return None
    if any(not (steps := layout.steps_of(each)) or not same(steps[-1], 1) for each in parts):
        return None
    return of_operands(machine, (arguments.get(0, "query", NONE),), made)


lies(_heads, f"{FUNCTIONAL}.scaled_dot_product_attention", "torch._C._nn.scaled_dot_product_attention")


@adds_to(f"{FUNCTIONAL}.multi_head_attention_forward")
def of_heads(arguments: Arguments, machine: Machine, found: Value) -> None:
    for each in found.items if isinstance(found, TupleValue) else ():
        layout.set_anew(machine, each)
