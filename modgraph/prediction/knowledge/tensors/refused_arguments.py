"""What is refused for the kind of an argument: a text or a list in the place of a number, bounds that are not given,
data that is no table of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, ListObject, SetObject, TensorObject
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import NONE, SIZE, Address, Constant, KnownClass, TupleValue, Value
from modgraph.prediction.knowledge.tensors.demanding import given, refuse, require_rank, require_spread
from modgraph.prediction.knowledge.tensors.elements import category, count
from modgraph.prediction.knowledge.tensors.layout_rules import both, named
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.prediction.knowledge.torch.gradients import are_recorded
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_FUNCTIONAL = "torch.nn.functional"
_MISSING = Constant(...)
"""Stands for an argument that is not given: None is one."""


_SEVERAL = frozenset(f"builtins.{name}" for name in ("list", "tuple", "dict", "set", "frozenset"))


def is_several(machine: Machine, value: Value) -> bool:
    """A tuple, list, dict or set of Python's own."""
    if isinstance(value, TupleValue):
        return value.cls in (None, SIZE)
    cls = machine.class_of(value) if isinstance(value, Address) else None
    return isinstance(cls, KnownClass) and cls.name in _SEVERAL


def is_no_number(machine: Machine, value: Value) -> bool:
    """Certainly neither a number nor a tensor."""
    if isinstance(value, Constant):
        return value.value is None or isinstance(value.value, (str, bytes, range))
    return is_several(machine, value) or _is_plain_object(machine, value)


def _is_plain_object(machine: Machine, value: Value) -> bool:
    return isinstance(value, Address) and machine.class_of(value) == KnownClass("builtins.object")


# ---- operands --------------------------------------------------------------------------------------------------------

_OPERATORS = "add sub mul truediv floordiv mod pow and or xor matmul"
_FUNCTIONS = """
    add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow lt le eq ne gt ge maximum
    minimum matmul mm bmm
"""
_ORDER = "lt le gt ge"


@demands(*named(f"{TENSOR}.__{{}}__", f"{_OPERATORS} {_ORDER}"), *named(f"{TENSOR}.__r{{}}__", _OPERATORS))
def operands(arguments: Arguments, machine: Machine) -> None:
    """Python's own containers have no operator that takes a tensor, and its order is one of numbers."""
    other = arguments.get(1, "other", _MISSING)
    is_order = last_name(arguments.function).strip("_") in _ORDER.split()
    is_range = isinstance(other, Constant) and isinstance(other.value, range)
    if (
        is_range
        or is_several(machine, other)
        or _is_plain_object(machine, other)
        or (is_order and is_no_number(machine, other))
    ):
        refuse(machine, f"unsupported operand type(s) for {last_name(arguments.function)}", "TypeError")


@demands(*both(_FUNCTIONS), *named(f"{TENSOR}.{{}}", "add_ sub_ mul_ div_ pow_"))
def second(arguments: Arguments, machine: Machine) -> None:
    """A number or a tensor."""
    other = arguments.positional[1] if len(arguments.positional) > 1 else arguments.keywords.get("other", _MISSING)
    if is_no_number(machine, other):
        refuse(machine, f"{last_name(arguments.function)}(): argument 'other' must be Tensor or Number", "TypeError")


@demands(f"{TENSOR}.copy_")
def copied(arguments: Arguments, machine: Machine) -> None:
    """A tensor that spreads to this one."""
    target, source = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "src")
    if is_no_number(machine, arguments.get(1, "src", _MISSING)):
        refuse(machine, "copy_(): argument 'other' must be Tensor", "TypeError")
    require_spread(machine, "copy_", source.shape, target.shape)


@demands(f"{TENSOR}.fill_", f"{TENSOR}.fill", "torch.fill")
def filled(arguments: Arguments, machine: Machine) -> None:
    """One number."""
    value = arguments.get(1, "value", _MISSING)
    if value == _MISSING or is_no_number(machine, value):
        refuse(machine, "fill_(): argument 'value' must be Tensor or Number", "TypeError")
    require_rank(machine, "fill_: the value", given(arguments, machine, 1, "value").shape, (0,))
    _require_real(machine, given(arguments, machine, 0, "input"), value)


