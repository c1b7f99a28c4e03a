"""Arithmetic, comparisons, elementwise functions and reductions of tensors: shape by broadcasting, dtype by promotion.

Source: "Broadcasting semantics" and "Tensor attributes, torch.dtype" in torch's reference.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import Model, alias, models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    Choice,
    Constant,
    Dtype,
    KnownFunction,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.tensors.elements import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    MAX_ELEMENTS,
    REAL_PARTS,
    WIDTHS,
    Number,
    Shape,
    broadcast,
    category,
    combined,
    count,
    kept,
    power,
    promoted,
    remainder_of_dividend,
)
from modgraph.prediction.knowledge.tensors.tensor_memory import overwrite
from modgraph.prediction.knowledge.tensors.tensor_values import (
    PAIR,
    default_float,
    dimension,
    made,
    refuse_overflow,
    size_of,
    tensor_of,
)
from modgraph.prediction.knowledge.torch.autocasting import may_cast
from modgraph.prediction.knowledge.torch.gradients import refuse_on_leaf, written_to
from modgraph.prediction.knowledge.torch.parameters import TENSOR
from modgraph.prediction.python.plain import data_unknown, is_number, number_unknown

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": power,
}
_BITWISE: dict[str, Callable[[Any, Any], Any]] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
_LOGICAL: dict[str, Callable[[Any, Any], Any]] = {
    "logical_and": lambda left, right: bool(left) and bool(right),
    "logical_or": lambda left, right: bool(left) or bool(right),
    "logical_xor": lambda left, right: bool(left) != bool(right),
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("lt", "le", "eq", "ne", "gt", "ge")
}


def _scalar_dtype(value: Any, machine: Machine) -> str | None:
    floats = default_float(machine)
    of_complex = COMPLEX[WIDTHS[floats]] if floats is not None else None
    return {bool: "bool", int: "int64", complex: of_complex}.get(
        value.__class__, floats
    )  # of a size that is left open, int


_NUMBER = 2
"""The order of what an operation is given: tensors with dimensions, tensors without, numbers of Python."""


def joined_dtype(left: Value, right: Value, machine: Machine) -> str | None:
    """Dtype of an operation. What comes later in the order counts only where its category is the higher one.

    Source: `result_type` in ATen's `TypeProperties.cpp`.
    """
    dtypes: list[str | None] = []
    orders: list[tuple[int, ...]] = []
    for value in (left, right):
        tensor = tensor_of(machine, value)
        if tensor is not None:
            dtypes.append(tensor.dtype)
            orders.append((0, 1) if tensor.shape is None else (int(tensor.shape == ()),))
        else:
            dtypes.append(_scalar_dtype(value.value, machine) if isinstance(value, Constant) else None)
            orders.append((_NUMBER,))
    first, second = dtypes
    if first is None or second is None:
        strong = first if second is None else second
        is_number = isinstance(left if first is None else right, Unknown)
        return strong if is_number and strong is not None and category(strong) >= 2 else None
    found = {_of_orders((first, one), (second, other)) for one in orders[0] for other in orders[1]}
    return found.pop() if len(found) == 1 else None


def joined_with_number(machine: Machine, dtype: str, number: Constant) -> str | None:
    """Dtype of an operation on a tensor and a number of Python."""
    other = _scalar_dtype(number.value, machine)
    return None if other is None else _of_orders((dtype, 0), (other, _NUMBER))


def _of_orders(left: tuple[str, int], right: tuple[str, int]) -> str | None:
    (first, one), (second, other) = left, right
    if one == other:
        return promoted(first, second)
    strong, weak = (first, second) if one < other else (second, first)
    if category(strong) >= category(weak):
        return strong
    if strong in FLOATS:
        return COMPLEX[WIDTHS[strong]]  # as wide as they were
    return promoted(strong, weak) if strong == "bool" or category(weak) >= 2 else strong


def _operand(machine: Machine, value: Value) -> tuple[Shape | None, tuple[Number, ...] | None]:
    tensor = tensor_of(machine, value)
    if tensor is not None:
        return tensor.shape, tensor.elements
    if isinstance(value, Constant) and isinstance(value.value, (bool, int, float)):
        return (), (value.value,)
    return (() if is_number(value) else None), None


def elementwise(
    machine: Machine,
    left: Value,
    right: Value,
    operation: Callable[[Any, Any], Any] | None,
    dtype: str | None,
) -> Address:
    """A tensor of the joint shape; its elements where both sides' are known."""
    (first, first_elements), (second, second_elements) = _operand(machine, left), _operand(machine, right)
    try:
        shape = broadcast(first, second)
    except ValueError as error:
        raise machine.raises("RuntimeError", str(error)) from None
    size, elements = count(shape), None
    known = first_elements is not None and second_elements is not None and size is not None and size <= MAX_ELEMENTS
    if operation is not None and known:
        machine.spend(size or 0)
        left_part, right_part = (first_elements or (), _known(first)), (second_elements or (), _known(second))
        joined = joined_dtype(left, right, machine)
        if joined in INTEGERS and (dtype == "bool" or dtype in INTEGERS):
            machine.spend(len(left_part[0]) + len(right_part[0]))
            left_part, right_part = ((kept(part, joined) or part, sizes) for part, sizes in (left_part, right_part))
        found = combined(operation, left_part, right_part, _known(shape))
        elements = kept(found, dtype) if found is not None else None
    needs = _needs_grad(machine, left, right) if dtype is None or category(dtype) >= 2 else False
    return made(machine, shape, dtype, elements, requires_grad=needs)


