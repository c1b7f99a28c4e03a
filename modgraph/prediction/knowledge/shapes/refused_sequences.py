"""What is refused of layers for sequences: other dtypes, states without their batch, masks that do not fit.

Source: torch/nn/modules/rnn.py, `_mha_shape_check` and `multi_head_attention_forward` of torch/nn/functional.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import CUT, TensorObject
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import FALSE, NONE, TupleValue, Value
from modgraph.prediction.knowledge.shapes.fitting import number
from modgraph.prediction.knowledge.tensors.demanding import (
    NOT_KNOWN,
    differ,
    given,
    is_larger,
    is_nothing,
    refuse,
    require_one_dtype,
    require_rank,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import Shape, category
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.prediction.knowledge.torch.autocasting import may_cast
from modgraph.prediction.knowledge.torch.packed_sequences import Packed, packed_of

_LAYERS = "torch.nn.modules"


# ---- recurrent -------------------------------------------------------------------------------------------------------


@demands(*(f"{_LAYERS}.rnn.{name}.forward" for name in ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")))
def recurrent(arguments: Arguments, machine: Machine) -> None:
    """Input, state and weights of one dtype; of the second state of an LSTM, it is not asked."""
    name = arguments.function.split(".")[-2]
    states = _states(arguments, machine)
    parts = [given(arguments, machine, 1, "input"), *states]
    sequences = None if name.endswith("Cell") else packed_of(machine, arguments.get(1, "input", NONE))
    if sequences is not None:
        _of_packed(arguments, machine, sequences, states)
        return
    if "LSTM" in name and len(states) == 1:
        refuse(machine, "tuple index out of range", "IndexError")
    ranks = (1, 2) if name.endswith("Cell") else (2, 3)
    if parts[0].shape is not None and len(parts[0].shape) not in ranks:
        return  # another exception
    weights = _weight(machine, arguments.positional[0])
    if not name.endswith("Cell"):
        _require_dtype_of(machine, parts[0], weights)
    require_one_dtype(machine, name, *parts[:2], *weights)
    if not name.endswith("Cell"):
        _require_steps(machine, arguments, parts[0].shape)
        return
    for each in parts[1:]:
        require_rank(machine, name, each.shape, (1, 2))
    numbers = {len(each.shape) for each in parts if each.shape is not None}
    if len(numbers) > 1 and parts[0].shape is not None:
        refuse(machine, f"{name}: the input and its states must both have a batch, or none")


def _of_packed(arguments: Arguments, machine: Machine, sequences: Packed, states: Sequence[TensorObject]) -> None:
    """Rows without a batch, of the dtype of the weights; an LSTM looks at no more than torch's kernels do."""
    name, weights = arguments.function.split(".")[-2], _weight(machine, arguments.positional[0])
    if "LSTM" in name and len(states) == 1:
        refuse(machine, "lstm() takes two states", "RuntimeError" if sequences.is_sorted else "IndexError")
    if "LSTM" not in name:
        _require_dtype_of(machine, sequences.data, weights)
    require_rank(machine, name, sequences.data.shape, (2,))
    rows = sequences.data.shape[0] if sequences.data.shape else None
    if CUT in sequences.data.attributes or is_larger(sequences.steps, rows):
        refuse(machine, f"{rows} rows are less than the {sequences.steps} of the sequences")
    if differ(sequences.steps, rows):
        machine.may_fail()
    require_one_dtype(machine, name, sequences.data, states[0], *weights)


def _require_dtype_of(machine: Machine, source: TensorObject, weights: Sequence[TensorObject]) -> None:
    """Of the input, before anything else is asked."""
    for each in weights:
        if None not in (source.dtype, each.dtype) and source.dtype != each.dtype and not may_cast(machine):
            message = f"RNN input dtype (torch.{source.dtype}) does not match weight dtype (torch.{each.dtype})"
            refuse(machine, message, "ValueError")


def _states(arguments: Arguments, machine: Machine) -> list[TensorObject]:
    state = arguments.get(2, "hx", NONE)
    if state == NONE:
        return [NOT_KNOWN, NOT_KNOWN]
    is_tuple = isinstance(state, TupleValue)
    items = state.items if isinstance(state, TupleValue) else (state,)
    found = [tensor_of(machine, each) or NOT_KNOWN for each in items]
    return found if is_tuple else [*found, NOT_KNOWN]


