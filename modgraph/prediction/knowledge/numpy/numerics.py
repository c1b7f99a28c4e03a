"""numpy, as far as sizes and rates are computed with it: arrays are lists of numbers, what is random is unknown."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable
from functools import reduce
from typing import Any

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_VALUE_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import Model, constant, known_class, models
from modgraph.prediction.domain.values import NONE, Constant, Dtype, KnownFunction, TupleValue, Unknown, Value
from modgraph.prediction.knowledge.numpy.array_functions import ELEMENTWISE, one_by_one
from modgraph.prediction.knowledge.numpy.arrays import as_array, dtype_named
from modgraph.prediction.knowledge.numpy.double_numbers import double, float64, single_kind
from modgraph.prediction.knowledge.tensors.elements import power, single
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.prediction.python.bounds import too_much, work
from modgraph.prediction.python.plain import (
    TOO_MANY,
    Looking,
    data_unknown,
    is_number,
    lifted,
    number_unknown,
    plain,
)

for _name in ("float32", "float16", "int64", "int32", "uint8", "bool_", "integer"):
    known_class(f"numpy.{_name}")
constant("numpy.newaxis", NONE)
constant("numpy.pi", Constant(math.pi))
constant("numpy.e", Constant(math.e))
constant("numpy.inf", Constant(math.inf))
constant("numpy.nan", Constant(math.nan))


def _each(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function of a number, or of each number in a nested list."""

    def apply(value: Any) -> Any:
        return [apply(item) for item in value] if isinstance(value, (list, tuple)) else function(value)

    return apply


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def _unique(numbers: list[Any], with_counts: bool) -> Any:
    counts = Counter(numbers)
    found = sorted(counts)
    return (found, [counts[number] for number in found]) if with_counts else found


def _fitting(number: Any) -> Any:
    """The number, if an array of numpy can hold it.

    Raises:
        OverflowError: it is an integer of more than 64 bits.
    """
    if isinstance(number, int) and number.bit_length() > 64:
        raise OverflowError(number.bit_length())
    return number


def _times(left: Any, right: Any) -> Any:
    return _fitting(left * right)


def _repeat(value: Any, times: Any) -> list[Any]:
    numbers = _flat(value)
    if len(numbers) * operator.index(times) > MAX_VALUE_SIZE:
        raise ValueError(times)
    return [number for number in numbers for _ in range(operator.index(times))]


def _round(number: Any, decimals: int) -> float:
    if abs(decimals) > 400:
        raise ValueError(decimals)
    return float(round(number, decimals))