def _known(shape: Shape | None) -> list[int]:
    return [size for size in shape or () if size is not None]


def _needs_grad(machine: Machine, *values: Value) -> bool | None:
    found = (tensor_of(machine, value) for value in values)
    return needs_any(tensor for tensor in found if tensor is not None)


def needs_any(tensors: Iterable[TensorObject]) -> bool | None:
    """Whether one of them needs a gradient."""
    needs = {tensor.requires_grad for tensor in tensors}
    return True if True in needs else None if None in needs else False


def _is_operand(machine: Machine, value: Value) -> bool:
    if isinstance(value, Constant):
        return isinstance(value.value, (bool, int, float, complex))
    return tensor_of(machine, value) is not None or isinstance(value, (Unknown, Choice))


def _arithmetic(name: str, reflected: bool, compares: bool) -> Model:
    plain: Callable[[Any, Any], Any] | None = {**_ARITHMETIC, **_BITWISE, **_COMPARISONS, **_LOGICAL}[name]

    def apply(arguments: Arguments, machine: Machine) -> Value:
        left, right = _two(arguments)
        if not _is_operand(machine, right) or right == NONE:
            return Constant(compares and name == "ne") if compares else Constant(NotImplemented)
        if reflected:
            left, right = right, left
        dtype: str | None = "bool"
        options = arguments.keywords.keys() - _OPERANDS or len(arguments.positional) > 2 or arguments.open is not None
        operation = remainder_of_dividend if arguments.function.endswith("fmod") else plain
        operation = None if options else operation
        if not compares:
            dtype = joined_dtype(left, right, machine)
            if name == "truediv" and dtype is not None and category(dtype) < 2:
                dtype = _quotient(dtype, arguments.named("rounding_mode", NONE), machine)
        return elementwise(machine, left, right, operation, dtype)

    return apply


_SECOND = ("exponent", "mat2", "vec2", "vec", "tensor")
"""Names of the second operand, which mostly is `other`."""
_OPERANDS = {"input", "self", "other", "exponent", "out"}


def _two(arguments: Arguments) -> tuple[Value, Value]:
    """The operands, as `f(x, y)`, `f(x, other=y)` and `f(input=x, other=y)` give them."""
    named = (arguments.keywords[name] for name in _SECOND if name in arguments.keywords)
    first = arguments.get(0, "input", arguments.keywords.get("self", NONE))
    return first, arguments.get(1, "other", next(named, NONE))


def _quotient(dtype: str, rounding: Value, machine: Machine) -> str | None:
    """Dtype of a quotient of whole numbers: these again, where it is rounded to one."""
    if rounding == NONE:
        return default_float(machine)
    return ("int64" if dtype == "bool" else dtype) if isinstance(rounding, Constant) else None


_FUNCTION_NAMES = {"truediv": ("div", "divide", "true_divide"), "sub": ("sub", "subtract"), "mul": ("mul", "multiply")}


def _register_binary() -> None:
    for name in (*_ARITHMETIC, *_BITWISE):
        plain_names = [f"{TENSOR}.__{name}__"]
        for function in _FUNCTION_NAMES.get(name, ("floor_divide",) if name == "floordiv" else (name,)):
            if name in _ARITHMETIC:
                plain_names += [f"{TENSOR}.{function}", f"torch.{function}"]
            else:
                plain_names += [f"{TENSOR}.bitwise_{name}", f"torch.bitwise_{name}"]
        if name == "mod":
            plain_names = [
                f"{TENSOR}.__mod__",
                f"{TENSOR}.remainder",
                "torch.remainder",
                f"{TENSOR}.fmod",
                "torch.fmod",
            ]
        models(*plain_names)(_arithmetic(name, False, False))
        models(f"{TENSOR}.__r{name}__")(_arithmetic(name, True, False))
    for name in _COMPARISONS:
        models(f"{TENSOR}.__{name}__", f"{TENSOR}.{name}", f"torch.{name}")(_arithmetic(name, False, True))
    for name in _LOGICAL:
        models(f"{TENSOR}.{name}", f"torch.{name}")(_arithmetic(name, False, True))


