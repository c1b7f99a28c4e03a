"""What is refused for the shape of a tensor, or for what says which part of it: ranks, dimensions, sizes, indices."""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.sizes import same
from modgraph.prediction.domain.values import FALSE, NONE, Constant, Value
from modgraph.prediction.knowledge.shapes.fitting import number
from modgraph.prediction.knowledge.tensors import layout
from modgraph.prediction.knowledge.tensors.demanding import (
    NOT_KNOWN,
    differ,
    given,
    is_empty,
    is_larger,
    refuse,
    require_dtype,
    require_floats,
    require_inside,
    require_one_dtype,
    require_rank,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import Shape, broadcast, category, count
from modgraph.prediction.knowledge.tensors.layout_rules import both, named
from modgraph.prediction.knowledge.tensors.refused_arguments import is_no_number
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, shape_argument, tensor_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_FUNCTIONAL = "torch.nn.functional"


def require_least(machine: Machine, what: str, shape: Shape | None, rank: int) -> None:
    """So many dimensions, or more.

    Raises:
        Raised: it has fewer.
    """
    if shape is not None and len(shape) < rank:
        refuse(machine, f"{what}: expected {rank} dimensions or more, but got {told(shape)}")


# ---- dimensions ------------------------------------------------------------------------------------------------------


@demands(*both("flatten"))
def flattened(arguments: Arguments, machine: Machine) -> None:
    """From one dimension to another that does not come before it."""
    shape = given(arguments, machine, 0, "input").shape
    if shape is None:
        return
    first = dimension(machine, arguments.get(1, "start_dim", Constant(0)), len(shape))
    last = dimension(machine, arguments.get(2, "end_dim", Constant(-1)), len(shape))
    if first is not None and last is not None and first > last:
        refuse(machine, "flatten() has invalid args: start_dim cannot come after end_dim")


@demands(*both("unflatten"))
def unflattened(arguments: Arguments, machine: Machine) -> None:
    """Into sizes of which one is left over at most."""
    listed = machine.iterate(arguments.get(2, "sizes", NONE)) if arguments.get(2, "sizes", NONE) != NONE else None
    sizes = [number(each) for each in listed] if isinstance(listed, list) else []
    if [type(size) is int and size == -1 for size in sizes].count(True) > 1:
        refuse(machine, "only one dimension can be inferred")


@demands("torch.rot90", f"{TENSOR}.rot90")
def turned(arguments: Arguments, machine: Machine) -> None:
    """In the plane of two dimensions."""
    shape, named_dims = given(arguments, machine, 0, "input").shape, arguments.get(2, "dims", NONE)
    require_least(machine, "rot90", shape, 2)
    listed = machine.iterate(named_dims) if named_dims != NONE else [Constant(0), Constant(1)]
    if not isinstance(listed, list):
        return
    if len(listed) != 2:
        refuse(machine, f"expected total rotation dims == 2, but got dims = {len(listed)}")
    if shape is not None:
        places = [dimension(machine, each, len(shape)) for each in listed]
        if places[0] is not None and places[0] == places[1]:
            refuse(machine, "expected rotation dims to be different")


@demands(f"{_FUNCTIONAL}.normalize")
def normalised(arguments: Arguments, machine: Machine) -> None:
    """Along a dimension that is there."""
    shape, dim = given(arguments, machine, 0, "input").shape, arguments.get(2, "dim", Constant(1))
    if shape is not None and isinstance(dim, Constant):
        dimension(machine, dim, len(shape))


_SPLIT = {"split": 1, "unbind": 1, "chunk": 1, "tensor_split": 1, "hsplit": 1, "vsplit": 2, "dsplit": 3}


@demands(*both(" ".join(_SPLIT)))
def split(arguments: Arguments, machine: Machine) -> None:
    """There is a dimension to split, into parts that are a number above zero, or sizes."""
    name, source = last_name(arguments.function), given(arguments, machine, 0, "input")
    require_least(machine, name, source.shape, _SPLIT[name])
    value = arguments.get(1, "indices_or_sections", arguments.keywords.get("sections", NONE))
    parts = number(value)
    if name not in ("split", "unbind", "chunk") and parts is not None:
        if parts <= 0:
            refuse(machine, f"{name}: number of sections must be larger than 0, got {parts}")
        at = {"hsplit": 1, "vsplit": 0, "dsplit": 2}.get(name)
        if at is None or source.shape is None:
            return
        size = source.shape[min(at, len(source.shape) - 1)]
        if size is not None and size % parts:
            refuse(machine, f"{name}: a dimension of size {size} is not divisible by {parts}")


# ---- ranks and kinds of numbers --------------------------------------------------------------------------------------

_RANKS = {"diag": (1, 2), "trace": (2,), "cov": (0, 1, 2), "corrcoef": (0, 1, 2)}


@demands(*both(" ".join(_RANKS)))
def of_matrices(arguments: Arguments, machine: Machine) -> None:
    name, source = last_name(arguments.function), given(arguments, machine, 0, "input")
    require_rank(machine, name, source.shape, _RANKS[name])
    if name in ("cov", "corrcoef") and source.dtype == "bool":
        refuse(machine, f"{name}(): bool dtype is not supported for input")


@demands("torch.view_as_complex")
def as_complex(arguments: Arguments, machine: Machine) -> None:
    """Pairs of numbers, which lie beside each other."""
    source = given(arguments, machine, 0, "input")
    require_least(machine, "view_as_complex", source.shape, 1)
    require_dtype(machine, "view_as_complex", source, ("float16", "float32", "float64"))
    if source.shape and differ(source.shape[-1], 2):
        refuse(machine, "Tensor must have a last dimension of size 2")
    steps = layout.steps_of(source)
    if steps and any(isinstance(step, int) and type(step) is int and step % 2 for step in steps[:-1]):
        refuse(machine, "Tensor must have a stride divisible by 2 for all but last dimension")
    if steps and type(steps[-1]) is int and steps[-1] != 1:
        refuse(machine, "Tensor must have a last dimension with stride 1")


@demands("torch.view_as_real")
def as_real(arguments: Arguments, machine: Machine) -> None:
    source = given(arguments, machine, 0, "input")
    if source.dtype is not None and category(source.dtype) < 3:
        refuse(machine, "view_as_real is only supported for complex tensors")


@demands(*named("torch.fft.{}", "rfft rfft2 rfftn ihfft ihfft2 ihfftn"))
def of_real(arguments: Arguments, machine: Machine) -> None:
    source = given(arguments, machine, 0, "input")
    if source.dtype is not None and category(source.dtype) == 3:
        refuse(machine, f"{last_name(arguments.function)} expects a real input tensor, but got {source.dtype}")


@demands(*named("torch.fft.{}", "fft rfft ifft irfft hfft ihfft fft2 rfft2 ifft2 irfft2"))
def along_two(arguments: Arguments, machine: Machine) -> None:
    """There are the last dimensions that it is taken along, where no others are named."""
    name = last_name(arguments.function)
    if arguments.get(2, "dim", NONE) == NONE or not name.endswith("2"):
        require_least(machine, name, given(arguments, machine, 0, "input").shape, 2 if name.endswith("2") else 1)


@demands(*both("multinomial"))
def drawn(arguments: Arguments, machine: Machine) -> None:
    """Of a row of weights or several, no more than there are, if none is drawn twice."""
    source, wanted = given(arguments, machine, 0, "input"), number(arguments.get(1, "num_samples", NONE))
    require_rank(machine, "multinomial: the weights", source.shape, (1, 2))
    require_floats(machine, "multinomial", source)
    if wanted is not None and wanted <= 0:
        refuse(machine, "cannot sample n_sample <= 0 samples")
    is_once = machine.truth(arguments.get(2, "replacement", FALSE)) is False
    if is_once and source.shape and is_larger(wanted, source.shape[-1]):
        refuse(machine, "cannot sample n_sample > prob_dist.size(-1) samples without replacement")


@demands("torch.meshgrid")
def grid(arguments: Arguments, machine: Machine) -> None:
    """Of rows of one dtype."""
    values = list(arguments.positional)
    if len(values) == 1 and tensor_of(machine, values[0]) is None:
        listed = machine.iterate(values[0]) if not isinstance(values[0], Constant) else values
        if not isinstance(listed, list):
            return
        values = listed
    if not values:
        refuse(machine, "meshgrid expects a non-empty TensorList")
    if any(isinstance(each, Constant) for each in values):
        refuse(machine, "meshgrid(): argument 'tensors' must be tuple of Tensors", "TypeError")
    tensors = [tensor_of(machine, each) or NOT_KNOWN for each in values]
    for each in tensors:
        require_rank(machine, "meshgrid", each.shape, (0, 1))
    require_one_dtype(machine, "meshgrid", *tensors)


# ---- indices ---------------------------------------------------------------------------------------------------------


@demands(*both("index_select index_add index_fill gather scatter"))
def by_index(arguments: Arguments, machine: Machine) -> None:
    """Indices that are known are there."""
    source, index = given(arguments, machine, 0, "input"), given(arguments, machine, 2, "index")
    place = dimension(machine, arguments.get(1, "dim", NONE), len(source.shape)) if source.shape else None
    size = source.shape[place] if source.shape and place is not None else None
    least = -size if size is not None and last_name(arguments.function) == "index_fill" else 0
    require_inside(machine, index, size, least)


@demands(*both("take"))
def taken(arguments: Arguments, machine: Machine) -> None:
    """By whole numbers, among all elements."""
    source, index = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "index")
    require_dtype(machine, "take(): index", index, ("int64",))
    size = count(source.shape)
    require_inside(machine, index, size, 0 if size is None else -size)


