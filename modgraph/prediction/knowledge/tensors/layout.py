"""How a tensor lies in memory, as far as that is known: by dimension, how many elements lie between two neighbours.
`view` needs them as they are.

What is known is written down with the shape that it was known of; what functions give lies as `layout_rules.py` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import STEPS, TensorObject
from modgraph.prediction.domain.sizes import as_form, same, same_sizes, witness_of
from modgraph.prediction.domain.values import Address, Constant, TupleValue, Value
from modgraph.prediction.knowledge.tensors.elements import Shape

Steps = list[int]
Operand = tuple[Sequence[int], Sequence[int]]
"""Sizes and steps of a tensor."""


def steps_of(tensor: TensorObject) -> Steps | None:
    """For each dimension, how many elements lie between two neighbours; None where that is not known."""
    held = tensor.attributes.get(STEPS)
    if tensor.shape == ():
        return []
    if not isinstance(held, TupleValue) or tensor.shape is None or None in tensor.shape:
        return None
    numbers = [each.value for each in held.items if isinstance(each, Constant)]
    half = len(numbers) // 2
    return numbers[half:] if same_sizes(numbers[:half], tensor.shape) else None


def operand_of(tensor: TensorObject) -> Operand | None:
    steps = steps_of(tensor)
    return (
        None if steps is None or tensor.shape is None else ([size for size in tensor.shape if size is not None], steps)
    )


def set_steps(machine: Machine, value: Value, steps: Sequence[int] | None) -> None:
    """Writes down how a tensor lies; with None, that it is not known."""
    tensor = machine.state.find(value, TensorObject)
    if not isinstance(value, Address) or tensor is None:
        return
    if steps is None or tensor.shape is None or None in tensor.shape or len(steps) != len(tensor.shape):
        if STEPS in tensor.attributes:
            del machine.state.change(value, TensorObject).attributes[STEPS]
        return
    numbers = (*tensor.shape, *steps)
    machine.state.change(value, TensorObject).attributes[STEPS] = TupleValue(tuple(map(Constant, numbers)))


def row_by_row(shape: Shape | None) -> Steps | None:
    """The steps of a tensor that was made anew."""
    if shape is None or None in shape:
        return None
    return dense([size for size in shape if size is not None], range(len(shape))[::-1])


def dense(sizes: Sequence[int], order: Sequence[int]) -> Steps:
    """The steps of a tensor without gaps, whose dimensions lie in that order: the first is the innermost."""
    found = [1] * len(sizes)
    step = 1
    for place in order:
        found[place] = step
        if not same(sizes[place], 0):
            step = step * sizes[place]
    return found


def set_anew(machine: Machine, value: Value) -> Value:
    """A tensor that a function has made anew, with its elements row by row."""
    tensor = machine.state.find(value, TensorObject)
    set_steps(machine, value, row_by_row(tensor.shape) if tensor is not None else None)
    return value


def is_row_by_row(tensor: TensorObject) -> bool:
    found = operand_of(tensor)
    return found is not None and lies_in_order(*found, range(len(found[0]))[::-1])


def lies_in_order(sizes: Sequence[int], steps: Sequence[int], order: Sequence[int]) -> bool:
    """Without gaps, the first of these dimensions the innermost. Of a single element, the step does not matter."""
    expected = 1
    for place in order:
        if same(sizes[place], 1):
            continue
        if not same(steps[place], expected):
            return any(same(size, 0) for size in sizes)
        expected = expected * sizes[place]
    return True


# ---- channels last ---------------------------------------------------------------------------------------------------


def channels_last(rank: int) -> Sequence[int]:
    """The order of the dimensions of pictures whose channels are the innermost; none for what are no pictures."""
    return (1, *range(2, rank)[::-1], 0) if rank in (4, 5) else ()


def suggests_channels_last(sizes: Sequence[int], steps: Sequence[int]) -> bool:
    """As torch's `suggest_memory_format` has it."""
    numbers, least = [witness_of(step) for step in steps], 0
    if len(sizes) not in (4, 5) or numbers[1] == 0:
        return False
    for place in channels_last(len(sizes)):
        if witness_of(sizes[place]) == 0 or numbers[place] < least or (place == 0 and least == numbers[1]):
            return False
        least = numbers[place] * max(1, witness_of(sizes[place]))
    return True


# ---- element by element ----------------------------------------------------------------------------------------------


def elementwise(sizes: Sequence[int], operands: Sequence[Operand], has_numbers: bool) -> Steps:
    """The steps of what torch's `TensorIterator` makes of these tensors.

    Args:
        has_numbers: numbers, or tensors without dimensions, are among what it is given.
    """
    backwards = range(len(sizes))[::-1]
    if not has_numbers and all(same_sizes(each, sizes) for each, _ in operands):
        for order in (backwards, channels_last(len(sizes))):
            if order and all(lies_in_order(*each, order) for each in operands):
                return dense(sizes, order)
        first = operands[0][1]
        if _is_dense(*operands[0]) and all(same_sizes(each, first) for _, each in operands):
            return list(first)
    return dense(sizes, _sorted(sizes, [_spread(each, sizes) for each in operands]))