_register_binary()


@models(*(f"{TENSOR}.__{side}{name}shift__" for name in "lr" for side in ("", "r")))
def shifted(arguments: Arguments, machine: Machine) -> Value:
    left, right = _two(arguments)
    if not _is_operand(machine, right) or right == NONE:
        return Constant(NotImplemented)
    if last_name(arguments.function).startswith("__r") and not arguments.function.endswith(".__rshift__"):
        left, right = right, left
    return elementwise(machine, left, right, None, joined_dtype(left, right, machine))


@models(f"{TENSOR}.__pos__")
def unchanged(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


alias(f"{TENSOR}.__abs__", f"{TENSOR}.abs")


@models(f"{TENSOR}.__neg__", f"{TENSOR}.neg", "torch.neg", f"{TENSOR}.__invert__", f"{TENSOR}.logical_not")
def negated(arguments: Arguments, machine: Machine) -> Value:
    source = tensor_of(machine, arguments.positional[0])
    if source is None:
        return made(machine, None, None)
    if arguments.function.endswith(("__invert__", "logical_not")):
        values = [not value for value in source.elements] if source.elements and source.dtype == "bool" else None
        dtype = "bool" if arguments.function.endswith("logical_not") else source.dtype
        return made(machine, source.shape, dtype, kept(values, "bool") if values else None)
    elements = kept([-value for value in source.elements], source.dtype) if source.elements is not None else None
    return made(machine, source.shape, source.dtype, elements, requires_grad=source.requires_grad)


# ---- of one tensor ---------------------------------------------------------------------------------------------------

_FLOAT_FUNCTIONS: dict[str, Callable[[float], float] | None] = {
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": math.log1p,
    "expm1": math.expm1,
    "sqrt": math.sqrt,
    "rsqrt": lambda value: 1 / math.sqrt(value),
    "reciprocal": lambda value: 1 / value,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "sigmoid": lambda value: 1 / (1 + math.exp(-value)),
    "erf": math.erf,
    "erfinv": None,
    "deg2rad": math.radians,
    "rad2deg": math.degrees,
}
_SAME_FUNCTIONS: dict[str, Callable[[Any], Any] | None] = {
    "abs": abs,
    "square": lambda value: value * value,
    "sign": lambda value: (value > 0) - (value < 0),
    "ceil": math.ceil,
    "floor": math.floor,
    "round": round,
    "trunc": math.trunc,
    "relu": lambda value: max(value, 0),
    "tril": None,
    "triu": None,
    "nan_to_num": None,
    "scatter": None,
    "index_fill": None,
    "index_add": None,
    "renorm": None,
    "bernoulli": None,
}


def _unary(name: str, function: Callable[[Any], Any] | None, to_float: bool) -> Model:
    def apply(arguments: Arguments, machine: Machine) -> Value:
        source = tensor_of(machine, arguments.get(0, "input", NONE))
        if source is None:
            return made(machine, None, None)
        is_exact = to_float and source.dtype is not None and category(source.dtype) < 2
        dtype = default_float(machine) if is_exact else source.dtype
        if name == "abs" and dtype is not None:
            dtype = REAL_PARTS.get(dtype, dtype)
        elif name == "square" and dtype == "bool":
            dtype = "int64"
        elements = None
        alone = not arguments.keywords.keys() - {"input", "out"} and len(arguments.positional) <= 1
        if function is not None and source.elements is not None and alone and arguments.open is None:
            try:
                elements = kept([function(value) for value in source.elements], dtype)
            except (ArithmeticError, ValueError):
                elements = None
        return made(machine, source.shape, dtype, elements, requires_grad=source.requires_grad)

    return apply


for _name, _function in _FLOAT_FUNCTIONS.items():
    models(f"torch.{_name}", f"{TENSOR}.{_name}")(_unary(_name, _function, True))
for _name, _function in _SAME_FUNCTIONS.items():
    if _name != "bernoulli":
        models(f"torch.{_name}", f"{TENSOR}.{_name}")(_unary(_name, _function, False))


def _along(names: tuple[str, ...], otherwise: Callable[[str], str]) -> None:
    """Functions along one dimension that keep the shape: `f(x, dim, dtype)`; `otherwise` is the dtype without one."""

    def apply(arguments: Arguments, machine: Machine) -> Value:
        source = tensor_of(machine, arguments.get(0, "input", NONE))
        if source is None:
            return made(machine, None, None)
        if source.shape is not None:
            dimension(machine, arguments.get(1, "dim", NONE), len(source.shape))  # refuses one that is not there
        given = arguments.get(2, "dtype", NONE)
        kept_dtype = None if source.dtype is None else otherwise(source.dtype)
        dtype = kept_dtype if given == NONE else given.name if isinstance(given, Dtype) else None
        return made(machine, source.shape, dtype, requires_grad=source.requires_grad)

    models(*(f"{owner}.{name}" for name in names for owner in ("torch", TENSOR)))(apply)


_along(("cumsum", "cumprod"), lambda dtype: "int64" if category(dtype) < 2 else dtype)
_along(("softmax", "log_softmax"), lambda dtype: dtype)


@models("torch.masked_fill", f"{TENSOR}.masked_fill", "torch.lerp", f"{TENSOR}.lerp")
def with_others(arguments: Arguments, machine: Machine) -> Value:
    """Of the first tensor's dtype, and of the joint shape: `masked_fill(x, mask, value)`, `lerp(x, end, weight)`."""
    source = tensor_of(machine, arguments.get(0, "input", NONE))
    if source is None:
        return made(machine, None, None)
    fills = arguments.function.endswith("fill")
    others = [arguments.get(1, "mask" if fills else "end", NONE)] + (
        [] if fills else [arguments.get(2, "weight", NONE)]
    )
    shape, needs = source.shape, [source]
    for other in others:
        tensor = tensor_of(machine, other)
        needs += [tensor] if tensor is not None else []
        try:
            shape = broadcast(shape, _operand(machine, other)[0])
        except ValueError as error:
            raise machine.raises("RuntimeError", str(error)) from None
    return made(machine, shape, source.dtype, requires_grad=None if fills else needs_any(needs))


@models("torch.isnan", "torch.isinf", "torch.isfinite", f"{TENSOR}.isnan", f"{TENSOR}.isinf", f"{TENSOR}.isfinite")
def verdicts(arguments: Arguments, machine: Machine) -> Value:
    source = tensor_of(machine, arguments.positional[0])
    return made(machine, source.shape if source is not None else None, "bool")


@models("torch.maximum", "torch.minimum", "torch.atan2", f"{TENSOR}.maximum", f"{TENSOR}.minimum", "torch.hypot")
def of_two(arguments: Arguments, machine: Machine) -> Value:
    pick: dict[str, Callable[[Any, Any], Any]] = {"maximum": max, "minimum": min}
    name = last_name(arguments.function)
    left, right = _two(arguments)
    dtype = joined_dtype(left, right, machine)
    if name == "atan2" and dtype is not None and category(dtype) < 2:
        dtype = default_float(machine)
    return elementwise(machine, left, right, pick.get(name), dtype)


@models("torch.where")
def where(arguments: Arguments, machine: Machine) -> Value:
    before = 0 if "condition" in arguments.keywords else 1
    condition = arguments.get(0, "condition", NONE) if before else arguments.keywords["condition"]
    left, right = arguments.get(before, "input", NONE), arguments.get(before + 1, "other", NONE)
    if NONE in (left, right):
        return machine.call(KnownFunction(f"{TENSOR}.nonzero"), (condition,), {"as_tuple": TRUE})
    branches = elementwise(machine, left, right, None, joined_dtype(left, right, machine))
    joined = tensor_of(machine, elementwise(machine, condition, branches, None, "bool"))
    made_of = tensor_of(machine, branches)
    assert joined is not None
    assert made_of is not None
    return made(machine, joined.shape, made_of.dtype)


@models(f"{TENSOR}.where")
def where_else(arguments: Arguments, machine: Machine) -> Value:
    """`x.where(condition, other)`."""
    own, condition, other = (arguments.get(i, n, NONE) for i, n in enumerate(("input", "condition", "other")))
    return machine.call(KnownFunction("torch.where"), (condition, own, other))


# ---- in place --------------------------------------------------------------------------------------------------------

_IN_PLACE = (
    *("add_", "sub_", "mul_", "div_", "pow_", "copy_", "normal_", "uniform_", "random_", "exponential_", "bernoulli_"),
    *("clamp_", "clamp_min_", "clamp_max_", "fill_diagonal_", "masked_fill_", "index_fill_", "index_copy_", "scatter_"),
    *("trunc_normal_", "geometric_", "log_normal_", "cauchy_", "erfinv_", "exp_", "log_", "sqrt_", "neg_", "abs_"),
    *("tril_", "triu_", "sin_", "cos_", "tanh_", "sigmoid_", "relu_", "round_", "floor_", "ceil_", "index_add_"),
    *("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__", "scatter_add_", "lerp_", "index_put_"),
    *("__ifloordiv__", "__imod__", "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__"),
    *("bitwise_and_", "logical_not_", "eq_", "renorm_", "sort_", "share_memory_", "zero_grad"),
)


_COMPUTING = {
    **{name: name.strip("_") for name in ("add_", "sub_", "mul_", "div_", "pow_")},
    **{f"__i{name}__": name for name in ("add", "sub", "mul", "pow", "floordiv", "mod", "and", "or", "xor")},
    "__itruediv__": "div",
}
"""Those that compute as a function does which gives a new tensor."""


def _require_room(machine: Machine, arguments: Arguments) -> None:
    """What is computed fits into the tensor that it is written to.

    Raises:
        Raised: RuntimeError, where it is larger, or of a kind of numbers that it does not hold.
    """
    name = _COMPUTING.get(last_name(arguments.function))
    left, right = _two(arguments)
    target = tensor_of(machine, left)
    if name is None or target is None or arguments.open is not None or not _is_operand(machine, right):
        return
    shapes = target.shape, _operand(machine, right)[0]
    if target.shape is not None and shapes[1] is not None:
        try:
            joined = broadcast(*shapes)
        except ValueError as error:
            raise machine.raises("RuntimeError", str(error)) from None
        pairs = [pair for pair in zip(target.shape, joined or (), strict=False) if None not in pair]
        if len(joined or ()) > len(target.shape) or any(size != wanted for size, wanted in pairs):
            told = f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(joined or ())}"
            raise machine.raises("RuntimeError", told)
    dtype = joined_dtype(left, right, machine)
    if name == "div" and dtype is not None and category(dtype) < 2 and "rounding_mode" not in arguments.keywords:
        dtype = "float32"
    if dtype is not None and target.dtype is not None and category(dtype) > category(target.dtype):
        raise machine.raises("RuntimeError", f"result type {dtype} can't be cast to the output type {target.dtype}")


