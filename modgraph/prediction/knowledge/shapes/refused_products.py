"""What is refused of vectors and matrices that do not fit: products, systems of equations, distances, blocks.

Source: ATen/native/Cross.cpp, LinearAlgebraUtils.h, BatchLinearAlgebra.cpp, Distance.cpp, TensorShape.cpp.
"""

from __future__ import annotations

import itertools
import math

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.sizes import is_open
from modgraph.prediction.domain.values import NONE, TRUE, Constant
from modgraph.prediction.knowledge.shapes.arithmetic import joined
from modgraph.prediction.knowledge.shapes.fitting import fitted, number
from modgraph.prediction.knowledge.tensors.demanding import (
    NOT_KNOWN,
    differ,
    given,
    refuse,
    require_floats,
    require_rank,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.tensors.layout_rules import both
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, tensor_of

_FUNCTIONAL = "torch.nn.functional"


def require_joint(machine: Machine, *shapes: Shape | None) -> None:
    """They broadcast.

    Raises:
        Raised: RuntimeError, where they do not.
    """
    known = [shape for shape in shapes if shape is not None]
    if len(known) == len(shapes):
        fitted(machine, lambda: joined(*known))


@demands("torch.linalg.cross", *both("cross"))
def crossed(arguments: Arguments, machine: Machine) -> None:
    """Vectors of three numbers, along one dimension of both."""
    is_first = arguments.function.startswith("torch.linalg.")
    left, right = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "other")
    one, other = left.shape, right.shape
    if one is None or other is None:
        return
    if len(one) != len(other):
        refuse(machine, f"linalg.cross: inputs must have the same number of dimensions: {told(one)} and {told(other)}")
    dim = arguments.named("dim", Constant(-1)) if is_first else arguments.get(2, "dim", NONE)
    if dim == NONE and not any(each is None or is_open(each) or each == 3 for each in one):
        refuse(machine, "no dimension of size 3 in input")
    place = dimension(machine, dim, len(one)) if dim != NONE else None
    if place is not None and (differ(one[place], 3) or differ(other[place], 3)):
        refuse(machine, f"linalg.cross: inputs dimension {place} must have length 3: {told(one)} and {told(other)}")
    require_joint(machine, one, other)


@demands("torch.linalg.solve", "torch.linalg.solve_ex")
def solved(arguments: Arguments, machine: Machine) -> None:
    """As many numbers on the right as there are equations."""
    left, right = given(arguments, machine, 0, "A").shape, given(arguments, machine, 1, "B").shape
    if left is None or right is None or len(left) < 2 or not right:
        return
    if len(right) > 1 and len(right) == len(left) - 1:
        return  # vectors, or one matrix for all: by the sizes
    is_left = machine.truth(arguments.named("left", TRUE))
    if is_left is None:
        return
    at = -1 if len(right) == 1 or not is_left else -2
    if differ(right[at], left[-1]):
        refuse(machine, f"linalg.solve: incompatible shapes of A and B: {told(left)} and {told(right)}")
    if len(right) > 1:
        require_joint(machine, left[:-2], right[:-2])


@demands("torch.linalg.tensorinv")
def inverted(arguments: Arguments, machine: Machine) -> None:
    """As many numbers before a dimension as from it on."""
    shape, place = given(arguments, machine, 0, "A").shape, number(arguments.get(1, "ind", Constant(2)))
    if shape is None or place is None or place < 1:
        return
    if place > len(shape):
        refuse(machine, f"linalg.tensorinv: ind={place} is beyond {told(shape)}")
    sizes = [each for each in shape if each is not None]
    if len(sizes) != len(shape):
        return
    one, other = math.prod(sizes[:place]), math.prod(sizes[place:])
    if one != other:
        refuse(machine, f"linalg.tensorinv: prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {other} != {one}")


@demands("torch.linalg.lstsq")
def least_squares(arguments: Arguments, machine: Machine) -> None:
    left, right = given(arguments, machine, 0, "A").shape, given(arguments, machine, 1, "B").shape
    if left is None or right is None or len(left) != len(right) or len(left) < 2:
        return
    if differ(left[-2], right[-2]):
        refuse(machine, f"torch.linalg.lstsq: {told(left)} and {told(right)} must have as many rows")


