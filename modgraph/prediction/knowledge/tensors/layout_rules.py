"""How what functions of one tensor or several give lies in memory: as their operands do, or made anew row by row.

What no rule speaks of is not known. Source: ATen, `TensorIterator.cpp` and the `empty` of each kernel of a CPU; what is
judged by torch is in `tests/prediction/test_layouts.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import adds_to
from modgraph.prediction.domain.values import NONE, Choice, TupleValue, Unknown, Value
from modgraph.prediction.knowledge.tensors import layout
from modgraph.prediction.knowledge.tensors.layout import Operand, Steps
from modgraph.prediction.knowledge.tensors.tensor_names import OF_THREE, SAYING_OF_ONE, SAYING_OF_TWO
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR

FUNCTIONAL, LAYERS = "torch.nn.functional", "torch.nn.modules"
Rule = Callable[[Arguments, Machine, TensorObject], Steps | None]
"""The steps of a tensor that a callable has made; None where they are not known."""


def named(pattern: str, names: str) -> Iterator[str]:
    """Each of the names in its place in the pattern."""
    for name in names.split():
        yield pattern.format(name)


def both(names: str) -> Iterator[str]:
    """As functions of torch, and as methods."""
    yield from named("torch.{}", names)
    yield from named(f"{TENSOR}.{{}}", names)


def lies(rule: Rule, *names: str) -> None:
    """Has the rule asked for each tensor that these callables have made; what they only give back lies as it did."""

    def tell(arguments: Arguments, machine: Machine, found: Value) -> None:
        given = (*arguments.positional, *arguments.keywords.values())
        for each in found.items if type(found) is TupleValue else (found,):
            tensor = machine.state.find(each, TensorObject)
            if tensor is not None and each not in given:
                layout.set_steps(machine, each, rule(arguments, machine, tensor))

    adds_to(*names)(tell)


# ---- as the operands do ----------------------------------------------------------------------------------------------


def of_operands(machine: Machine, values: Iterable[Value], made: TensorObject) -> Steps | None:
    """What is computed of these element by element."""
    if made.shape is None or None in made.shape:
        return None
    operands: list[Operand] = []
    has_numbers = False
    for value in values:
        tensor = tensor_of(machine, value)
        if tensor is None and (isinstance(value, Choice) or (isinstance(value, Unknown) and not value.inert)):
            return None
        if tensor is None or tensor.shape == ():
            has_numbers = has_numbers or value != NONE
            continue
        operand = layout.operand_of(tensor)
        if operand is None or len(operand[0]) > len(made.shape):
            return None
        operands.append(operand)
    sizes = [size for size in made.shape if size is not None]
    return layout.elementwise(sizes, operands, has_numbers) if operands else layout.row_by_row(made.shape)


def as_named(*names: str, first: int = 0) -> Rule:
    """As the arguments of these names, in that order; the first of a layer is the layer."""

    def rule(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
        values = [arguments.get(place, name, NONE) for place, name in enumerate(names, first)]
        return of_operands(machine, values, made)

    return rule


def _converted(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    return None if "memory_format" in arguments.keywords else _as_first(arguments, machine, made)


def _as_two(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """As both operands, the first before the second."""
    left = arguments.get(0, "input", NONE)
    right = arguments.get(1, "other", arguments.keywords.get("exponent", NONE))
    if last_name(arguments.function) == "pow" and tensor_of(machine, left) is None:
        return layout.row_by_row(made.shape)  # of a number, to the power of each element
    is_reflected = last_name(arguments.function).startswith("__r") and not arguments.function.endswith("__rshift__")
    return of_operands(machine, (right, left) if is_reflected else (left, right), made)


def _chosen(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Of a condition and of both that it chooses from."""
    before = 0 if "condition" in arguments.keywords else 1
    condition = arguments.get(0, "condition", NONE) if before else arguments.keywords["condition"]
    values = (condition, arguments.get(before, "input", NONE), arguments.get(before + 1, "other", NONE))
    return of_operands(machine, values, made)