@models(*(f"{TENSOR}.{name}" for name in _IN_PLACE))
def in_place(arguments: Arguments, machine: Machine) -> Value:
    """The tensor itself; what it holds is not followed."""
    if last_name(arguments.function) not in ("share_memory_", "zero_grad"):
        refuse_on_leaf(machine, arguments.positional[0])
    _require_room(machine, arguments)
    written_to(machine, arguments.positional[0], (*arguments.positional[1:], *arguments.keywords.values()))
    return _with_elements(machine, arguments.positional[0], None)


@models(f"{TENSOR}.fill_", f"{TENSOR}.zero_")
def filled(arguments: Arguments, machine: Machine) -> Value:
    refuse_on_leaf(machine, arguments.positional[0])
    value = Constant(0) if arguments.function.endswith("zero_") else arguments.get(1, "value", NONE)
    written_to(machine, arguments.positional[0], (value,))
    return _with_elements(machine, arguments.positional[0], value.value if isinstance(value, Constant) else None)


def _with_elements(machine: Machine, value: Value, number: Number | None) -> Value:
    if isinstance(value, Address) and tensor_of(machine, value) is not None:
        tensor = machine.state.read(value)
        assert isinstance(tensor, TensorObject)
        size = count(tensor.shape)
        if number is not None:
            refuse_overflow(machine, (number,), tensor.dtype)
        is_known = number is not None and size is not None and size <= MAX_ELEMENTS
        known = kept([number] * size, tensor.dtype) if is_known and number is not None and size else None
        overwrite(machine, value, known)
    return value