def _pairwise(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """The function of two numbers, of a row and a number, or of two rows item by item; the flatter is repeated."""
    depths = _depth(left), _depth(right)
    if depths[0] == depths[1] > 0:
        return [_pairwise(function, a, b) for a, b in zip(left, right, strict=True)]
    if depths[0] > depths[1]:
        return [_pairwise(function, each, right) for each in left]
    if depths[0] < depths[1]:
        return [_pairwise(function, left, each) for each in right]
    return function(left, right)


def _depth(value: Any) -> int:
    """How many dimensions an array of these nested sequences has."""
    depth = 0
    while isinstance(value, (list, tuple)):
        depth, value = depth + 1, value[0] if value else None
    return depth


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [value]
    return [number for item in value for number in _flat(item)]  # a range in it is no number, and not walked through


def _linspace(start: float, stop: float, num: int = 50, endpoint: bool = True) -> list[float]:
    """numpy's own formula: start + i * step, and the end exactly."""
    if num <= 0:
        return []
    if num > MAX_VALUE_SIZE:
        raise ValueError(num)
    parts = num - 1 if endpoint else num
    step = (stop - start) / parts if parts else 0.0
    numbers = [start + i * step for i in range(num)]
    if endpoint and num > 1:
        numbers[-1] = float(stop)
    return [float(number) for number in numbers]


def _arange(*bounds: float) -> list[float]:
    start, stop, step = (0, *bounds, 1)[:3] if len(bounds) == 1 else (*bounds, 1)[:3]
    count = max(0, math.ceil((stop - start) / step))
    if count > MAX_VALUE_SIZE:
        raise ValueError(count)
    return [start + i * step for i in range(count)]


def _cumulative(add: Callable[[Any, Any], Any]) -> Callable[..., list[Any]]:
    def apply(value: Any, axis: int | None = None) -> list[Any]:
        if axis is not None and (_depth(value) != 1 or axis not in (0, -1)):
            raise ValueError(axis)
        totals: list[Any] = []
        for number in _flat(value):
            totals.append(add(totals[-1], number) if totals else number)
        return totals

    return apply


def _sorted(value: Any) -> list[Any]:
    """Along the last dimension."""
    return [_sorted(item) for item in value] if _depth(value) > 1 else sorted(value)


def _single(number: Any) -> float:
    return single(float(number))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "prod": lambda value: reduce(_times, _flat(value), 1),
    "sum": lambda value: sum(_flat(value)),
    "max": lambda value: max(_flat(value)),
    "min": lambda value: min(_flat(value)),
    "amax": lambda value: max(_flat(value)),
    "amin": lambda value: min(_flat(value)),
    "mean": lambda value: sum(_flat(value)) / len(_flat(value)),
    "all": lambda value: all(_flat(value)),
    "any": lambda value: any(_flat(value)),
    "atleast_1d": lambda value: (
        value if isinstance(value, list) else _listed(value if isinstance(value, tuple) else [value])
    ),
    "repeat": _repeat,
    "maximum": lambda left, right: _pairwise(max, left, right),
    "minimum": lambda left, right: _pairwise(min, left, right),
    "argmax": lambda value: _flat(value).index(max(_flat(value))),
    "argmin": lambda value: _flat(value).index(min(_flat(value))),
    "cumsum": _cumulative(lambda left, right: left + right),
    "cumprod": _cumulative(_times),
    "linspace": _linspace,
    "arange": _arange,
    "sqrt": _each(math.sqrt),
    "exp": _each(math.exp),
    "log": _each(math.log),
    "log2": _each(math.log2),
    "log10": _each(math.log10),
    "ceil": _each(lambda number: float(math.ceil(number))),
    "floor": _each(lambda number: float(math.floor(number))),
    "abs": _each(abs),
    "round": lambda value, decimals=0: _each(lambda number: _round(number, decimals))(value),
    "rint": _each(lambda number: float(round(number))),
    "power": lambda base, exponent: _pairwise(power, base, exponent),
    "mod": lambda left, right: _pairwise(operator.mod, left, right),
    "gcd": math.gcd,
    "isscalar": lambda value: not isinstance(value, (list, tuple)),
    "array": lambda value: _listed(value),
    "asarray": lambda value: _listed(value),
    "unique": lambda value, return_counts=False: _unique(_flat(value), return_counts),
    "add": lambda left, right: _pairwise(operator.add, left, right),
    "subtract": lambda left, right: _pairwise(operator.sub, left, right),
    "multiply": lambda left, right: _pairwise(_times, left, right),
    "divide": lambda left, right: _pairwise(operator.truediv, left, right),
    "sort": _sorted,
    "sin": _each(math.sin),
    "cos": _each(math.cos),
    "tanh": _each(math.tanh),
    "int64": int,
    "int32": int,
    "float64": float64,
    "float32": lambda value: _single(value) if isinstance(value, (int, float)) else _each(_single)(value),
    "clip": lambda value, low, high: _each(lambda number: min(max(number, low), high))(value),
}


def _given(machine: Machine, value: Value, looking: Looking) -> tuple[Any] | None:
    """A number, or an array as nested lists, in a tuple of one; None where not known."""
    array_ = tensor_of(machine, value)
    if array_ is None:
        return plain(machine, value, looking)
    if array_.elements is None or array_.shape is None or None in array_.shape:
        return None
    nested: list[Any] = list(array_.elements)
    for size in reversed(array_.shape[1:]):
        assert size is not None
        nested = [nested[start : start + size] for start in range(0, len(nested), size or 1)]
    return (nested[0] if array_.shape == () else nested,)


def _array(machine: Machine, numbers: list[Any], wanted: Value = NONE) -> Value:
    """An array computes, and is taken apart, like a tensor; `wanted` is the `dtype` that was asked for."""
    named = _kind_of(_flat(numbers)) if wanted == NONE else dtype_named(wanted)
    dtype = Dtype(named) if named is not None else number_unknown(machine, "the dtype of an array is not known", wanted)
    return as_array(machine, machine.call(KnownFunction("torch.tensor"), (lifted(machine, numbers), dtype)))


def _kind_of(numbers: list[Any]) -> str:
    """The dtype of an array of Python's numbers."""
    kinds = {type(number) for number in numbers}
    return "bool" if kinds == {bool} else "int64" if kinds and kinds <= {int, bool} else "float64"


