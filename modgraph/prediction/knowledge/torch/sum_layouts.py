"""How what `einsum` gives lies in memory: as a product of matrices, or of numbers, made of both operands.

Source: ATen, `einsum` and `sumproduct_pair` in `Linear.cpp`. What no rule speaks of is not known.
"""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.sizes import same
from modgraph.prediction.domain.values import Constant
from modgraph.prediction.knowledge.shapes.arithmetic import letters_of
from modgraph.prediction.knowledge.shapes.functions import operands_of_sum
from modgraph.prediction.knowledge.tensors import layout
from modgraph.prediction.knowledge.tensors.layout import Operand, Steps
from modgraph.prediction.knowledge.tensors.layout_rules import lies
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of

Sizes = dict[str, int]
"""By letter."""


def _summed(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Of two operands, as torch multiplies them; of a diagonal it is not known."""
    equation, operands = operands_of_sum(arguments, machine)
    tensors = [tensor_of(machine, each) for each in operands]
    if not isinstance(equation, Constant) or not isinstance(equation.value, str) or len(tensors) != 2:
        return None
    shapes = [None if tensor is None or tensor.shape is None else tensor.shape for tensor in tensors]
    found = _letters(equation.value, [None if shape is None else len(shape) for shape in shapes])
    if found is None or made.shape is None:
        return None
    parts, result = found
    sizes: list[Sizes] = []
    for letters, shape in zip(parts, shapes, strict=True):
        if shape is None or any(size is None or same(size, 0) for size in shape):
            return None
        sizes.append({letter: size for letter, size in zip(letters, shape, strict=True) if size is not None})
    summed = [letter for letter in sizes[0] if letter in sizes[1] and letter not in result]
    if any(not _is_single(sizes[0], letter) and not _is_single(sizes[1], letter) for letter in summed):
        return _multiplied(sizes[0], sizes[1], result)
    if {*sizes[0], *sizes[1]} != set(result):
        return None
    return _by_element(tensors, parts, result, sizes)


def _letters(equation: str, ranks: Sequence[int | None]) -> tuple[list[str], str] | None:
    """Those of each operand, and of what is given, with characters of their own for what dots stand for."""
    parts, result = letters_of(equation)
    if len(parts) != len(ranks) or None in ranks:
        return None
    more = {rank + 3 - len(part) for part, rank in zip(parts, ranks, strict=True) if rank is not None and "..." in part}
    if len(more) > 1 or any(each < 0 for each in more):
        return None
    dots = "".join(map(str, range(*more))) if more else ""
    texts = [each.replace("...", dots) for each in (*parts, result)]
    if any(len(set(text)) != len(text) or not text.isalnum() for text in texts if text) or len(dots) > 10:
        return None
    if any(len(text) != rank for text, rank in zip(texts, ranks, strict=False)):
        return None
    return texts[:-1], texts[-1]


def _is_single(sizes: Sizes, letter: str) -> bool:
    return letter not in sizes or same(sizes[letter], 1)


def _multiplied(first: Sizes, second: Sizes, result: str) -> Steps | None:
    """Of a product of matrices: letters of both lie outermost, then those of the first. Where all letters of the second
    come before, it depends on the version of torch which of them is the first."""
    both = [at for at, each in enumerate(result) if not _is_single(first, each) and not _is_single(second, each)]
    left = [at for at, each in enumerate(result) if not _is_single(first, each) and at not in both]
    right = [at for at in range(len(result)) if at not in both and at not in left]
    sizes = [first[each] if not _is_single(first, each) else second.get(each, 1) for each in result]
    steps = layout.dense(sizes, [*both, *left, *right][::-1])
    other = layout.dense(sizes, [*both, *right, *left][::-1])
    is_open = left and right and right[-1] < left[0]
    differs = any(not same(size, 1) and not same(a, b) for size, a, b in zip(sizes, steps, other, strict=True))
    return None if is_open and differs else steps


def _by_element(
    tensors: Sequence[TensorObject | None], parts: Sequence[str], result: str, sizes: Sequence[Sizes]
) -> Steps | None:
    """Of a product without a sum: as what is computed element by element of both, with their letters in one order."""
    operands: list[Operand] = []
    for tensor, letters, known in zip(tensors, parts, sizes, strict=True):
        steps = layout.steps_of(tensor) if tensor is not None else None
        if steps is None:
            return None
        placed = dict(zip(letters, steps, strict=True))
        operands.append(([known.get(each, 1) for each in result], [placed.get(each, 1) for each in result]))
    wanted = [sizes[0][each] if not _is_single(sizes[0], each) else sizes[1].get(each, 1) for each in result]
    if any(same(size, 1) for size in wanted):  # of which torch compares steps that are not followed
        return None
    return layout.elementwise(wanted, operands, has_numbers=False)


lies(_summed, "torch.einsum")