# ---- reductions ------------------------------------------------------------------------------------------------------

_REDUCTIONS: dict[str, Callable[..., Any] | None] = {
    "sum": sum,
    "mean": lambda values: sum(values) / len(values),
    "prod": math.prod,
    "max": max,
    "min": min,
    "amax": max,
    "amin": min,
    "any": any,
    "all": all,
    "std": None,
    "var": None,
    "norm": None,
    "logsumexp": None,
    "argmax": lambda values: values.index(max(values)),
    "argmin": lambda values: values.index(min(values)),
    "median": None,
    "nanmedian": None,
    "mode": None,
    "kthvalue": None,
    "count_nonzero": lambda values: sum(1 for value in values if value),
    "nansum": None,
}


def _reduced_dtype(machine: Machine, name: str, dtype: str | None) -> str | None:
    if name in ("any", "all"):
        return "bool"
    if name in ("argmax", "argmin", "count_nonzero"):
        return "int64"
    if dtype is None:
        return None
    if name in ("sum", "prod", "nansum") and category(dtype) < 2:
        return "int64"
    if name == "logsumexp" and category(dtype) < 2:
        return default_float(machine)
    return REAL_PARTS.get(dtype, dtype) if name in ("std", "var", "norm") else dtype


_PAIRS = ("max", "min", "median", "nanmedian", "mode", "kthvalue")
"""Those that give values and indices where they are given a dimension."""