def _require_real(machine: Machine, target: TensorObject, value: Value) -> None:
    """Of a number that is put into a tensor.

    Raises:
        Raised: RuntimeError, where it is complex and the tensor is not.
    """
    is_complex = isinstance(value, Constant) and isinstance(value.value, complex) and value.value.imag != 0
    if is_complex and target.dtype is not None and category(target.dtype) < 3:
        refuse(machine, f"value cannot be converted to type {target.dtype} without overflow")


@demands(*both("clamp clip"), f"{TENSOR}.clamp_", f"{TENSOR}.clip_")
def bounded(arguments: Arguments, machine: Machine) -> None:
    """By one bound at least, and by numbers or tensors alone."""
    bounds = [arguments.get(at, name, NONE) for at, name in ((1, "min"), (2, "max"))]
    if all(each == NONE for each in bounds):
        refuse(machine, "torch.clamp: At least one of 'min' or 'max' must not be None")
    for each in bounds:
        _require_bound(machine, each)
    kinds = {tensor_of(machine, each) is not None for each in bounds if each != NONE}
    if len(kinds) == 2 and any(isinstance(each, Constant) for each in bounds):
        refuse(machine, "clamp() received an invalid combination of arguments: a number and a tensor", "TypeError")


@demands(*both("clamp_min clamp_max"))
def bounded_once(arguments: Arguments, machine: Machine) -> None:
    _require_bound(machine, arguments.get(1, last_name(arguments.function).removeprefix("clamp_"), NONE))


def _require_bound(machine: Machine, value: Value) -> None:
    if value != NONE and is_no_number(machine, value):
        refuse(machine, "clamp(): a bound must be Tensor or Number", "TypeError")
    if isinstance(value, Constant) and isinstance(value.value, complex):
        refuse(machine, "clamp is not supported for complex types")


# ---- dimensions ------------------------------------------------------------------------------------------------------

_ONE_DIM = {
    **dict.fromkeys(("prod", "argmax", "argmin", "max", "min", "median", "nanmedian", "mode", "unbind"), 1),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax"), 1),
    **dict.fromkeys(("sort", "argsort"), 1),
    **dict.fromkeys(("topk", "kthvalue"), 2),
}
"""Functions along a single dimension, and where it is given."""


@demands(*both(" ".join(_ONE_DIM)))
def along_one(arguments: Arguments, machine: Machine) -> None:
    name = last_name(arguments.function)
    if is_several(machine, arguments.get(_ONE_DIM[name], "dim", _MISSING)):
        refuse(machine, f"{name}(): argument 'dim' must be int, not a tuple or list", "TypeError")


# ---- what tensors are made of ----------------------------------------------------------------------------------------


@demands("torch.full", f"{TENSOR}.new_full", "torch.full_like")
def made_of_one(arguments: Arguments, machine: Machine) -> None:
    """A size and one number."""
    name = last_name(arguments.function)
    place = 2 if name == "new_full" else 1
    size, value = arguments.get(place - 1, "size", _MISSING), arguments.get(place, "fill_value", _MISSING)
    if value == _MISSING or is_no_number(machine, value):
        refuse(machine, f"{name}(): argument 'fill_value' must be Number", "TypeError")
    if name != "full_like" and isinstance(size, Constant) and type(size.value) is int:
        refuse(machine, f"{name}(): argument 'size' must be tuple of ints, not int", "TypeError")
    require_rank(machine, f"{name}: the fill value", given(arguments, machine, place, "fill_value").shape, (0,))


@demands("torch.tensor", "torch.as_tensor", "torch.FloatTensor", "torch.LongTensor", f"{TENSOR}.new_tensor")
def of_data(arguments: Arguments, machine: Machine) -> None:
    """Numbers, in rows of one length."""
    place = int(arguments.function.endswith("new_tensor"))
    data = arguments.get(place, "data", _MISSING)
    if data == _MISSING and not arguments.function.endswith("Tensor"):
        refuse(machine, "tensor() missing 1 required positional arguments: 'data'", "TypeError")
    if data == NONE or (isinstance(data, Constant) and isinstance(data.value, (str, bytes))):
        refuse(machine, "new(): invalid data type", "TypeError")
    is_set = isinstance(data, Address) and isinstance(machine.state.read(data), (DictObject, SetObject))
    if is_set or _is_plain_object(machine, data):
        refuse(machine, "Could not infer dtype of what is neither a number nor a sequence")
    if is_several(machine, data):
        _require_table(machine, [data])


