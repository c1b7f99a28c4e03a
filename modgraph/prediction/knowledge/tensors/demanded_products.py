"""What is refused of products that are added to a tensor: other dtypes, and a tensor that does not spread to them."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.knowledge.tensors.demanding import (
    given,
    require_one_dtype,
    require_spread,
)
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_FACTORS = {
    "addmm": ("mat1", "mat2"),
    "addmv": ("mat", "vec"),
    "addr": ("vec1", "vec2"),
    "baddbmm": ("batch1", "batch2"),
}


@demands(*(f"{owner}.{name}" for owner in ("torch", TENSOR) for name in _FACTORS))
def added_to(arguments: Arguments, machine: Machine) -> None:
    """All of one dtype, and the tensor spreads to the product."""
    name = last_name(arguments.function)
    source = given(arguments, machine, 0, "input")
    left, right = (given(arguments, machine, 1 + place, each) for place, each in enumerate(_FACTORS[name]))
    if name != "addr":
        require_one_dtype(machine, name, source, left, right)
    if left.shape is None or right.shape is None:
        return
    product: Shape = (*left.shape[:1], *right.shape[-1:])
    if name == "addmv":
        product = left.shape[:1]
    elif name == "baddbmm":
        product = (*left.shape[:2], *right.shape[-1:])
    require_spread(machine, name, source.shape, product)