def _reduction(name: str, function: Callable[..., Any] | None) -> Model:
    def apply(arguments: Arguments, machine: Machine) -> Value:
        source = tensor_of(machine, arguments.get(0, "input", NONE))
        given = arguments.keywords.get("dtype", NONE)
        if source is None:
            if name in _PAIRS:
                return data_unknown(machine, f"torch.{name}", f"{name}() of something not known")
            return made(machine, None, None)
        dtype = _reduced_dtype(machine, name, source.dtype)
        if given != NONE:
            dtype = given.name if isinstance(given, Dtype) else None
        elif name in _OF_FLOATS and source.dtype is not None and category(source.dtype) < 2:
            raise machine.raises("RuntimeError", f"{name}(): takes floating point, but got {source.dtype}")
        dims, keep = _dims(arguments, machine, name)
        if name in ("max", "min"):
            other = arguments.get(1, "other", NONE)
            if tensor_of(machine, other) is not None:
                left = arguments.get(0, "input", NONE)
                return elementwise(machine, left, other, function, joined_dtype(left, other, machine))
        _require_some(machine, name, source.shape, dims)
        paired = name in _PAIRS and dims != NONE
        if paired and not isinstance(dims, Constant):
            return data_unknown(machine, f"torch.{name}", "whether it is given a dimension is not known", dims)
        if name in ("mode", "kthvalue") and dims == NONE:
            dims, paired = Constant(-1), True
        if dims == NONE and keep is False:
            elements = None
            if function is not None and source.elements and given == NONE:
                elements = kept([function(source.elements)], dtype)
            return made(machine, (), dtype, elements, requires_grad=source.requires_grad)
        shape = without(machine, source.shape, dims, keep)
        values = made(machine, shape, dtype, requires_grad=source.requires_grad)
        return TupleValue((values, made(machine, shape, "int64")), PAIR) if paired else values

    return apply


_OF_FLOATS = ("mean", "std", "var", "norm")
_OF_SOME = ("max", "min", "amax", "amin", "argmax", "argmin")


def _require_some(machine: Machine, name: str, shape: Shape | None, dims: Value) -> None:
    """Of nothing there is no largest.

    Raises:
        Raised: RuntimeError, IndexError.
    """
    if name not in _OF_SOME or shape is None or isinstance(dims, (Unknown, Choice)):
        return
    empty = [place for place, size in enumerate(shape) if type(size) is int and size == 0]
    if empty and dims == NONE:
        raise machine.raises("RuntimeError", f"{name}(): the dimension is to be given where there are no elements")
    if empty and isinstance(dims, Constant) and dimension(machine, dims, len(shape)) in empty:
        raise machine.raises("IndexError", f"{name}(): a dimension without elements cannot be reduced")


_BEFORE_DIM = {"norm": 2, "kthvalue": 2}
"""Place of `dim` among the arguments, where it is not 1."""


def _dims(arguments: Arguments, machine: Machine, name: str) -> tuple[Value, bool | None]:
    """The dimensions that are reduced, None for all of them, and whether they stay, with one element each."""
    place = _BEFORE_DIM.get(name, 1)
    dims = arguments.get(place, "dim", arguments.keywords.get("axis", NONE))
    after = place + 1
    if name in ("std", "var", "std_mean", "var_mean"):
        after += 1  # `unbiased`, which may stand first, too
        if isinstance(dims, Constant) and isinstance(dims.value, bool):
            dims = NONE
    keep = machine.truth(arguments.get(after, "keepdim", FALSE))
    if name == "count_nonzero":
        keep = False
    return dims, keep


