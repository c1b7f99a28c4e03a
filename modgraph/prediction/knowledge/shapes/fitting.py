"""Between the interpreter and rules of shapes: arguments become shapes and sizes, a refusal what torch raises."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ListObject, TensorObject
from modgraph.prediction.domain.values import Constant, TupleValue, Value
from modgraph.prediction.knowledge.shapes.arithmetic import MisfitError, Size, require_spatial
from modgraph.prediction.knowledge.tensors.demanding import NOT_KNOWN as NOT_KNOWN
from modgraph.prediction.knowledge.tensors.demanding import require_inside
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.tensors.tensor_values import made, tensor_of
from modgraph.prediction.knowledge.torch.autocasting import may_cast


def fitted(machine: Machine, rule: Callable[[], Shape | None], kind: str = "RuntimeError") -> Shape | None:
    """The shape that a rule gives.

    Raises:
        Raised: where it refuses.
    """
    try:
        return rule()
    except MisfitError as misfit:
        raise machine.raises(kind, str(misfit)) from None


def require_pooled(machine: Machine, shape: Shape, rank: int) -> None:
    """Of what is pooled over so many dimensions.

    Raises:
        Raised: it has too few or too many.
    """

    def rule() -> Shape:
        require_spatial(shape, rank)
        return shape

    fitted(machine, rule)


def tensor(machine: Machine, value: Value) -> TensorObject:
    """The tensor, or one of which nothing is known."""
    return tensor_of(machine, value) or NOT_KNOWN


def with_rank(machine: Machine, found: TensorObject | None, taken: int, leading: tuple[int, int]) -> TensorObject:
    """What a layer is given. Where nothing is known of it, and a run takes a number of dimensions for granted, a tensor
    of so many sizes that are not known: a layer refuses any other.

    Args:
        taken: dimensions that the layer looks at; none where it takes any.
        leading: how many more may stand before them, at least and at most.
    """
    found = found or NOT_KNOWN
    if found.shape is not None or machine.leading is None or not taken:
        return found
    more = leading[0] if leading[0] == leading[1] else machine.leading.pick(*leading)
    shape = (None,) * (taken + more)
    return TensorObject(shape, found.dtype, requires_grad=found.requires_grad, device=found.device)


def sizes(machine: Machine, value: Value, rank: int) -> list[Size]:
    """A number given once, or one per dimension."""
    items: Sequence[Value] = (value,)
    if isinstance(value, TupleValue):
        items = value.items
    elif (listed := machine.state.find(value, ListObject)) is not None:
        items = listed.items if listed.open is None else ()
    if len(items) == 1:
        items = [items[0]] * rank
    if len(items) != rank:
        return [None] * rank
    return [number(each) for each in items]


def number(value: Value) -> Size:
    """A whole number; None where it is none, or not known."""
    found = value.value if isinstance(value, Constant) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def length(machine: Machine, value: Value) -> int | None:
    """How many numbers a tuple or list holds; None where it is none, or that is not known."""
    if isinstance(value, TupleValue):
        return len(value.items)
    listed = machine.state.find(value, ListObject)
    return len(listed.items) if listed is not None and listed.open is None else None


def result(
    machine: Machine, arguments: Arguments, shape: Shape | None, dtype: str | None, needs: bool | None = None
) -> Value:
    """A new tensor."""
    return made(machine, shape if arguments.open is None else None, dtype, requires_grad=needs)


def require_one_dtype(machine: Machine, given: TensorObject, weight: TensorObject, function: str) -> None:
    """Of what is multiplied with each other. Of tensors that hold nothing (on "meta"), some functions ask for neither.

    Raises:
        Raised: RuntimeError, where the two are certainly of another dtype.
    """
    devices = (given.device, weight.device)
    if "meta" in devices:
        if given.dtype != weight.dtype or devices[0] != devices[1]:
            machine.may_fail()
        return
    may_differ = None in (given.dtype, weight.dtype) or may_cast(machine)
    if not may_differ and given.dtype != weight.dtype:
        told = f"{given.dtype} and {weight.dtype}"
        raise machine.raises("RuntimeError", f"{function}: both must have the same dtype, but got {told}")


def require_one_place(machine: Machine, given: TensorObject, bias: TensorObject, function: str) -> None:
    """Of what a product is added to, where one of the two holds nothing (on "meta").

    Raises:
        Raised: RuntimeError, where the other certainly does.
    """
    devices = (given.device, bias.device)
    if None not in devices and "meta" in devices and devices[0] != devices[1]:
        told = f"{given.device} and {bias.device}"
        raise machine.raises("RuntimeError", f"{function}: both must be on the same device, but found {told}")


def require_indices(machine: Machine, given: TensorObject, rows: Size) -> None:
    """Of the rows of an embedding.

    Raises:
        Raised: RuntimeError, where they are certainly no numbers of 32 or 64 bits; IndexError, where no row is there.
    """
    if given.dtype not in (None, "int64", "int32"):
        raise machine.raises("RuntimeError", f"indices must be int64 or int32, but got {given.dtype}")
    require_inside(machine, given, rows)


def layer_name(machine: Machine, module: Value) -> str:
    """How the class of a layer is called."""
    cls = machine.class_of(module)
    return getattr(cls, "name", "a layer").rpartition(".")[2]
