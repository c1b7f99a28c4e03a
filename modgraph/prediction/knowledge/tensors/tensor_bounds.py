"""Tensor.clamp and kin: numbers within bounds."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Constant, Value
from modgraph.prediction.knowledge.tensors.elements import Number, kept, promoted
from modgraph.prediction.knowledge.tensors.tensor_math import elementwise, joined_with_number
from modgraph.prediction.knowledge.tensors.tensor_shapes import both
from modgraph.prediction.knowledge.tensors.tensor_values import made, tensor_of
from modgraph.prediction.python.plain import is_number


@models(*both("clamp", "clip", "clamp_min", "clamp_max"))
def clamp(arguments: Arguments, machine: Machine) -> Value:
    """Bounds that are floating point make a tensor of integers one of floats; bounds that are tensors broadcast."""
    source = tensor_of(machine, arguments.get(0, "input", NONE))
    if source is None:
        return made(machine, None, None)
    name = last_name(arguments.function)
    low = arguments.get(1, "min", NONE) if name != "clamp_max" else NONE
    high = arguments.get(1, "max", NONE) if name == "clamp_max" else arguments.get(2, "max", NONE)
    bounds = [tensor_of(machine, each) for each in (low, high) if each != NONE]
    if bounds and all(each is not None for each in bounds):
        return _within_tensors(machine, arguments.get(0, "input", NONE), [each for each in (low, high) if each != NONE])
    if not isinstance(low, Constant) or not isinstance(high, Constant):
        are_numbers = all(each == NONE or is_number(each) for each in (low, high))
        return made(machine, source.shape if are_numbers else None, None, requires_grad=source.requires_grad)
    dtype = source.dtype
    for each in (low, high):
        if each != NONE and dtype is not None:
            dtype = joined_with_number(machine, dtype, each)
    elements = None
    if source.elements is not None:
        elements = kept([_between(each, low.value, high.value) for each in source.elements], dtype)
    return made(machine, source.shape, dtype, elements, requires_grad=source.requires_grad)


def _within_tensors(machine: Machine, value: Value, bounds: list[Value]) -> Value:
    """All of them broadcast, and are of one dtype after."""
    for each in bounds:
        held, bound = tensor_of(machine, value), tensor_of(machine, each)
        dtype = promoted(held.dtype, bound.dtype) if held is not None and bound is not None else None
        value = elementwise(machine, value, each, None, dtype)
    return value


def _between(number: Number, low: Number | None, high: Number | None) -> Number:
    number = number if low is None else max(number, low)
    return number if high is None else min(number, high)
