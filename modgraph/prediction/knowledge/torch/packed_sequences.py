"""Sequences of several lengths, packed one step behind the other, and put back into one tensor.

Source: torch/nn/utils/rnn.py, ATen/native/PackedSequence.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import BATCH, CUT, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Address, ClassValue, Constant, TupleValue, Value
from modgraph.prediction.knowledge.shapes.fitting import number
from modgraph.prediction.knowledge.tensors.demanding import (
    NOT_KNOWN,
    differ,
    given,
    is_larger,
    is_nothing,
    refuse,
    require_rank,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import MAX_ELEMENTS, Number, Shape
from modgraph.prediction.knowledge.tensors.tensor_values import made, tensor_of
from modgraph.prediction.python.counted import count

Size = int | None
_PACKED = "torch.nn.utils.rnn.PackedSequence"


@dataclass(frozen=True, slots=True)
class Packed:
    """What is known of packed sequences."""

    data: TensorObject
    order: TensorObject | None
    """How they were sorted; None where they were not, or that is not known."""
    is_sorted: bool
    """Certainly not put into another order."""
    batch: Size
    """How many there are."""
    steps: Size
    """How many steps all of them have together."""


def packed_of(machine: Machine, value: Value) -> Packed | None:
    """Of a `PackedSequence`; None for anything else."""
    if not (isinstance(value, TupleValue) and isinstance(value.cls, ClassValue) and value.cls.name == _PACKED):
        return None
    data, sizes, order = (*value.items, NONE, NONE)[:3]
    found, counted = tensor_of(machine, order), tensor_of(machine, sizes) or NOT_KNOWN
    batch = found.shape[0] if found is not None and found.shape else _batch(counted)
    steps = int(sum(counted.elements)) if counted.elements else None
    return Packed(tensor_of(machine, data) or NOT_KNOWN, found, order == NONE, batch, steps)


def _batch(sizes: TensorObject) -> Size:
    """How many sequences have a first step, which is all of them."""
    return number(Constant(sizes.elements[0])) if sizes.elements else number(sizes.attributes.get(BATCH, NONE))


@models("torch._VF._pack_padded_sequence")
def packed(arguments: Arguments, machine: Machine) -> Value:
    """What stands in the sequences, one step behind the other, and how many go on at each: how many there are of
    either, the lengths say."""
    source, lengths = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "lengths")
    first, shape = machine.truth(arguments.get(2, "batch_first", FALSE)), source.shape
    if shape is not None and len(shape) < 2:
        refuse(machine, "Dimension out of range (expected to be in range of [-1, 0], but got 1)", "IndexError")
    require_rank(machine, "'lengths' should be a 1D CPU int64 tensor", lengths.shape, (1,))
    if shape is not None and any(map(is_nothing, shape)):
        refuse(machine, "Cannot pack empty tensors.")
    known = shape is not None and first is not None
    batch, longest = (shape[not first], shape[bool(first)]) if shape is not None and known else (None, None)
    if lengths.shape and differ(lengths.shape[0], batch):
        message = f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.shape[0]} (batch_size={batch})"
        refuse(machine, message)
    _require_descending(machine, lengths.elements)
    sizes = _steps(machine, lengths.elements or ())
    rows = None if sizes is None or longest is None else sum(sizes)
    # Of a sequence that is said to be longer than it is, all is taken; what comes after it refuses that.
    if is_cut := sizes is not None and is_larger(len(sizes), longest):
        rows = sum(sizes[:longest]) if sizes is not None and type(longest) is int else None
    data = _with(machine, source, None if shape is None else (rows, *shape[2:]))
    if is_cut:
        machine.state.change(data, TensorObject).attributes[CUT] = TRUE
    return TupleValue((data, _sizes(machine, sizes, batch)))


def _require_descending(machine: Machine, lengths: Sequence[Number] | None) -> None:
    """None of nothing, and none behind a shorter one.

    Raises:
        Raised: RuntimeError, where it is so.
    """
    if not lengths:
        return
    if lengths[-1] <= 0:
        refuse(machine, f"Length of all samples has to be greater than 0, but got {lengths[-1]}")
    if any(later > sooner for sooner, later in pairwise(lengths)):
        refuse(machine, "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True")


def _steps(machine: Machine, lengths: Sequence[Number]) -> tuple[int, ...] | None:
    """How many sequences go on at each step, from their lengths, the longest first; and the other way round."""
    whole = [each for each in lengths if isinstance(each, int)]
    if not whole or len(whole) != len(lengths) or whole[0] > MAX_ELEMENTS:
        return None
    count(machine, whole[0] + len(whole))
    found: list[int] = []
    for many, length in zip(range(len(whole), 0, -1), reversed(whole), strict=True):
        found += [many] * (length - len(found))
    return tuple(found)


def _sizes(machine: Machine, sizes: tuple[int, ...] | None, batch: Size) -> Value:
    found = made(machine, (None if sizes is None else len(sizes),), "int64", sizes)
    if sizes is None and batch is not None:
        machine.state.change(found, TensorObject).attributes[BATCH] = Constant(batch)
    return found


def _with(machine: Machine, source: TensorObject, shape: Shape | None) -> Address:
    return made(machine, shape, source.dtype, requires_grad=source.requires_grad)


@models("torch._VF._pad_packed_sequence")
def padded(arguments: Arguments, machine: Machine) -> Value:
    """As many sequences as there were, as long as the longest of them or as is asked for, and their lengths."""
    source, sizes = given(arguments, machine, 0, "data"), given(arguments, machine, 1, "batch_sizes")
    first, length = (machine.truth(arguments.get(2, "batch_first", FALSE)), number(arguments.get(4, "", NONE)))
    batch, longest, shape = _batch(sizes), sizes.shape[0] if sizes.shape else None, source.shape
    if length is not None and is_larger(longest, length):
        refuse(machine, f"Expected total_length to be at least {longest}, but got {length}")
    held = sizes.elements or ()
    if CUT in source.attributes or (shape and held and differ(shape[0], int(sum(held)))):
        refuse(machine, f"{told(shape or ())} are not the steps of sequences, of which there are {sum(held)}")
    lengths = _steps(machine, held)
    front = (None, None) if first is None else (batch, length) if first else (length, batch)
    data = _with(machine, source, (*front, *shape[1:]) if shape else None)
    return TupleValue((data, made(machine, (batch,), "int64", lengths)))