@demands(*both("repeat_interleave"))
def repeated(arguments: Arguments, machine: Machine) -> None:
    """As often as is said once, or for each slice."""
    source, times = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "repeats")
    if len(arguments.positional) == 1 and "repeats" not in arguments.keywords:
        require_rank(machine, "repeat_interleave: repeats", source.shape, (1,))
        require_dtype(machine, "repeat_interleave", source, ("int64", "int32"))
        return
    require_rank(machine, "repeat_interleave: repeats", times.shape, (0, 1))
    if any(element < 0 for element in times.elements or ()):
        refuse(machine, "repeats can not be negative")
    dim = arguments.get(2, "dim", NONE)
    if source.shape is None or not times.shape or same(times.shape[0], 1):
        return
    place = dimension(machine, dim, len(source.shape)) if dim != NONE else None
    size = count(source.shape) if dim == NONE else None if place is None else source.shape[place]
    if differ(times.shape[0], size):
        refuse(machine, f"repeats must have the same size as input along dim: {times.shape[0]} and {size}")


# ---- several tensors -------------------------------------------------------------------------------------------------


def _require_joint(machine: Machine, shapes: Sequence[Shape | None]) -> Shape | None:
    """What they broadcast to.

    Raises:
        Raised: RuntimeError, where they do not.
    """
    found: Shape | None = ()
    try:
        for shape in shapes:
            found = broadcast(found, shape)
    except ValueError as error:
        raise machine.raises("RuntimeError", str(error)) from None
    return found