_as_first = as_named("input")
lies(
    _as_first,
    *both("exp log log2 log10 log1p expm1 sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh sigmoid erf"),
    *both("erfinv deg2rad rad2deg abs square sign ceil floor round trunc relu nan_to_num neg logical_not isnan isinf"),
    *both(
        "isfinite flip fliplr flipud argsort sort index_fill acosh arccos arccosh arcsin arcsinh arctan arctanh asinh"
    ),
    *both("atanh digamma erfc exp2 fix frac i0 lgamma logit negative sgn sinc hardshrink absolute msort"),
    *both(" ".join(SAYING_OF_ONE)),
    *named(f"{TENSOR}.__{{}}__", "neg invert"),
)
_ACTIVATIONS = """
    celu elu gelu hardsigmoid hardswish hardtanh leaky_relu mish relu relu6 selu sigmoid silu softplus softshrink
    softsign tanh tanhshrink threshold dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout
    normalize local_response_norm hardshrink
"""
lies(_as_first, *named(f"{FUNCTIONAL}.{{}}", _ACTIVATIONS))
_ACTIVATION_LAYERS = """
    ReLU ReLU6 GELU SiLU Sigmoid Tanh LeakyReLU ELU SELU CELU Hardtanh Hardswish Hardsigmoid Mish Softplus Softsign
    Hardshrink Softshrink Tanhshrink Threshold
"""
_DROPOUTS = "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout"
lies(
    as_named("input", first=1),
    *named(f"{LAYERS}.activation.{{}}.forward", _ACTIVATION_LAYERS),
    *named(f"{LAYERS}.dropout.{{}}.forward", _DROPOUTS),
    f"{LAYERS}.normalization.LocalResponseNorm.forward",
)
lies(as_named("input", "weight"), f"{FUNCTIONAL}.prelu")
lies(
    _converted,
    *both("clone"),
    *named(f"{TENSOR}.{{}}", "float double half bfloat16 long int short char byte bool to type_as cpu"),
    *named("torch.{}_like", "zeros ones empty full rand randn randint"),
)
lies(as_named("input", "min", "max"), *both("clamp clip clamp_min clamp_max"))
lies(as_named("input", "end", "weight"), *both("lerp"))
lies(as_named("input", "tensor1", "tensor2"), *both(" ".join(OF_THREE)))
lies(_chosen, "torch.where")
_OPERATORS = "add sub mul truediv floordiv mod and or xor"
lies(
    _as_two,
    *both("add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow maximum minimum"),
    *both("bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor lt le eq ne gt ge"),
    *both("arctan2 copysign fmax fmin gcd lcm heaviside igamma igammac logaddexp logaddexp2 nextafter xlogy"),
    *both("bitwise_left_shift bitwise_right_shift"),
    *both(" ".join(SAYING_OF_TWO)),
    *("torch.atan2", "torch.hypot"),
    *named(f"{TENSOR}.__{{}}__", f"{_OPERATORS} pow lt le eq ne gt ge lshift rshift"),
    *named(f"{TENSOR}.__r{{}}__", _OPERATORS),
)

# ---- anew ------------------------------------------------------------------------------------------------------------


def anew(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    return layout.row_by_row(made.shape)


def _largest(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Of one tensor anew; of two as these."""
    values = arguments.get(0, "input", NONE), arguments.get(1, "other", NONE)
    is_of_two = tensor_of(machine, values[1]) is not None or isinstance(values[1], (Unknown, Choice))
    return of_operands(machine, values, made) if is_of_two else layout.row_by_row(made.shape)


def _of_data(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Of numbers anew; of a tensor as that lies."""
    data = arguments.get(int(arguments.function.endswith("new_tensor")), "data", NONE)
    return of_operands(machine, (data,), made) if tensor_of(machine, data) else layout.row_by_row(made.shape)


lies(_largest, *both("max min"))
lies(_of_data, "torch.tensor", f"{TENSOR}.new_tensor")
_MADE = """
    zeros ones empty full rand randn randint randperm eye arange range linspace logspace scalar_tensor
"""
lies(
    anew,
    *named("torch.{}", _MADE),
    *named(f"{TENSOR}.new_{{}}", "zeros ones empty full"),
    *both("sum mean prod amax amin any all std var norm logsumexp argmax argmin median nanmedian mode kthvalue"),
    *both("count_nonzero nansum softmax log_softmax cumsum cumprod logcumsumexp cummax cummin topk gather scatter"),
    *both("index_select index_add masked_fill tril triu repeat_interleave tile matmul mm bmm mv"),
    *both("addmm addmv baddbmm"),
    *("torch.outer", f"{TENSOR}.outer", f"{TENSOR}.repeat", f"{TENSOR}.__rpow__", f"{TENSOR}.__matmul__"),
    *named(f"{FUNCTIONAL}.{{}}", "softmax log_softmax softmin logsigmoid rrelu layer_norm linear one_hot embedding"),
    *named(f"{FUNCTIONAL}.{{}}", "grid_sample unfold"),
    *named(f"{LAYERS}.activation.{{}}.forward", "Softmax LogSoftmax Softmin Softmax2d LogSigmoid RReLU"),
    *named(f"{LAYERS}.{{}}.forward", "normalization.LayerNorm linear.Linear sparse.Embedding fold.Unfold"),
)
