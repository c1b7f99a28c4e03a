"""Products of many matrices at once, group by group, and the histogram that counts their rows.

Source: `_grouped_mm_cpu` and `create_grouped_gemm_output_tensor` in ATen's `native/GroupedMMUtils.h`, `histc_out` in
`native/Histogram.cpp`; judged by torch in `tests/prediction/test_grouped_products.py`.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Constant, Value
from modgraph.prediction.knowledge.shapes import fitting
from modgraph.prediction.knowledge.shapes.arithmetic import MisfitError
from modgraph.prediction.knowledge.tensors import layout
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.tensors.layout import Steps
from modgraph.prediction.knowledge.tensors.layout_rules import lies
from modgraph.prediction.knowledge.tensors.tensor_math import needs_any
from modgraph.prediction.knowledge.tensors.tensor_values import size_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_GROUPED = ("torch.nn.functional.grouped_mm", "torch._grouped_mm")
_HISTC = ("torch.histc", f"{TENSOR}.histc")
_IN_A_ROW = {"float32": 4, "bfloat16": 8, "float16": 8}
"""Elements in the sixteen bytes of which the rows of each matrix are made; other numbers are refused."""


@models(*_GROUPED)
def grouped_mm(arguments: Arguments, machine: Machine) -> Value:
    """With offsets where one has no groups of its own: they say at which row, or column, each group ends."""
    names = ("mat_a", "mat_b") if arguments.function.startswith("torch.nn") else ("self", "mat2")
    left, right = (fitting.tensor(machine, arguments.get(place, name, NONE)) for place, name in enumerate(names))
    offsets = fitting.tensor(machine, arguments.get(2, "offs", NONE))
    fitting.require_one_dtype(machine, left, right, "grouped_mm")
    shape = fitting.fitted(machine, lambda: _product(left.shape, right.shape, offsets.shape))
    if not all(_is_in_rows(each) for each in (left, right)) or arguments.get(3, "bias", NONE) != NONE:
        machine.may_refuse("RuntimeError")
    dtype = left.dtype if arguments.get(4, "out_dtype", NONE) == NONE else None
    return fitting.result(machine, arguments, shape, dtype, needs_any((left, right)))


def _product(left: Shape | None, right: Shape | None, offsets: Shape | None) -> Shape | None:
    """Raises MisfitError where the two do not fit."""
    if left is None or right is None:
        return None
    if not {len(left), len(right)} <= {2, 3}:
        raise MisfitError(f"grouped_mm of {list(left)} by {list(right)}: both have two or three dimensions")
    if None not in (left[-1], right[-2]) and left[-1] != right[-2]:
        raise MisfitError("contraction dimension of mat_a and mat_b must match")
    if len(left) == len(right) == 2:
        return (offsets[0] if offsets else None, left[0], right[1])
    groups = [each[0] for each in (left, right) if len(each) == 3]
    if len(groups) == 2:
        if None not in groups and groups[0] != groups[1]:
            raise MisfitError("batched dimension has to match")
        return (groups[0], left[1], right[2])
    if offsets and None not in (offsets[0], groups[0]) and offsets[0] != groups[0]:
        raise MisfitError("matrix batch sizes have to match")
    return (left[-2], right[-1])


def _is_in_rows(matrix: TensorObject) -> bool:
    """Its rows, or columns, begin at whole sixteen bytes; where it is not known how it lies, both would."""
    step = _IN_A_ROW.get(matrix.dtype or "")
    if step is None or matrix.shape is None:
        return False
    steps = layout.steps_of(matrix)
    if steps is not None and 1 in steps[-2:]:
        return all(type(each) is int and (each == 1 or each % step == 0) for each in steps)
    return all(type(size) is int and size % step == 0 for size in matrix.shape[-2:])


def _padded(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Each row begins at a multiple of sixteen bytes."""
    step = _IN_A_ROW.get(made.dtype or "")
    if step is None or made.shape is None:
        return None
    sizes = [size for size in made.shape if type(size) is int]
    if len(sizes) != len(made.shape):
        return None
    row = -(-sizes[-1] // step) * step
    return [row * sizes[1], row, 1][-len(sizes) :] if len(sizes) == 3 else [row, 1]


lies(_padded, *_GROUPED)


@models(*_HISTC)
def histc(arguments: Arguments, machine: Machine) -> Value:
    """One number for each bin."""
    given = fitting.tensor(machine, arguments.get(0, "input", NONE))
    bins = size_of(arguments.get(1, "bins", Constant(100)))
    if type(bins) is int and bins <= 0:
        raise machine.raises("RuntimeError", f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if bins is None or given.dtype is None or "float" not in given.dtype or not _is_range(arguments):
        machine.may_refuse("RuntimeError")
    return fitting.result(machine, arguments, (bins,), given.dtype, False)


lies(lambda _arguments, _machine, made: layout.row_by_row(made.shape), *_HISTC)


def _is_range(arguments: Arguments) -> bool:
    """Its ends are known, and torch does not take them for the wrong way round."""
    low, high = arguments.get(2, "min", Constant(0)), arguments.get(3, "max", Constant(0))
    numbers = [
        each.value for each in (low, high) if isinstance(each, Constant) and isinstance(each.value, (int, float))
    ]
    return len(numbers) == 2 and numbers[0] <= numbers[1]
