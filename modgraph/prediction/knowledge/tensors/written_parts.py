"""What is refused of indices, and of what is read and written by them: gather, index_select, scatter, index_add,
masked_fill and kin.

Source: the checks of ATen/native/TensorAdvancedIndexing.cpp, ScatterGatherChecks.h.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import NONE, Constant
from modgraph.prediction.knowledge.tensors.demanding import (
    INDICES,
    NOT_KNOWN,
    differ,
    given,
    is_empty,
    is_larger,
    is_nothing,
    refuse,
    require_dtype,
    require_one_dtype,
    require_rank,
    require_shape,
    require_spread,
    require_text,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import Shape, broadcast, category, count
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, size_of, tensor_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR


def everywhere(*names: str) -> tuple[str, ...]:
    """As a function of torch, as a method, and in place."""
    ways = ("torch.{}", f"{TENSOR}.{{}}", f"{TENSOR}.{{}}_")
    return tuple(way.format(name) for name in names for way in ways)


def _place(arguments: Arguments, machine: Machine, shape: Shape | None) -> int | None:
    """The dimension that is the second argument, which must be there."""
    return None if shape is None else dimension(machine, arguments.get(1, "dim", NONE), len(shape))


@demands(*everywhere("scatter", "scatter_add", "scatter_reduce", "gather"))
def by_index(arguments: Arguments, machine: Machine) -> None:
    """An index of as many dimensions, no larger than what is written or read, but for one of them."""
    name = last_name(arguments.function).removesuffix("_")
    source, index = given(arguments, machine, 0, "input"), given(arguments, machine, 2, "index")
    written = given(arguments, machine, 3, "src") if name != "gather" else NOT_KNOWN
    place = _place(arguments, machine, source.shape)
    if name == "scatter_reduce":
        require_text(machine, name, arguments.get(4, "reduce", NONE), "sum", "prod", "mean", "amax", "amin")
    require_text(machine, name, arguments.named("reduce", NONE), *_REDUCING.get(name, ()))
    require_one_dtype(machine, name, source, written)
    if is_empty(index.shape) or index.shape is None:
        return
    if source.shape and place is not None and is_nothing(source.shape[place]):
        refuse(machine, f"{name}: index is out of bounds for dimension {place} with size 0")
    require_dtype(machine, name, index, INDICES)
    for each, what, is_free in ((source.shape, "self", True), (written.shape, "src", False)):
        if each is None:
            continue
        if max(len(each), 1) != max(len(index.shape), 1):
            refuse(machine, f"{name}: index {told(index.shape)} must have as many dimensions as {what} {told(each)}")
        pairs = enumerate(zip(index.shape or (1,), each or (1,), strict=True))
        if any(is_larger(*pair) for at, pair in pairs if not is_free or (place is not None and at != place)):
            refuse(machine, f"{name}: expected index {told(index.shape)} to be no larger than {what} {told(each)}")


_REDUCING = {
    "scatter": ("add", "multiply"),
    "scatter_reduce": ("sum", "prod", "mean", "amax", "amin"),
    "index_reduce": ("prod", "mean", "amax", "amin"),
}
"""Texts that `reduce` may be."""


@demands(*everywhere("index_add", "index_copy", "index_reduce"))
def rows_by_index(arguments: Arguments, machine: Machine) -> None:
    """A row of indices, and as many slices of the size of one."""
    name = last_name(arguments.function).removesuffix("_")
    source, index = given(arguments, machine, 0, "input"), given(arguments, machine, 2, "index")
    written = given(arguments, machine, 3, "source")
    place = _place(arguments, machine, source.shape)
    require_rank(machine, name, index.shape, (0, 1))
    require_dtype(machine, name, index, INDICES if name != "index_copy" else ("int64",))
    require_one_dtype(machine, name, source, written)
    require_text(machine, name, arguments.get(4, "reduce", NONE), *_REDUCING["index_reduce"])
    if name != "index_copy" and None not in (source.shape, written.shape):
        require_rank(machine, name, written.shape, (len(source.shape or ()),))
    if not source.shape or not written.shape or place is None:
        return
    kept = (*source.shape[:place], *source.shape[place + 1 :])
    if len(written.shape) != len(source.shape):
        refuse(machine, f"{name}: source {told(written.shape)} must have as many dimensions as {told(source.shape)}")
    require_shape(machine, name, (*written.shape[:place], *written.shape[place + 1 :]), kept)
    number = count(index.shape)
    if differ(number, written.shape[place]):
        refuse(machine, f"{name}: {number} indices for {written.shape[place]} slices of the source")


@demands(*everywhere("index_fill", "index_select"))
def filled_rows(arguments: Arguments, machine: Machine) -> None:
    """A row of indices."""
    name = last_name(arguments.function).removesuffix("_")
    source, index = given(arguments, machine, 0, "input"), given(arguments, machine, 2, "index")
    _place(arguments, machine, source.shape)
    require_rank(machine, name, index.shape, (0, 1))
    require_dtype(machine, name, index, INDICES if name == "index_select" else ("int64",))
    if name == "index_fill":
        require_rank(machine, name, given(arguments, machine, 3, "value").shape, (0,))


@demands(*everywhere("put"))
def put(arguments: Arguments, machine: Machine) -> None:
    """As many elements as there are indices."""
    source, index = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "index")
    written = given(arguments, machine, 2, "source")
    require_dtype(machine, "put", index, ("int64",))
    require_one_dtype(machine, "put", source, written)
    if source.shape is not None and any(map(is_nothing, source.shape)) and not is_empty(index.shape):
        refuse(machine, "put: tried to put elements into an empty tensor", "IndexError")
    if differ(count(index.shape), count(written.shape)):
        refuse(machine, f"put: {count(index.shape)} indices for {count(written.shape)} elements", "IndexError")


@demands(*everywhere("index_put"))
def index_put(arguments: Arguments, machine: Machine) -> None:
    """By numbers or masks, of the same dtype."""
    source, written = given(arguments, machine, 0, "input"), given(arguments, machine, 2, "values")
    require_one_dtype(machine, "index_put", source, written)
    items = machine.iterate(arguments.get(1, "indices", NONE))
    indices = [tensor_of(machine, each) or NOT_KNOWN for each in items] if isinstance(items, list) else []
    for index in indices:
        require_dtype(machine, "index_put", index, (*INDICES, "uint8", "int8", "bool"), "IndexError")
    if source.shape is None or not indices or any(each.shape is None or each.dtype != "int64" for each in indices):
        return
    if len(indices) > len(source.shape):
        refuse(machine, "index_put: too many indices", "IndexError")
    joined: Shape | None = ()
    try:
        for index in indices:
            joined = broadcast(joined, index.shape)
    except ValueError as error:
        refuse(machine, f"index_put: {error}", "IndexError")
    if joined is not None:
        require_spread(machine, "index_put", written.shape, (*joined, *source.shape[len(indices) :]))


@demands(*everywhere("masked_fill", "masked_scatter"))
def masked(arguments: Arguments, machine: Machine) -> None:
    """A mask of truths; one number, or as many of the same dtype."""
    name = last_name(arguments.function).removesuffix("_")
    source = given(arguments, machine, 0, "input")
    require_dtype(machine, name, given(arguments, machine, 1, "mask"), ("bool",))
    if name == "masked_fill":
        value = arguments.get(2, "value", NONE)
        require_rank(machine, name, given(arguments, machine, 2, "value").shape, (0,))
        is_complex = isinstance(value, Constant) and isinstance(value.value, complex)
        if is_complex and source.dtype is not None and category(source.dtype) < 3:
            refuse(machine, f"masked_fill: a complex value cannot be converted to {source.dtype}")
    else:
        require_one_dtype(machine, name, source, given(arguments, machine, 2, "source"))


@demands("torch.where", f"{TENSOR}.where")
def where(arguments: Arguments, machine: Machine) -> None:
    """The condition is one of truths; alone, it is anything, of which the places that are not zero are found."""
    if arguments.function.startswith("torch.where"):
        if len(arguments.positional) + len(arguments.keywords) == 1:
            return
        condition = given(arguments, machine, 0, "condition")
    else:
        condition = given(arguments, machine, 1, "condition")
    require_dtype(machine, "where", condition, ("bool", "uint8"))


# ---- into a part -----------------------------------------------------------------------------------------------------


@demands("torch.select_scatter", f"{TENSOR}.select_scatter")
def select_scatter(arguments: Arguments, machine: Machine) -> None:
    """Of the sizes of the part."""
    source, written = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "src")
    place = _dim(arguments, machine, source, 2)
    if source.shape is None or place is None:
        return
    if not source.shape:
        refuse(machine, "select_scatter: cannot be applied to a 0-dim tensor", "IndexError")
    require_index(machine, "select_scatter", source.shape[place], size_of(arguments.get(3, "index", NONE)))
    require_shape(machine, "select_scatter", written.shape, (*source.shape[:place], *source.shape[place + 1 :]))


def require_index(machine: Machine, what: str, size: int | None, index: int | None) -> None:
    """It lies in a dimension of that size.

    Raises:
        Raised: IndexError, where it does not.
    """
    if size is not None and index is not None and not (-size <= index < size):
        refuse(machine, f"{what}: index {index} is out of range for a size of {size}", "IndexError")


def _dim(arguments: Arguments, machine: Machine, source: TensorObject, at: int) -> int | None:
    if source.shape is None:
        return None
    return dimension(machine, arguments.get(at, "dim", Constant(0)), len(source.shape))


@demands("torch.slice_scatter", f"{TENSOR}.slice_scatter")
def slice_scatter(arguments: Arguments, machine: Machine) -> None:
    """Of the sizes of the part."""
    source, written = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "src")
    place = _dim(arguments, machine, source, 2)
    if not source.shape or place is None or written.shape is None:
        return
    bounds = [arguments.get(at, name, NONE) for at, name in ((3, "start"), (4, "end"), (5, "step"))]
    numbers = [each.value if isinstance(each, Constant) and type(each.value) is int else None for each in bounds]
    if numbers[2] is not None and numbers[2] < 1:
        refuse(machine, "slice_scatter: step must be positive")
    size = source.shape[place]
    is_said = all(known is not None or each == NONE for each, known in zip(bounds, numbers, strict=True))
    length = len(range(*slice(*numbers).indices(size))) if type(size) is int and is_said else None
    require_shape(machine, "slice_scatter", written.shape, (*source.shape[:place], length, *source.shape[place + 1 :]))


@demands("torch.diagonal_scatter", f"{TENSOR}.diagonal_scatter")
def diagonal_scatter(arguments: Arguments, machine: Machine) -> None:
    """Of the sizes of the diagonal."""
    source, written = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "src")
    if source.shape is None:
        return
    places = [
        dimension(machine, arguments.get(at, name, Constant(number)), len(source.shape))
        for at, name, number in ((3, "dim1", 0), (4, "dim2", 1))
    ]
    offset = size_of(arguments.get(2, "offset", Constant(0)))
    one, other = places
    if one is None or other is None:
        return
    if one == other:
        refuse(machine, "diagonal dimensions cannot be identical")
    rows, columns = source.shape[one], source.shape[other]
    length = None
    if type(rows) is int and type(columns) is int and type(offset) is int:
        length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    kept = tuple(size for at, size in enumerate(source.shape) if at not in places)
    require_shape(machine, "diagonal_scatter", written.shape, (*kept, length))