def without(machine: Machine, shape: Shape | None, dims: Value, keep: bool | None) -> Shape | None:
    """The shape with these dimensions reduced to 1, or gone; all of them where none is given."""
    if shape is None or keep is None or isinstance(dims, (Unknown, Choice)):
        return None
    listed = [] if dims == NONE else [dims] if isinstance(dims, Constant) else machine.iterate(dims)
    if isinstance(listed, Unknown):
        return None
    found = [dimension(machine, dim, len(shape)) for dim in listed]
    places = set(found) if listed else set(range(len(shape)))
    if len(places) < len(found) and None not in places:
        twice = next(each for each in found if found.count(each) > 1)
        raise machine.raises("RuntimeError", f"dim {twice} appears multiple times in the list of dims")
    if None in places:
        return None
    if keep:
        return tuple(1 if i in places else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in places)


@models("torch.std_mean", "torch.var_mean")
def two_reductions(arguments: Arguments, machine: Machine) -> Value:
    """Two at once: `std_mean(x, dim)`."""
    source, name = tensor_of(machine, arguments.get(0, "input", NONE)), last_name(arguments.function)
    if source is None:
        return data_unknown(machine, f"torch.{name}", f"what {name}() gives is not modelled")
    dims, keep = _dims(arguments, machine, name)
    shape = without(machine, source.shape, dims, keep)
    dtypes = (None if source.dtype is None else REAL_PARTS.get(source.dtype, source.dtype)), source.dtype
    return TupleValue(tuple(made(machine, shape, each, requires_grad=source.requires_grad) for each in dtypes))


for _name, _function in _REDUCTIONS.items():
    models(f"torch.{_name}", f"{TENSOR}.{_name}")(_reduction(_name, _function))


# ---- products --------------------------------------------------------------------------------------------------------


@models(
    *(f"{owner}.{name}" for owner in ("torch", TENSOR) for name in ("matmul", "mm", "bmm", "mv", "dot")),
    f"{TENSOR}.__matmul__",
    *("torch.spmm", "torch.sparse.mm"),
)
def matrix_product(arguments: Arguments, machine: Machine) -> Value:
    left, right = (tensor_of(machine, value) for value in _two(arguments))
    if left is None or right is None or left.shape is None or right.shape is None:
        return made(machine, None, promoted(left.dtype, right.dtype) if left and right else None)
    dtype, (first, second) = promoted(left.dtype, right.dtype), (left.shape, right.shape)
    _require_ranks(machine, last_name(arguments.function), first, second)
    if None not in (left.dtype, right.dtype) and left.dtype != right.dtype and not may_cast(machine):
        message = f"both must have the same dtype, but got {left.dtype} and {right.dtype}"
        is_of_nothing, is_on_meta = _is_batch_of_nothing(first, second), "meta" in (left.device, right.device)
        if not is_on_meta and not is_of_nothing:
            raise machine.raises("RuntimeError", message)
        if is_on_meta or len(first) <= _MATRIX:
            machine.may_fail()  # not each function asks for the dtypes of what holds nothing
        dtype = right.dtype if is_of_nothing and len(first) > _MATRIX else dtype
    shape: Shape | None
    if not first or not second:
        raise machine.raises("RuntimeError", "both arguments to matmul need to be at least 1D")
    inner = second[-2] if len(second) > 1 else second[0]
    if first[-1] is not None and inner is not None and first[-1] != inner:
        raise machine.raises("RuntimeError", f"shapes cannot be multiplied ({first[-1]} and {inner})")
    try:
        shape = broadcast(first[:-2], second[:-2])
    except ValueError as error:
        raise machine.raises("RuntimeError", str(error)) from None
    assert shape is not None
    rows = first[-2:-1] if len(first) > 1 else ()
    columns = second[-1:] if len(second) > 1 else ()
    needs = needs_any((left, right))
    return made(machine, (*shape, *rows, *columns), dtype, requires_grad=needs)


_MATRIX = 2
"""Its dimensions."""


def _is_batch_of_nothing(first: Shape, second: Shape) -> bool:
    """Matrices of which one has no elements: of what is no single one, their dtypes are not compared."""
    has_batches = len(second) > _MATRIX and len(first) >= _MATRIX
    return has_batches and any(type(size) is int and size == 0 for size in (*first, *second))


