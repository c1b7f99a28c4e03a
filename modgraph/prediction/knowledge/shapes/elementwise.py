"""Functions that compute element by element, beside those of `tensors/tensor_math.py`: only the shape is told of these,
and the dtype where all that is given has the same one of floating point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Constant, Value
from modgraph.prediction.knowledge.shapes import fitting
from modgraph.prediction.knowledge.shapes.arithmetic import joined
from modgraph.prediction.knowledge.tensors.elements import Shape, category
from modgraph.prediction.knowledge.tensors.tensor_math import needs_any
from modgraph.prediction.knowledge.tensors.tensor_names import OF_ONE, OF_THREE, OF_TWO, SAYING_OF_ONE, SAYING_OF_TWO
from modgraph.prediction.knowledge.torch.parameters import TENSOR
from modgraph.prediction.python.plain import is_number


def _both(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield from (f"torch.{name}", f"{TENSOR}.{name}")


def spread(arguments: Arguments, machine: Machine, names: Sequence[str], dtype: str | None) -> Value:
    """A tensor of the shape that those of that name broadcast to."""
    values = [arguments.get(place, name, NONE) for place, name in enumerate(names)]
    tensors = [fitting.tensor(machine, value) for value in values]
    shape: Shape | None = ()
    for value, tensor in zip(values, tensors, strict=True):
        size = tensor.shape if tensor is not fitting.NOT_KNOWN else () if _is_number(value) else None
        known = shape
        shape = None if size is None or known is None else fitting.fitted(machine, lambda: joined(known, size))  # noqa: B023
    found = [tensor for tensor in tensors if tensor is not fitting.NOT_KNOWN]
    if dtype is None:
        kinds = {tensor.dtype for tensor in found if tensor.shape != ()} or {tensor.dtype for tensor in found}
        kind = kinds.pop() if len(kinds) == 1 else None
        others = (value for value, tensor in zip(values, tensors, strict=True) if tensor is fitting.NOT_KNOWN)
        are_real = all(_is_real(each.dtype) for each in found) and all(map(_is_real_number, others))
        dtype = kind if kind is not None and category(kind) == 2 and are_real else None
    return fitting.result(machine, arguments, shape, dtype, needs_any(found))


def _is_number(value: Value) -> bool:
    return is_number(value) or (isinstance(value, Constant) and isinstance(value.value, (bool, int, float, complex)))


def _is_real_number(value: Value) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, (bool, int, float))


def _is_real(dtype: str | None) -> bool:
    return dtype is not None and category(dtype) <= 2


@models(*_both(OF_ONE))
def of_one(arguments: Arguments, machine: Machine) -> Value:
    return spread(arguments, machine, ("input",), None)


@models(*_both(SAYING_OF_ONE))
def saying_of_one(arguments: Arguments, machine: Machine) -> Value:
    return spread(arguments, machine, ("input",), "bool")


@models(*_both(OF_TWO))
def of_two(arguments: Arguments, machine: Machine) -> Value:
    return spread(arguments, machine, ("input", "other"), None)


@models(*_both(SAYING_OF_TWO))
def saying_of_two(arguments: Arguments, machine: Machine) -> Value:
    return spread(arguments, machine, ("input", "other"), "bool")


@models(*_both(OF_THREE))
def of_three(arguments: Arguments, machine: Machine) -> Value:
    return spread(arguments, machine, ("input", "tensor1", "tensor2"), None)
