"""What is refused of other looks at a tensor's memory: beyond its end, and as numbers of another size."""

from __future__ import annotations

import math

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import MAY_BE
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import NONE, Constant, Dtype, Value
from modgraph.prediction.knowledge.tensors import layout
from modgraph.prediction.knowledge.tensors.demanding import given, refuse, told
from modgraph.prediction.knowledge.tensors.elements import count
from modgraph.prediction.knowledge.tensors.layout_rules import both
from modgraph.prediction.knowledge.tensors.tensor_values import size_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_BYTES = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("float16", "bfloat16", "int16"), 2),
    **dict.fromkeys(("float32", "int32"), 4),
    **dict.fromkeys(("float64", "int64", "complex64"), 8),
    "complex128": 16,
}


def _numbers(machine: Machine, value: Value) -> list[int] | None:
    listed = machine.iterate(value) if not isinstance(value, Constant) else None
    found = [size_of(each) for each in listed] if isinstance(listed, list) else []
    known = [each for each in found if each is not None]
    return known if isinstance(listed, list) and len(known) == len(found) else None


@demands(*both("as_strided"))
def strided(arguments: Arguments, machine: Machine) -> None:
    """Within the memory of a tensor that is all of it: of a view it is not known where that ends."""
    source = given(arguments, machine, 0, "input")
    sizes, steps = (_numbers(machine, arguments.get(place, name, NONE)) for place, name in ((1, "size"), (2, "stride")))
    if sizes is None or steps is None:
        return
    if len(sizes) != len(steps):
        refuse(machine, "mismatch in length of strides and shape")
    if any(type(each) is int and each < 0 for each in steps):
        refuse(machine, "as_strided: Negative strides are not supported at the moment")
    total, start = count(source.shape), size_of(arguments.get(3, "storage_offset", Constant(0)))
    is_whole = not source.memory and MAY_BE not in source.attributes and source.writes == 0
    if total is None or start is None or not is_whole or layout.steps_of(source) is None:
        return
    if any(type(each) is int and each < 1 for each in sizes):
        return
    needed = start + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True)) + 1
    if needed > total:
        refuse(machine, f"setStorage: sizes {sizes}, strides {steps} are out of bounds for {told(source.shape or ())}")


@demands(f"{TENSOR}.view")
def as_numbers(arguments: Arguments, machine: Machine) -> None:
    """As numbers of another size: as many bytes of each row as these take."""
    source = given(arguments, machine, 0, "input")
    wanted = arguments.get(1, "dtype", NONE)
    if not isinstance(wanted, Dtype) or source.dtype is None or source.shape is None:
        return
    before, after = _BYTES.get(source.dtype), _BYTES.get(wanted.name)
    if before is None or after is None or before == after:
        return
    if not source.shape:
        refuse(machine, "self.dim() cannot be 0 to view it as another dtype of another element size")
    size, least = source.shape[-1], after // math.gcd(before, after)
    if after > before and size is not None and size % least:
        refuse(machine, f"self.size(-1) must be divisible by {least} to view it as {wanted.name}, but got {size}")
    steps = layout.steps_of(source)
    if steps and type(steps[-1]) is int and steps[-1] != 1:
        refuse(machine, "self.stride(-1) must be 1 to view it as a dtype of another element size")
