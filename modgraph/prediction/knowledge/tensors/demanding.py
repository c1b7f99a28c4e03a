"""What functions of torch demand of the tensors that they are given, beside the rules of their shapes.

Nothing is refused where a shape, a size or a dtype is not known; a size that is left open is compared, which is a
condition on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import BELOW, TensorObject
from modgraph.prediction.domain.sizes import is_one
from modgraph.prediction.domain.values import NONE, Constant, Value
from modgraph.prediction.knowledge.tensors.elements import Shape, category
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.prediction.knowledge.torch.autocasting import may_cast

Size = int | None
NOT_KNOWN = TensorObject(None, None)
"""A tensor of which nothing is known; only looked at."""
INDICES = ("int64", "int32")


def given(arguments: Arguments, machine: Machine, place: int, name: str) -> TensorObject:
    """The tensor of that name or at that place; one of which nothing is known where there is none. What is given by
    name comes first: a call that names all of its arguments has `input` at the first place, whichever is its own."""
    value = arguments.keywords.get(name, arguments.get(place, name, NONE))
    return tensor_of(machine, value) or NOT_KNOWN


def refuse(machine: Machine, message: str, kind: str = "RuntimeError") -> None:
    """Torch does.

    Raises:
        Raised: always.
    """
    raise machine.raises(kind, message)


def require_dtype(
    machine: Machine, what: str, tensor: TensorObject, dtypes: Sequence[str], kind: str = "RuntimeError"
) -> None:
    """Of one of these dtypes.

    Raises:
        Raised: it is of another.
    """
    if tensor.dtype is not None and tensor.dtype not in dtypes:
        refuse(machine, f"{what}: expected {' or '.join(dtypes)}, but got {tensor.dtype}", kind)


def require_floats(machine: Machine, what: str, *tensors: TensorObject, kind: str = "RuntimeError") -> None:
    """Of floating point or complex. NotImplementedError is what torch raises where it has no kernel for others.

    Raises:
        Raised: one of them is of whole numbers.
    """
    for tensor in tensors:
        if tensor.dtype is not None and category(tensor.dtype) < 2:
            refuse(machine, f"{what}: not implemented for {tensor.dtype}", kind)


def require_one_dtype(machine: Machine, what: str, *tensors: TensorObject) -> None:
    """All of the same; under autocast torch may make it so.

    Raises:
        Raised: two differ.
    """
    known = sorted({tensor.dtype for tensor in tensors if tensor.dtype is not None})
    if len(known) > 1 and not may_cast(machine):
        refuse(machine, f"{what}: expected one dtype, but got {' and '.join(known)}")


def require_rank(machine: Machine, what: str, shape: Shape | None, ranks: Sequence[int]) -> None:
    """One of these numbers of dimensions.

    Raises:
        Raised: it has another.
    """
    if shape is not None and len(shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        refuse(machine, f"{what}: expected {wanted} dimensions, but got {told(shape)}")


def require_shape(machine: Machine, what: str, shape: Shape | None, wanted: Shape | None) -> None:
    """The same sizes.

    Raises:
        Raised: others.
    """
    if shape is None or wanted is None:
        return
    if len(shape) != len(wanted) or any(differ(*pair) for pair in zip(shape, wanted, strict=True)):
        refuse(machine, f"{what}: expected {told(wanted)}, but got {told(shape)}")


def require_spread(machine: Machine, what: str, shape: Shape | None, wanted: Shape | None) -> None:
    """It broadcasts to that shape and no larger one.

    Raises:
        Raised: it does not.
    """
    if shape is None or wanted is None:
        return
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    fits = len(shape) <= len(wanted) and not any(
        size is not None and other is not None and not is_one(size) and size != other for size, other in pairs
    )
    if not fits:
        refuse(machine, f"{what}: {told(shape)} cannot be expanded to {told(wanted)}")


def require_inside(machine: Machine, index: TensorObject, size: int | None, least: int = 0) -> None:
    """Of indices that are known, or of which it is known below which number they lie.

    Raises:
        Raised: IndexError, where one is not there.
    """
    below = index.attributes.get(BELOW)
    highest = max(index.elements) if index.elements else below.value - 1 if isinstance(below, Constant) else None
    if size is None or not isinstance(highest, int):
        return
    if highest >= size or (index.elements and min(index.elements) < least):
        refuse(machine, f"index {highest} is out of range for a dimension of size {size}", "IndexError")


def require_text(machine: Machine, what: str, value: Value, *texts: str, kind: str = "RuntimeError") -> None:
    """One of these texts, where it is one.

    Raises:
        Raised: it is another.
    """
    if isinstance(value, Constant) and isinstance(value.value, str) and value.value not in texts:
        refuse(machine, f"{what}: expected {' or '.join(texts)}, but got {value.value!r}", kind)


def differ(one: Size, other: Size) -> bool:
    """Both are known, and not the same."""
    return one is not None and other is not None and one != other


def is_larger(one: Size, other: Size) -> bool:
    """Both are known, and the first is larger."""
    return one is not None and other is not None and one > other


def is_empty(shape: Shape | None) -> bool:
    """It may have no elements; an open size is taken to be none of them."""
    return shape is None or any(size is None or (type(size) is int and size == 0) for size in shape)


def is_nothing(size: Size) -> bool:
    """Certainly of no elements."""
    return type(size) is int and size == 0


def is_below_one(size: Size) -> bool:
    """It is known, and of no elements; of an open one, that is a condition on it."""
    return size is not None and size < 1


def told(shape: Shape) -> str:
    return str(["?" if size is None else size for size in shape]).replace("'", "")