@demands("torch.linalg.multi_dot", "torch.chain_matmul")
def chained(arguments: Arguments, machine: Machine) -> None:
    """Each has as many columns as the next has rows; the first and the last may be vectors."""
    is_apart = arguments.function.endswith("matmul")
    listed = list(arguments.positional) if is_apart else machine.iterate(arguments.get(0, "tensors", NONE))
    shapes = [(tensor_of(machine, each) or NOT_KNOWN).shape for each in listed] if isinstance(listed, list) else []
    if len(shapes) < 2:
        if isinstance(listed, list) and not is_apart:
            refuse(machine, f"multi_dot(): expected at least 2 tensors but got {len(shapes)}")
        return
    require_rank(machine, "multi_dot: the first tensor", shapes[0], (1, 2))
    require_rank(machine, "multi_dot: the last tensor", shapes[-1], (1, 2))
    for shape in shapes[1:-1]:
        require_rank(machine, "multi_dot: a tensor between", shape, (2,))
    for left, right in itertools.pairwise(shapes):
        if left and right and differ(left[-1], right[0]):
            refuse(machine, f"multi_dot(): shapes {told(left)} and {told(right)} cannot be multiplied")


@demands("torch.block_diag")
def in_blocks(arguments: Arguments, machine: Machine) -> None:
    for value in arguments.positional:
        require_rank(machine, "torch.block_diag", (tensor_of(machine, value) or NOT_KNOWN).shape, (0, 1, 2))


@demands(f"{_FUNCTIONAL}.pdist", "torch.pdist")
def apart(arguments: Arguments, machine: Machine) -> None:
    source = given(arguments, machine, 0, "input")
    require_rank(machine, "pdist", source.shape, (2,))
    require_floats(machine, "pdist only supports floating-point dtypes", source)
    rows, width = source.shape or (None, None)
    has_pairs = type(rows) is int and type(width) is int and rows > 1 and width > 0  # of none, no kernel is called
    if has_pairs and source.device == "cpu" and source.dtype in ("float16", "bfloat16"):
        refuse(machine, f"pdist: not implemented for {source.dtype}", "NotImplementedError")


@demands(*both("dist masked_select"))
def together(arguments: Arguments, machine: Machine) -> None:
    """Both broadcast."""
    name = "mask" if last_name(arguments.function) == "masked_select" else "other"
    require_joint(machine, given(arguments, machine, 0, "input").shape, given(arguments, machine, 1, name).shape)


_PLACES = {"unique": 4, "unique_consecutive": 3}


@demands(*both(" ".join(_PLACES)))
def told_apart(arguments: Arguments, machine: Machine) -> None:
    """Along a dimension that is there."""
    shape = given(arguments, machine, 0, "input").shape
    dim = arguments.get(_PLACES[last_name(arguments.function)], "dim", NONE)
    if shape is not None and dim != NONE and number(dim) is not None:
        dimension(machine, dim, len(shape))


@demands(f"{_FUNCTIONAL}.affine_grid")
def affine_grid(arguments: Arguments, machine: Machine) -> None:
    """(N, 2, 3) for a size of four numbers that begins with N, (N, 3, 4) for one of five."""
    theta = given(arguments, machine, 0, "theta").shape
    listed = machine.iterate(arguments.get(1, "size", NONE))
    wanted = [number(each) for each in listed] if isinstance(listed, list) else []
    if not wanted:
        return
    if len(wanted) not in (4, 5):
        refuse(machine, f"affine_grid: a size of 4 or 5 numbers, not of {len(wanted)}", "NotImplementedError")
    if any(each is not None and each <= 0 for each in wanted):
        refuse(machine, f"affine_grid: expected non-zero, positive output size, but got {wanted}", "ValueError")
    if theta is None:
        return
    rank = len(wanted) - 2
    if len(theta) != 3 or differ(theta[1], rank) or differ(theta[2], rank + 1):
        refuse(machine, f"affine_grid: expected a batch of {rank}x{rank + 1}, but got {told(theta)}", "ValueError")
    if differ(theta[0], wanted[0]):
        refuse(machine, f"affine_grid: {told(theta)} is not a matrix for each of {wanted[0]}")