_MOST_LOOKED_AT = 2000
"""Items of data that are looked at."""


def _require_table(machine: Machine, rows: Sequence[Value]) -> None:
    """Of what stands beside each other, as far as that is known; where the first has nothing, no more is looked at.

    Raises:
        Raised: ValueError, where rows differ in length, or a number stands beside a row; TypeError, where one is no
            number.
    """
    listed = [_items(machine, row) for row in rows]
    if listed[0] is not None and not listed[0]:
        return
    for row in rows:
        if isinstance(row, Constant) and (row.value is None or isinstance(row.value, (str, bytes))):
            refuse(machine, f"must be real number, not {type(row.value).__name__}", "TypeError")
        held = tensor_of(machine, row)
        size = count(held.shape) if held is not None else None
        if type(size) is int and size != 1:
            refuse(machine, "only one element tensors can be converted to Python scalars", "ValueError")
    are_known = all(each is not None or isinstance(row, Constant) for each, row in zip(listed, rows, strict=True))
    if are_known and len({None if each is None else len(each) for each in listed}) > 1:
        refuse(machine, "expected sequences of one length", "ValueError")
    inner = [item for each in listed for item in each or ()]
    if inner and None not in listed and len(inner) <= _MOST_LOOKED_AT:
        _require_table(machine, inner)


def _items(machine: Machine, value: Value) -> Sequence[Value] | None:
    """What a tuple or list holds; None where it is none, or may hold more."""
    if isinstance(value, TupleValue):
        return value.items
    listed = machine.state.find(value, ListObject)
    return listed.items if listed is not None and listed.open is None else None


# ---- chances and flags -----------------------------------------------------------------------------------------------

_DROPOUTS = "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout"


@demands(*named(f"{_FUNCTIONAL}.{{}}", _DROPOUTS), *named("torch.{}", "dropout alpha_dropout feature_alpha_dropout"))
def dropped(arguments: Arguments, machine: Machine) -> None:
    """A chance is between 0 and 1."""
    chance = arguments.get(1, "p", NONE)
    if isinstance(chance, Constant) and isinstance(chance.value, (int, float)) and not 0 <= chance.value <= 1:
        message = f"dropout probability has to be between 0 and 1, but got {chance.value}"
        refuse(machine, message, "RuntimeError" if arguments.function.startswith("torch.d") else "ValueError")


@demands(f"{TENSOR}.requires_grad_")
def asked_for_gradients(arguments: Arguments, machine: Machine) -> None:
    """True or False; of floating point alone it is True."""
    wanted, source = arguments.get(1, "requires_grad", Constant(True)), given(arguments, machine, 0, "input")
    if isinstance(wanted, Constant) and type(wanted.value) is not bool:
        refuse(machine, "requires_grad_(): argument 'requires_grad' must be bool", "TypeError")
    if wanted == Constant(True) and source.dtype is not None and category(source.dtype) < 2:
        refuse(machine, "only Tensors of floating point and complex dtype can require gradients")


_INTO_OUT = """
    add sub mul div pow exp log log2 log10 log1p expm1 sqrt rsqrt reciprocal sin cos tan tanh sigmoid erf abs square
    clamp cat stack mm bmm matmul mv addmm baddbmm sum mean prod cumsum maximum minimum max min lerp neg
    softmax index_select
"""


@demands(*named("torch.{}", _INTO_OUT))
def into_out(arguments: Arguments, machine: Machine) -> None:
    """Gradients do not go through what is written into `out`."""
    out = arguments.keywords.get("out", NONE)
    if out == NONE or not are_recorded(machine):
        return
    values = [*arguments.positional, *arguments.keywords.values()]
    values += [each for value in values if is_several(machine, value) for each in _items(machine, value) or ()]
    tensors = [tensor for tensor in (tensor_of(machine, each) for each in values) if tensor is not None]
    if any(each.requires_grad is True and each.dtype is not None and category(each.dtype) >= 2 for each in tensors):
        name = last_name(arguments.function)
        refuse(machine, f"{name}(): functions with out=... arguments don't support automatic differentiation")