def _kept_kind(machine: Machine, name: str, arguments: Arguments, numbers: list[Any]) -> Value:
    """The dtype of a result, to which arrays of others than int64 and float64 may give theirs; NONE for none such."""
    arrays = [machine.state.find(value, TensorObject) for value in arguments.positional]
    found = {array_.dtype for array_ in arrays if array_ is not None} - {"int64", "float64", "bool"}
    if not found or _kind_of(numbers) == "bool" or any(a is not None and a.dtype == "float64" for a in arrays):
        return NONE
    kind = found.pop()
    alone = not found and all(a is None or a.dtype == kind for a in arrays)
    if alone and kind is not None:
        floats, whole = kind.startswith("float"), name in ELEMENTWISE and "int" in kind
        if (floats and _kind_of(numbers) == "float64") or (whole and _kind_of(numbers) == "int64"):
            return Constant(kind)
    return number_unknown(machine, "the dtype of an array is not known")


def _data_unknown(machine: Machine, reason: str, *causes: Value) -> Unknown:
    return data_unknown(machine, "numpy", reason, *causes)


def _folded(name: str, function: Callable[..., Any]) -> Model:
    """The function where every argument is known; unknown with options it is not modelled for (`axis`, `dtype`)."""

    def fold(arguments: Arguments, machine: Machine) -> Value:
        looking = Looking()
        values = [_given(machine, value, looking) for value in arguments.positional]
        keywords = {key: plain(machine, value) for key, value in arguments.keywords.items() if key != "dtype"}
        if arguments.open is not None or any(found is None for found in (*values, *keywords.values())):
            if looking.is_over:
                return number_unknown(machine, TOO_MANY)
            found = one_by_one(machine, name, arguments) if name in ELEMENTWISE else None
            make = number_unknown if all(map(is_number, arguments.positional)) else _data_unknown
            return found or make(machine, f"numpy.{name} of something not known", *arguments.positional)
        given = [found[0] for found in values if found is not None]
        machine.makes(work(f"numpy.{name}", given))
        try:
            for number in (number for one in given for number in _flat(one)):
                _fitting(number)
            result = function(*given, **{key: found[0] for key, found in keywords.items() if found is not None})
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            machine.may_fail()
            return _data_unknown(machine, f"numpy.{name} with these arguments is not interpreted")
        if isinstance(result, tuple):
            return TupleValue(tuple(_array(machine, part) for part in result))
        wanted = arguments.keywords.get("dtype", NONE)
        kept = _kept_kind(machine, name, arguments, _flat(result)) if wanted == NONE else wanted
        if isinstance(result, list):
            return _array(machine, result, kept)
        return lifted(machine, double(result) if kept == NONE and name != "float32" else single_kind(result))

    return fold


for _name, _function in _FUNCTIONS.items():
    models(f"numpy.{_name}")(_folded(_name, _function))


@models("builtins.int.item", "builtins.float.item", "builtins.int.tolist", "builtins.float.tolist")
def number_itself(arguments: Arguments, machine: Machine) -> Value:
    """Of a number taken out of an array, which is kept as Python's own."""
    value = arguments.positional[0]
    return Constant(single_kind(value.value)) if isinstance(value, Constant) else value


@models("builtins.int.astype", "builtins.float.astype")
def converted(arguments: Arguments, machine: Machine) -> Value:
    """The same of another kind."""
    value, wanted = arguments.positional[0], dtype_named(arguments.get(1, "dtype", NONE))
    for kinds, kind in ((("float64",), float64), (("float32",), _single), (("int64", "int32"), int), (("bool",), bool)):
        if wanted in kinds and isinstance(value, Constant):
            return Constant(kind(value.value))
    return number_unknown(machine, "a number of numpy of another kind is not known", value)


@models("builtins.int.round", "builtins.float.round")
def rounded(arguments: Arguments, machine: Machine) -> Value:
    """Of a number of numpy, which stays what it is."""
    value, places = arguments.positional[0], arguments.get(1, "decimals", Constant(0))
    if not isinstance(value, Constant) or not isinstance(places, Constant) or too_much("round", (0, places.value)):
        return number_unknown(machine, "a rounded number is not known", value, places)
    return Constant(double(type(single_kind(value.value))(round(single_kind(value.value), places.value))))


def _random(name: str) -> Model:
    def answer(arguments: Arguments, machine: Machine) -> Value:
        is_one = name == "randint" and len(arguments.positional) < 3 and "size" not in arguments.keywords
        return (number_unknown if is_one else _data_unknown)(machine, f"depends on numpy.random.{name}")

    return answer


for _name in (
    *("randint", "choice", "permutation"),
    *("seed", "default_rng", "RandomState"),
):
    models(f"numpy.random.{_name}")(_random(_name))
