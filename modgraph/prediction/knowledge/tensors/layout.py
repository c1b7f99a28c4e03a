"""How a tensor lies in memory, as far as that is known: what is made anew lies row by row, and dimensions that change
places do not move its elements. `view` needs them as they are.

Nothing is known of most tensors. What is known is written down with the shape that it was known of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import LAYOUT, TensorObject
from modgraph.prediction.domain.sizes import same_sizes, witness_of
from modgraph.prediction.domain.values import Address, Constant, TupleValue, Value
from modgraph.prediction.knowledge.tensors.elements import Shape


def steps_of(tensor: TensorObject) -> list[int] | None:
    """For each dimension, how many elements lie between two neighbours; None where that is not known."""
    held = tensor.attributes.get(LAYOUT)
    if not isinstance(held, TupleValue) or tensor.shape is None or None in tensor.shape:
        return None
    numbers = [each.value for each in held.items if isinstance(each, Constant)]
    half = len(numbers) // 2
    return numbers[half:] if same_sizes(numbers[:half], tensor.shape) else None


def set_steps(machine: Machine, value: Value, steps: Sequence[int] | None) -> None:
    tensor = machine.state.find(value, TensorObject)
    if steps is None or not isinstance(value, Address) or tensor is None or tensor.shape is None:
        return
    if None not in tensor.shape and len(steps) == len(tensor.shape):
        numbers = (*tensor.shape, *steps)
        machine.state.change(value, TensorObject).attributes[LAYOUT] = TupleValue(tuple(map(Constant, numbers)))


def row_by_row(shape: Shape | None) -> list[int] | None:
    """The steps of a tensor that was made anew."""
    if shape is None:
        return None
    found: list[int] = []
    step = 1
    for size in reversed(shape):
        if size is None:
            return None
        found.append(step)
        step = step * size
    return found[::-1]


def set_anew(machine: Machine, value: Value) -> Value:
    """A tensor that a function has made anew, with its elements row by row."""
    tensor = machine.state.find(value, TensorObject)
    set_steps(machine, value, row_by_row(tensor.shape) if tensor is not None else None)
    return value


def is_row_by_row(tensor: TensorObject) -> bool:
    steps, wanted = steps_of(tensor), row_by_row(tensor.shape)
    return steps is not None and wanted is not None and same_sizes(steps, wanted)


def refuses_view(tensor: TensorObject, wanted: Sequence[int | None]) -> bool:
    """torch certainly cannot show the elements in that shape where they are."""
    steps = steps_of(tensor)
    if steps is None or tensor.shape is None or None in wanted or is_row_by_row(tensor):
        return False
    sizes = [size for size in tensor.shape if size is not None]
    new = [size for size in wanted if size is not None]
    reckoned = [[witness_of(each) for each in part] for part in (sizes, steps, new)]
    # Where it fits with the numbers that are reckoned with, no condition is told; where not, those on which it depends.
    return not _fits(*reckoned) and not _fits(sizes, steps, new)


def _fits(sizes: Sequence[int], steps: Sequence[int], wanted: Sequence[int]) -> bool:
    """As torch's `computeStride` finds it."""
    if not sizes or math.prod(map(witness_of, sizes)) == 0:
        return True
    place = len(wanted) - 1
    base, have, taken = steps[-1], 1, 1
    for i in reversed(range(len(sizes))):
        have = have * sizes[i]
        if i > 0 and (sizes[i - 1] == 1 or steps[i - 1] == have * base):
            continue
        while place >= 0 and (taken < have or wanted[place] == 1):
            taken = taken * wanted[place]
            place -= 1
        if taken != have:
            return False
        if i > 0:
            base, have, taken = steps[i - 1], 1, 1
    return place == -1