def _weight(machine: Machine, module: Value) -> list[TensorObject]:
    for name in ("weight_ih_l0", "weight_ih"):
        found = tensor_of(machine, machine.find_attribute(module, name) or NONE)
        if found is not None and found.lazy is False:
            return [found]
    return []


def _require_steps(machine: Machine, arguments: Arguments, shape: Shape | None) -> None:
    first = machine.truth(machine.find_attribute(arguments.positional[0], "batch_first") or FALSE)
    if not shape or first is None or len(shape) not in (2, 3):
        return
    if is_nothing(shape[1 if first and len(shape) == 3 else 0]):
        refuse(machine, "Expected sequence length to be larger than 0 in RNN")


# ---- attention -------------------------------------------------------------------------------------------------------


@demands(f"{_LAYERS}.activation.MultiheadAttention.forward")
def attention(arguments: Arguments, machine: Machine) -> None:
    """Keys and values as many, as many batches of all, and masks of their sizes."""
    module = arguments.positional[0]
    query, key, value = (given(arguments, machine, 1 + at, name) for at, name in enumerate(("query", "key", "value")))
    padding, mask = given(arguments, machine, 4, "key_padding_mask"), given(arguments, machine, 6, "attn_mask")
    if machine.truth(arguments.get(8, "is_causal", FALSE)) and arguments.get(6, "attn_mask", NONE) == NONE:
        refuse(machine, "Need attn_mask if specifying the is_causal hint.")
    _require_masks(machine, (padding, mask))
    weights = [tensor_of(machine, machine.find_attribute(module, "in_proj_weight") or NONE) or NOT_KNOWN]
    require_one_dtype(machine, "multi_head_attention_forward", query, key, value, *weights)
    first = machine.truth(machine.find_attribute(module, "batch_first") or FALSE)
    if query.shape is None or key.shape is None or value.shape is None or first is None:
        return
    rank = len(query.shape)
    if rank not in (2, 3):
        return
    for each in (key.shape, value.shape):
        _require(machine, len(each) == rank, f"expected `key` and `value` to be {rank}-D, but found {len(each)}-D")
    for held, ranks, what in ((padding.shape, (rank - 1,), "key_padding_mask"), (mask.shape, (2, 3), "attn_mask")):
        fits = held is None or len(held) in ranks
        _require(machine, fits, f"for {rank}-D `query`, {what} has {len(held or ())} dimensions")
    batch_at, length_at = (0, 1) if first else (1, 0)
    if rank == 2:
        length_at = 0
    if any(differ(*pair) for pair in zip(key.shape[: rank - 1], value.shape[: rank - 1], strict=True)):
        _require(machine, False, f"key shape {told(key.shape)} does not match value shape {told(value.shape)}")
    if rank == 3 and differ(query.shape[batch_at], key.shape[batch_at]):
        refuse(machine, f"shape of {told(key.shape)} is invalid for the batch of {told(query.shape)}")
    batch = query.shape[batch_at] if rank == 3 else 1
    lengths = query.shape[length_at], key.shape[length_at]
    heads = number(machine.find_attribute(module, "num_heads") or NONE)
    _require_mask_sizes(machine, mask.shape, (batch, heads), lengths)
    wanted = (*((batch,) if rank == 3 else ()), lengths[1])
    if padding.shape is not None and any(differ(*pair) for pair in zip(padding.shape, wanted, strict=True)):
        _require(machine, False, f"key_padding_mask has sizes {told(padding.shape)}, expected {told(wanted)}")


def _require(machine: Machine, holds: bool, message: str) -> None:
    if not holds:
        refuse(machine, message, "AssertionError")


def _require_masks(machine: Machine, masks: Sequence[TensorObject]) -> None:
    """Of truths, or of floating point.

    Raises:
        Raised: AssertionError, where they are of whole numbers.
    """
    for each in masks:
        whole = each.dtype is not None and category(each.dtype) == 1
        _require(machine, not whole, f"only bool and floating types of a mask are supported, not {each.dtype}")


def _require_mask_sizes(
    machine: Machine, mask: Shape | None, many: tuple[int | None, int | None], lengths: tuple[int | None, int | None]
) -> None:
    if mask is None:
        return
    batch, heads = many
    first = None if batch is None or heads is None else batch * heads
    wanted = lengths if len(mask) == 2 else (first, *lengths)
    if any(differ(*pair) for pair in zip(mask, wanted, strict=True)):
        refuse(machine, f"The shape of the attn_mask is {told(mask)}, but should be {told(wanted)}.")
