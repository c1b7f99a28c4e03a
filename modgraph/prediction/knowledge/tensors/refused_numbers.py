"""What is refused for the kind of its numbers: flags that are subtracted, bits of fractions, indices that are none."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import NONE, Constant, Dtype, SliceValue, TupleValue, Value
from modgraph.prediction.knowledge.shapes.fitting import number
from modgraph.prediction.knowledge.tensors.demanding import (
    differ,
    given,
    is_empty,
    refuse,
    require_floats,
    require_rank,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import category
from modgraph.prediction.knowledge.tensors.layout_rules import both, named
from modgraph.prediction.knowledge.tensors.tensor_math import joined_dtype
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_FUNCTIONAL = "torch.nn.functional"


def is_flag(machine: Machine, value: Value) -> bool:
    """True, False, or a tensor of these."""
    tensor = tensor_of(machine, value)
    return tensor.dtype == "bool" if tensor is not None else isinstance(value, Constant) and type(value.value) is bool


@demands(*both("sub subtract"), "torch.rsub", *named(f"{TENSOR}.{{}}", "sub_ subtract_ __sub__ __rsub__ __isub__"))
def subtracted(arguments: Arguments, machine: Machine) -> None:
    """No flags."""
    if any(is_flag(machine, arguments.get(at, name, NONE)) for at, name in ((0, "input"), (1, "other"))):
        refuse(machine, "Subtraction, the `-` operator, with a bool tensor is not supported.")


@demands(*both("neg negative"), *named(f"{TENSOR}.{{}}", "neg_ negative_ __neg__"))
def negated(arguments: Arguments, machine: Machine) -> None:
    """No flags."""
    if is_flag(machine, arguments.get(0, "input", NONE)):
        refuse(machine, "Negation, the `-` operator, on a bool tensor is not supported.")


@demands(*both("abs absolute"), f"{TENSOR}.abs_", f"{TENSOR}.absolute_")
def absolute(arguments: Arguments, machine: Machine) -> None:
    """No flags."""
    source = given(arguments, machine, 0, "input")
    if source.dtype == "bool" and not is_empty(source.shape):
        refuse(machine, "abs: not implemented for bool")


@demands(f"{TENSOR}.__invert__")
def inverted(arguments: Arguments, machine: Machine) -> None:
    """No numbers of floating point."""
    source = given(arguments, machine, 0, "input")
    if source.dtype is not None and category(source.dtype) >= 2 and not is_empty(source.shape):
        refuse(machine, f"bitwise_not: not implemented for {source.dtype}")


@demands(*named(f"{TENSOR}.__{{}}shift__", "l r rl rr il ir"))
def shifted(arguments: Arguments, machine: Machine) -> None:
    """Whole numbers alone."""
    left, right = arguments.get(0, "input", NONE), arguments.get(1, "other", NONE)
    source = given(arguments, machine, 0, "input")
    dtype = joined_dtype(left, right, machine)
    if dtype is not None and category(dtype) != 1 and not is_empty(source.shape):
        refuse(machine, f"{last_name(arguments.function)}: not implemented for {dtype}")


@demands(*both("mean nanmean softmax log_softmax norm"), *named(f"{_FUNCTIONAL}.{{}}", "softmax log_softmax softmin"))
def computed_as(arguments: Arguments, machine: Machine) -> None:
    """What comes out is of floating point, where a dtype is asked for."""
    dtype = arguments.keywords.get("dtype", NONE)
    if (
        isinstance(dtype, Dtype)
        and category(dtype.name) < 2
        and not is_empty(given(arguments, machine, 0, "input").shape)
    ):
        refuse(machine, f"{last_name(arguments.function)}(): the dtype must be of floating point, not {dtype.name}")


@demands(*both("bincount"))
def counted(arguments: Arguments, machine: Machine) -> None:
    """Whole numbers in a row, and a weight for each."""
    source, weights = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "weights")
    least = number(arguments.get(2, "minlength", NONE))
    if least is not None and least < 0:
        refuse(machine, "bincount: minlength should be >= 0")
    require_rank(machine, "bincount", source.shape, (1,))
    if is_empty(source.shape):
        return
    if source.dtype is not None and category(source.dtype) != 1:
        refuse(machine, f"bincount: not implemented for {source.dtype}")
    if not source.shape or weights.shape is None:
        return
    if len(weights.shape) != 1 or differ(weights.shape[0], source.shape[0]):
        refuse(machine, f"bincount: input and weights should have the same length, not {told(weights.shape)}")


@demands(*both("bernoulli"), f"{TENSOR}.bernoulli_")
def tossed(arguments: Arguments, machine: Machine) -> None:
    """Of chances, which are of floating point; a chance that is given once is one."""
    chance, source = arguments.get(1, "p", NONE), given(arguments, machine, 0, "input")
    if isinstance(chance, Constant) and isinstance(chance.value, (int, float)) and not 0 <= chance.value <= 1:
        refuse(machine, f"bernoulli expects p to be in [0, 1], but got p={chance.value}")
    if chance == NONE and not arguments.function.endswith("_") and not is_empty(source.shape):
        require_floats(machine, "bernoulli", source, kind="NotImplementedError")


@demands(f"{_FUNCTIONAL}.scaled_dot_product_attention", "torch._C._nn.scaled_dot_product_attention")
def attended(arguments: Arguments, machine: Machine) -> None:
    """Of floating point; a mask of flags, or of the numbers of the query."""
    query, mask = given(arguments, machine, 0, "query"), given(arguments, machine, 3, "attn_mask")
    if not is_empty(query.shape):
        require_floats(machine, "scaled_dot_product_attention", query)
    if None not in (mask.dtype, query.dtype) and mask.dtype not in ("bool", "float32", query.dtype):
        refuse(machine, f"Expected attn_mask dtype to be bool, float or {query.dtype}, but got {mask.dtype}")


# ---- indices ---------------------------------------------------------------------------------------------------------

_INDICES = ("int64", "int32", "uint8", "bool")


@demands(f"{TENSOR}.__getitem__", f"{TENSOR}.__setitem__")
def indexed(arguments: Arguments, machine: Machine) -> None:
    """By whole numbers and flags, of which there is one for each element that they choose from."""
    key = arguments.positional[1]
    shape, place = given(arguments, machine, 0, "input").shape, 0
    for each in key.items if isinstance(key, TupleValue) else (key,):
        tensor = tensor_of(machine, each)
        if isinstance(each, Constant) and isinstance(each.value, (float, complex, str, bytes)):
            refuse(machine, f"tensors cannot be indexed by a {type(each.value).__name__}", "IndexError")
        if tensor is not None:
            _require_index(machine, tensor, None if shape is None else shape[place:])
            place += len(tensor.shape) if tensor.dtype in ("bool", "uint8") and tensor.shape is not None else 1
        elif isinstance(each, SliceValue) or number(each) is not None:
            step = number(each.step) if isinstance(each, SliceValue) else None
            if step is not None and step < 1:
                refuse(machine, "step must be greater than zero", "ValueError")
            place += 1
        elif each != NONE:
            shape = None  # how many dimensions it stands for is not looked at


def _require_index(machine: Machine, index: TensorObject, sizes: tuple[int | None, ...] | None) -> None:
    """A tensor that dimensions of these sizes are indexed by.

    Raises:
        Raised: IndexError.
    """
    if index.dtype is None or index.shape is None:
        return
    if index.dtype not in _INDICES and not (not index.shape and category(index.dtype) == 1):
        refuse(machine, f"tensors used as indices must be long, int, byte or bool, not {index.dtype}", "IndexError")
    if index.dtype != "bool" or sizes is None:
        return
    if len(index.shape) > len(sizes) or any(differ(*pair) for pair in zip(index.shape, sizes, strict=False)):
        refuse(machine, f"The shape of the mask {told(index.shape)} does not match {told(sizes)}", "IndexError")