def _is_dense(sizes: Sequence[int], steps: Sequence[int]) -> bool:
    longer = [place for place, size in enumerate(sizes) if not same(size, 1)]
    return lies_in_order(sizes, steps, sorted(longer, key=lambda place: witness_of(steps[place])))


def _spread(operand: Operand, wanted: Sequence[int]) -> Steps:
    """The steps of an operand that is broadcast."""
    sizes, steps = operand
    begin = len(wanted) - len(sizes)
    pairs = zip(sizes, steps, wanted[begin:], strict=True)
    return [0] * begin + [0 if same(size, 1) and not same(other, 1) else step for size, step, other in pairs]


def _sorted(sizes: Sequence[int], operands: Sequence[Steps]) -> list[int]:
    """The dimensions, the innermost first: by an insertion that passes over those that cannot be compared."""
    numbers = [[witness_of(step) for step in steps] for steps in operands]
    order = list(range(len(sizes)))[::-1]
    for end in range(1, len(order)):
        place = end
        for other in range(end)[::-1]:
            compared = _compared(order[other], order[place], [witness_of(size) for size in sizes], numbers)
            if compared < 0:
                break
            if compared > 0:
                order[other], order[place] = order[place], order[other]
                place = other
    return order


def _compared(one: int, other: int, sizes: Sequence[int], operands: Sequence[Steps]) -> int:
    """Above zero where the first dimension lies outside of the other, by the first operand that tells them apart."""
    for steps in operands:
        if 0 in (steps[one], steps[other]):
            continue
        if steps[one] != steps[other]:
            return 1 if steps[one] > steps[other] else -1
        if sizes[one] > sizes[other]:
            return 1
    return 0


# ---- views -----------------------------------------------------------------------------------------------------------


def refuses_view(tensor: TensorObject, wanted: Sequence[int | None]) -> bool:
    """torch certainly cannot show the elements in that shape where they are."""
    found = operand_of(tensor)
    if found is None or None in wanted or is_row_by_row(tensor):
        return False
    new = [size for size in wanted if size is not None]
    if viewed(*found, new) is not None and all(_fits_further(*found, new, step) for step in (_STEP, _STEP + 1)):
        return False  # and with others: no condition is told
    return viewed(*found, new, lambda size: size) is None  # those on which it depends are written


_STEP = 64 * 27720
"""Whatever small number a size is a multiple of, it is with so many more."""


def _fits_further(sizes: Sequence[int], steps: Sequence[int], wanted: Sequence[int], step: int) -> bool:
    others = [[_further(each, step) for each in part] for part in (sizes, steps, wanted)]
    return viewed(others[0], others[1], others[2]) is not None


def _further(size: int, step: int) -> int:
    """What an open size is if all sizes are others than those with which is reckoned."""
    form = as_form(size)
    if form is None or type(size) is int:
        return size
    return form.evaluate({each: each.witness + step * (1 + _number(each.name)) for each in form.symbols()})


def _number(name: str) -> int:
    """Another for each name."""
    return int.from_bytes(name.encode(), "big")


def view_steps(tensor: TensorObject, wanted: Sequence[int | None]) -> Steps | None:
    """The steps of a view of that shape; None where they are not known, or there is none."""
    found = operand_of(tensor)
    if found is None or None in wanted:
        return None
    new = [size for size in wanted if size is not None]
    return row_by_row(tuple(new)) if is_row_by_row(tensor) else viewed(*found, new)


def viewed(
    sizes: Sequence[int],
    steps: Sequence[int],
    wanted: Sequence[int],
    looked_at: Callable[[int], int] = witness_of,
) -> Steps | None:
    """The steps of a view of another shape, as torch's `computeStride` finds them; None where there is none.

    Args:
        looked_at: what is compared of a size; comparing a size itself writes a condition.
    """
    if not sizes or math.prod(map(witness_of, sizes)) == 0:
        return dense(wanted, range(len(wanted))[::-1])
    found: Steps = [1] * len(wanted)
    place = len(wanted) - 1
    base, have = steps[-1], 1
    for at in reversed(range(len(sizes))):
        have = have * sizes[at]
        if at > 0 and (looked_at(sizes[at - 1]) == 1 or looked_at(steps[at - 1]) == looked_at(have * base)):
            continue
        taken = 1
        while place >= 0 and (looked_at(taken) < looked_at(have) or looked_at(wanted[place]) == 1):
            found[place] = taken * base
            taken = taken * wanted[place]
            place -= 1
        if looked_at(taken) != looked_at(have):
            return None
        if at > 0:
            base, have = steps[at - 1], 1
    return found if place == -1 else None


def may_refuse_view(tensor: TensorObject, wanted: Sequence[int | None]) -> bool:
    """How it lies is not known, and a view of that shape joins dimensions: torch refuses it where they lie apart."""
    if tensor.shape is None or None in tensor.shape or None in wanted or steps_of(tensor) is not None:
        return False
    sizes = [size for size in tensor.shape if size is not None and not same(size, 1)]
    # As if each dimension lay apart from the others.
    apart = [2 * math.prod(map(witness_of, sizes[place + 1 :])) + place for place in range(len(sizes))]
    return viewed(sizes, apart, [size for size in wanted if size is not None]) is None
