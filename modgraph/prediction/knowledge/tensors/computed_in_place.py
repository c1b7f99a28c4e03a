"""What is refused of a method that computes in place: what its function gives must be of the tensor's shape, and of a
kind of numbers that it holds.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain import registry
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.knowledge.tensors.demanding import (
    NOT_KNOWN,
    given,
    refuse,
    require_shape,
    require_spread,
)
from modgraph.prediction.knowledge.tensors.elements import category
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_IN_PLACE = """
    absolute acos acosh addcdiv addcmul addmm addmv addr arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan2
    atan atanh baddbmm bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor clamp clamp_max
    clamp_min clip copysign cos cosh cumprod cumsum deg2rad digamma divide erf erfc erfinv exp exp2 expm1 floor_divide
    fmod frac gcd ge greater greater_equal gt heaviside hypot i0 igamma igammac index_add index_copy index_fill
    index_put index_reduce lcm ldexp le lerp less less_equal lgamma log log10 log1p log2 logical_and logical_or
    logical_xor logit lt masked_fill masked_scatter multiply ne nextafter not_equal polygamma put rad2deg reciprocal
    remainder renorm rsqrt scatter scatter_add scatter_reduce sigmoid sin sinc sinh sqrt square sub subtract tan tanh
    tril triu true_divide xlogy eq
""".split()  # noqa: SIM905 a long table reads better as text
_PROMOTING = ("addcmul", "addcdiv", "addr", "clamp", "clip", "clamp_min", "clamp_max", "copysign", "xlogy", "ldexp")
"""Functions of which no dtype may be told, that promote the tensors they are given."""


@demands(*(f"{TENSOR}.{name}_" for name in _IN_PLACE))
def room(arguments: Arguments, machine: Machine) -> None:
    """The result of the function fits."""
    name = last_name(arguments.function).removesuffix("_")
    function = f"torch.{name}" if registry.model(f"torch.{name}") else f"{TENSOR}.{name}"
    model, target = registry.model(function), given(arguments, machine, 0, "input")
    if model is None or (target.shape is None and target.dtype is None):
        return
    asked = Arguments(function, arguments.positional, arguments.keywords, arguments.where)
    for demand in registry.demanded(function):
        demand(asked, machine)
    result = tensor_of(machine, model(asked, machine))
    if name in _PROMOTING:
        for value in (*arguments.positional[1:], *arguments.keywords.values()):
            other = tensor_of(machine, value) or NOT_KNOWN
            if name != "addr":
                require_spread(machine, name, other.shape, target.shape)
            _require_kind(machine, other.dtype, target.dtype)
    if result is None:
        return
    require_shape(machine, f"{name}_: output", result.shape, target.shape)
    _require_kind(machine, result.dtype, target.dtype)


def _require_kind(machine: Machine, dtype: str | None, held: str | None) -> None:
    if dtype is not None and held is not None and category(dtype) > category(held):
        refuse(machine, f"result type {dtype} can't be cast to the desired output type {held}")