@demands("torch.broadcast_tensors", "torch.broadcast_shapes")
def broadcast_all(arguments: Arguments, machine: Machine) -> None:
    shapes: list[Shape | None] = []
    for value in arguments.positional:
        tensor = tensor_of(machine, value)
        shapes.append(tensor.shape if tensor is not None else shape_argument(machine, (value,)))
    _require_joint(machine, shapes)


@demands(f"{_FUNCTIONAL}.cosine_similarity", "torch.cosine_similarity", f"{_FUNCTIONAL}.pairwise_distance")
def alike(arguments: Arguments, machine: Machine) -> None:
    """Of floating point, along a dimension that is there."""
    left, right = given(arguments, machine, 0, "x1"), given(arguments, machine, 1, "x2")
    joint = _require_joint(machine, (left.shape, right.shape))
    if arguments.function.endswith("pairwise_distance") or joint is None:
        return
    dimension(machine, arguments.get(2, "dim", Constant(1)), len(joint))
    if not is_empty(joint) and all(each.dtype is not None and category(each.dtype) < 2 for each in (left, right)):
        refuse(machine, "cosine_similarity: expected common dtype to be floating point")


# ---- norms -----------------------------------------------------------------------------------------------------------


@demands("torch.linalg.norm", "torch.linalg.vector_norm")
def norm(arguments: Arguments, machine: Machine) -> None:
    """Of vectors, or of matrices, which the name of a norm is of."""
    source, order = given(arguments, machine, 0, "A"), arguments.get(1, "ord", NONE)
    source = source if source is not NOT_KNOWN else given(arguments, machine, 0, "input")
    dim, name = arguments.get(2, "dim", NONE), last_name(arguments.function)
    require_floats(machine, name, source)
    listed = [dim] if isinstance(dim, Constant) else machine.iterate(dim)
    if source.shape is None or not isinstance(listed, list):
        return
    places = [] if dim == NONE else [dimension(machine, each, len(source.shape)) for each in listed]
    if None not in places and len(set(places)) < len(places):
        refuse(machine, "dims must be different")
    is_text = isinstance(order, Constant) and isinstance(order.value, str)
    if is_text and (name == "vector_norm" or order not in (Constant("fro"), Constant("nuc"))):
        refuse(machine, f"{name}: invalid norm order {order}")
    taken_over = len(source.shape) if dim == NONE else len(places)
    if name == "norm" and is_text and taken_over != 2:
        refuse(machine, f"linalg.norm: the norm of a matrix is of 2 dimensions, not {taken_over}")
    if name == "norm" and _real(order) is not None and taken_over not in (1, 2):
        refuse(machine, f"linalg.norm: a norm of an order is of 1 or 2 dimensions, not {taken_over}")


# ---- rows of numbers -------------------------------------------------------------------------------------------------


@demands("torch.arange", "torch.range")
def stepped(arguments: Arguments, machine: Machine) -> None:
    """Numbers, and steps that lead from the first to the last."""
    positional = arguments.positional
    if any(is_no_number(machine, each) for each in positional):
        refuse(machine, "arange(): arguments must be Numbers", "TypeError")
    start = positional[0] if len(positional) > 1 else arguments.keywords.get("start", Constant(0))
    end = positional[1] if len(positional) > 1 else arguments.keywords.get("end", positional[0] if positional else NONE)
    step = positional[2] if len(positional) > 2 else arguments.keywords.get("step", Constant(1))
    first, last, by = (_real(each) for each in (start, end, step))
    if first is None or last is None or by is None:
        return
    if any(isinstance(each, float) and each - each != 0 for each in (first, last)):
        refuse(machine, "unsupported range: it is not finite")
    if (type(by) is not int or by != 0) and (last - first) * (1 if by > 0 else -1) < 0:
        refuse(machine, "upper bound and larger bound inconsistent with step sign")


def _real(value: Value) -> int | float | None:
    found = value.value if isinstance(value, Constant) else None
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None