_RANKS = {"mm": (2, 2), "spmm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}
"""By name of a product: how many dimensions it takes, where that is fixed."""


def _require_ranks(machine: Machine, name: str, first: Shape, second: Shape) -> None:
    """Of a product that takes a fixed number of dimensions, and of batches of matrices that there are as many of both.

    Raises:
        Raised: they are others.
    """
    if name not in _RANKS:
        return
    if (len(first), len(second)) != _RANKS[name]:
        one, other = _RANKS[name]
        told = f"{one}D and {other}D tensors expected, but got {len(first)}D and {len(second)}D"
        raise machine.raises("RuntimeError", f"{name}: {told}")
    if name == "bmm" and first[0] is not None and second[0] is not None and first[0] != second[0]:
        raise machine.raises("RuntimeError", f"bmm: Expected as many matrices of both, got {first[0]} and {second[0]}")


@models("torch.inner", f"{TENSOR}.inner")
def inner_product(arguments: Arguments, machine: Machine) -> Value:
    """Sums over the last dimensions of both; with a tensor without any, the product.

    Raises:
        Raised: RuntimeError, where they differ in size.
    """
    first, second = _two(arguments)
    left, right = tensor_of(machine, first), tensor_of(machine, second)
    dtype = promoted(left.dtype, right.dtype) if left is not None and right is not None else None
    if left is None or right is None or left.shape is None or right.shape is None:
        return made(machine, None, dtype)
    if not left.shape or not right.shape:
        return elementwise(machine, first, second, None, joined_dtype(first, second, machine))
    sizes = (left.shape[-1], right.shape[-1])
    if None not in sizes and sizes[0] != sizes[1]:
        raise machine.raises(
            "RuntimeError", f"inner() the last dimension must match, but got {sizes[0]} and {sizes[1]}"
        )
    return made(machine, (*left.shape[:-1], *right.shape[:-1]), dtype, requires_grad=needs_any((left, right)))


@models("torch.outer", "torch.ger", f"{TENSOR}.outer")
def outer(arguments: Arguments, machine: Machine) -> Value:
    left, right = (tensor_of(machine, value) for value in _two(arguments))
    if left is None or right is None or left.shape is None or right.shape is None:
        return made(machine, (None, None), None)
    dtype, elements = promoted(left.dtype, right.dtype), None
    if left.elements is not None and right.elements is not None:
        elements = kept([a * b for a in left.elements for b in right.elements], dtype)
    return made(machine, (left.shape[0], right.shape[0]), dtype, elements)


# ---- to Python -------------------------------------------------------------------------------------------------------


_NO_SCALAR = ("RuntimeError", "a Tensor with {} elements cannot be converted to Scalar")
_NO_NUMBER = ("ValueError", "only one element tensors can be converted to Python scalars")
_REFUSED = {
    "item": _NO_SCALAR,
    "__bool__": ("RuntimeError", "Boolean value of Tensor with more than one value is ambiguous"),
    "__int__": _NO_NUMBER,
    "__float__": _NO_NUMBER,
    "__index__": ("TypeError", "only integer tensors of a single element can be converted to an index"),
}
"""What torch raises of a tensor that has another number of elements than one."""
_NO_ARRAY = ("TypeError", "only length-1 arrays can be converted to Python scalars")
_REFUSED_BY_ARRAYS = {
    "item": ("ValueError", "can only convert an array of size 1 to a Python scalar"),
    "__bool__": ("ValueError", "The truth value of an array with more than one element is ambiguous"),
    "__int__": _NO_ARRAY,
    "__float__": _NO_ARRAY,
    "__index__": ("TypeError", "only integer scalar arrays can be converted to a scalar index"),
}


@models(f"{TENSOR}.item", f"{TENSOR}.__float__", f"{TENSOR}.__int__", f"{TENSOR}.__bool__", f"{TENSOR}.__index__")
def item(arguments: Arguments, machine: Machine) -> Value:
    source, name = tensor_of(machine, arguments.positional[0]), last_name(arguments.function)
    size = count(source.shape) if source is not None else None
    if size is not None and size != 1:
        is_array = source is not None and source.cls is not None
        kind, message = _REFUSED_BY_ARRAYS[name] if is_array else _REFUSED[name]
        raise machine.raises(kind, message.format(size))
    if source is None or source.elements is None or len(source.elements) != 1:
        return number_unknown(machine, "depends on the elements of a tensor")
    kinds: dict[str, type] = {"__float__": float, "__int__": int, "__bool__": bool, "__index__": int}
    value = source.elements[0]
    return Constant(kinds[name](value) if name in kinds else value)


@models(f"{TENSOR}.__hash__", f"{TENSOR}.__repr__", f"{TENSOR}.__str__", f"{TENSOR}.__format__")
def text(arguments: Arguments, machine: Machine) -> Value:
    return number_unknown(machine, "the text of a tensor is not interpreted")


@models("torch.allclose", "torch.equal", f"{TENSOR}.allclose", f"{TENSOR}.equal")
def same(arguments: Arguments, machine: Machine) -> Value:
    return number_unknown(machine, "depends on the elements of a tensor")


__all__ = ["elementwise", "size_of"]
