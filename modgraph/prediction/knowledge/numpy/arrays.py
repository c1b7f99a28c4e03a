"""numpy's arrays as values: a tensor inside, with numpy's own names outside. An element taken out is a number."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import Model, known_class, model, models
from modgraph.prediction.domain.values import FALSE, NONE, Constant, KnownClass, TupleValue, Value
from modgraph.prediction.knowledge.numpy.double_numbers import double
from modgraph.prediction.knowledge.tensors import making, tensor_indexing, tensor_math, tensor_parts, tensor_shapes
from modgraph.prediction.knowledge.tensors.elements import count
from modgraph.prediction.knowledge.tensors.tensor_memory import share
from modgraph.prediction.knowledge.tensors.tensor_values import made, shape_argument, tensor_of
from modgraph.prediction.knowledge.torch.gradients import are_recorded
from modgraph.prediction.python.plain import data_unknown, number_unknown, plain

ARRAY = "numpy.ndarray"
_CLASS = KnownClass(ARRAY)

known_class(ARRAY)

_TAKEN_OVER = (tensor_indexing, tensor_math, tensor_parts, tensor_shapes, making)
"""Their models have to be there before those of arrays are made of them."""
_SAME = (
    *("@shape", "@ndim", "@T", "@real", "@nbytes", "@itemsize", "__len__", "__setitem__", "__bool__", "__float__"),
    *("__int__", "__index__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__neg__", "__invert__"),
    *("__hash__", "__repr__", "__str__", "__format__", "item", "tolist"),
    *("__getitem__", "__iter__", "reshape", "flatten", "ravel", "squeeze", "fill"),
)
"""Of a tensor and of an array alike; the results of those that give tensors become arrays."""

_ARITHMETIC = tuple(
    f"__{side}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
    for side in ("", "r", "i")
)

_WHOLE = (
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "argmax",
    "argmin",
    "cumsum",
    "any",
    "all",
    "round",
    "clip",
    "std",
    "var",
)
"""The same with no argument; an axis is called otherwise."""


def _statistics() -> Any:
    import statistics  # here, as it takes long to import

    return statistics


_FOLDED: dict[str, Callable[[Sequence[Any]], Any]] = {
    "sum": sum,
    "prod": math.prod,
    "max": max,
    "min": min,
    "mean": lambda numbers: sum(numbers) / len(numbers),
    "std": lambda numbers: _statistics().pstdev(numbers),
    "var": lambda numbers: _statistics().pvariance(numbers),
}


_AVERAGES = ("mean", "std", "var")


def as_array(machine: Machine, value: Value) -> Value:
    """A tensor as an array; one element that is known as the number it is."""
    tensor = tensor_of(machine, value)
    if tensor is None:
        return value
    if tensor.shape == ():
        if tensor.elements is not None:
            number = tensor.elements[0]
            return Constant(double(number) if tensor.dtype == "float64" else number)
        return number_unknown(machine, "an element of an array is not known")
    result = made(machine, tensor.shape, tensor.dtype, tensor.elements)
    machine.state.change(result, TensorObject).cls = _CLASS
    share(machine, result, value)
    return result


@models("torch.Tensor.numpy", "torch.Tensor.__array__")
def array_of(arguments: Arguments, machine: Machine) -> Value:
    """An array that has the memory of the tensor; none of one that needs a gradient, where operations are recorded."""
    tensor = tensor_of(machine, arguments.positional[0])
    forced = arguments.function.endswith("__") or machine.truth(arguments.get(1, "force", FALSE))
    recorded = are_recorded(machine)
    if tensor is not None and tensor.requires_grad and forced is False and recorded is not False:
        message = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        if recorded:
            raise machine.raises("RuntimeError", message)
        machine.may_refuse("RuntimeError")
    return as_array(machine, arguments.positional[0])


def _part(machine: Machine, arguments: Arguments) -> tuple[float, ...] | None:
    """The elements that a slice of a row of known ones takes."""
    row = tensor_of(machine, arguments.positional[0])
    key = plain(machine, arguments.positional[1]) if len(arguments.positional) == 2 else None
    if row is None or row.elements is None or row.shape is None or len(row.shape) != 1 or key is None:
        return None
    return row.elements[key[0]] if isinstance(key[0], slice) else None


def _as_tensor(name: str, *, bare: bool = False) -> Model:
    inner = f"torch.Tensor.{name}"

    def answer(arguments: Arguments, machine: Machine) -> Value:
        known = model(inner)
        array = tensor_of(machine, arguments.positional[0]) if bare and len(arguments.positional) == 1 else None
        if name in _FOLDED and array is not None and array.elements and not arguments.keywords:
            number = _FOLDED[name](array.elements)
            return Constant(double(float(number)) if array.dtype == "float64" or name in _AVERAGES else number)
        if bare and name in _AVERAGES:
            return number_unknown(machine, f"ndarray.{name} of something not known")
        part = _part(machine, arguments) if name == "__getitem__" else None
        if part is not None:
            row = tensor_of(machine, arguments.positional[0])
            made_of = new_array(machine, (len(part),), row.dtype if row is not None else None, part)
            share(machine, made_of, arguments.positional[0])
            return made_of
        if known is None or (bare and (len(arguments.positional) > 1 or arguments.keywords)):
            return data_unknown(machine, "numpy", f"ndarray.{name} with these arguments is not interpreted")
        operands = arguments.positional if "truediv" not in name else _in_double(machine, arguments.positional)
        given = Arguments(inner, operands, arguments.keywords, arguments.where, arguments.open)
        result = known(given, machine)
        if name == "__iter__":
            items = machine.iterate(result)
            if isinstance(items, list):
                return machine.call(
                    KnownClass("builtins.iter"), (TupleValue(tuple(as_array(machine, i) for i in items)),)
                )
        return as_array(machine, _as_precise(machine, given, result))

    return answer


def _in_double(machine: Machine, operands: tuple[Value, ...]) -> tuple[Value, ...]:
    """Of a division: numpy gives whole numbers of 32 and 64 bits in double precision (NumPy, `true_divide`)."""
    arrays = [tensor_of(machine, each) for each in operands]
    if not all(each is None or each.dtype in ("int64", "int32") for each in arrays):
        return operands
    return tuple(
        value
        if array is None
        else made(
            machine, array.shape, "float64", None if array.elements is None else tuple(map(float, array.elements))
        )
        for value, array in zip(operands, arrays, strict=True)
    )


def _as_precise(machine: Machine, arguments: Arguments, result: Value) -> Value:
    """What torch computes in single precision because no operand is floating, numpy computes in double."""
    given = [tensor_of(machine, value) for value in arguments.positional]
    tensor = tensor_of(machine, result)
    if tensor is not None and tensor.dtype == "float32" and all(a is None or a.dtype != "float32" for a in given):
        return made(machine, tensor.shape, None if any(a and a.dtype is None for a in given) else "float64")
    return result


for _name in (*_SAME, *_ARITHMETIC):
    if model(f"torch.Tensor.{_name}") is not None:
        models(f"{ARRAY}.{_name}")(_as_tensor(_name))
for _name in _WHOLE:
    models(f"{ARRAY}.{_name}")(_as_tensor(_name, bare=_name not in ("round", "clip")))


@models(f"{ARRAY}.@size")
def size(arguments: Arguments, machine: Machine) -> Value:
    array = tensor_of(machine, arguments.positional[0])
    number = count(array.shape) if array is not None else None
    return number_unknown(machine, "the size of an array is not known") if number is None else Constant(number)


@models(f"{ARRAY}.copy", f"{ARRAY}.astype", f"{ARRAY}.view")
def copied(arguments: Arguments, machine: Machine) -> Value:
    array = tensor_of(machine, arguments.positional[0])
    assert array is not None
    dtype, elements = array.dtype, array.elements
    if len(arguments.positional) > 1 or arguments.keywords:
        wanted = arguments.get(1, "dtype", NONE)
        dtype = dtype_named(wanted)
        whole = _python_type(dtype)
        elements = None if whole is None or elements is None else tuple(whole(element) for element in elements)
    result = made(machine, array.shape, dtype, elements)
    machine.state.change(result, TensorObject).cls = _CLASS
    if arguments.function.endswith("view"):
        share(machine, result, arguments.positional[0])
    return result


def dtype_named(value: Value) -> str | None:
    """float32 of np.float32, "float32" or float; None where it is not known."""
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value
    name = last_name(value.name) if isinstance(value, KnownClass) else ""
    python = {"float": "float64", "int": "int64", "bool": "bool", "bool_": "bool"}
    return python.get(name, name) or None


def _python_type(dtype: str | None) -> type | None:
    for prefix, kind in (("float", float), ("int", int), ("uint", int), ("bool", bool)):
        if dtype is not None and dtype.startswith(prefix):
            return kind
    return None


_MAX_ROW = 64
"""Numbers of a text that are kept."""
_FILLED = {"zeros": 0.0, "ones": 1.0, "empty": None, "full": None}


@models(*(f"numpy.{name}" for name in _FILLED))
def filled(arguments: Arguments, machine: Machine) -> Value:
    shape = shape_argument(machine, (arguments.get(0, "shape", NONE),))
    name = last_name(arguments.function)
    given = arguments.keywords.get("dtype", arguments.positional[1] if len(arguments.positional) == 2 else NONE)
    dtype = "float64" if given == NONE or name == "full" else dtype_named(given)
    number, wanted = _FILLED[name], count(shape)
    elements = (number,) * wanted if number is not None and wanted is not None and wanted <= 64 else None
    if elements is not None and _python_type(dtype) is int:
        elements = tuple(int(element) for element in elements)
    return new_array(machine, shape, None if name == "full" else dtype, elements)


_TEXTS: dict[str | None, tuple[re.Pattern[str], Callable[[str], float]]] = {
    "int64": (re.compile(r"\s*[+-]?\d{1,18}\s*"), int),
    "float64": (re.compile(r"\s*[+-]?(?:\d{1,18}\.?\d{0,18}|\.\d{1,18})(?:[eE][+-]?\d{1,2})?\s*"), float),
}
"""What a number looks like, and what it is, by the type of the array."""


@models("numpy.fromstring")
def of_text(arguments: Arguments, machine: Machine) -> Value:
    """The numbers of a text with something between them: `np.fromstring("4-3-2", dtype=int, sep="-")`."""
    unknown = data_unknown(machine, "numpy", "numpy.fromstring of something not known", *arguments.positional)
    given = [plain(machine, each) for each in (arguments.get(0, "string", NONE), arguments.get(3, "sep", NONE))]
    others = arguments.keywords.keys() - {"string", "dtype", "sep"}
    if None in given or others or len(arguments.positional) > 2 or arguments.open is not None:
        return unknown
    text, between = (each[0] for each in given if each is not None)
    dtype = dtype_named(arguments.get(1, "dtype", KnownClass("builtins.float")))
    if dtype not in _TEXTS or not isinstance(text, str) or not isinstance(between, str) or not between.strip():
        return unknown
    pattern, number = _TEXTS[dtype]
    parts = text.split(between.strip())
    if len(parts) > _MAX_ROW or not all(pattern.fullmatch(each) for each in parts):
        return unknown
    return new_array(machine, (len(parts),), dtype, tuple(map(number, parts)))


def new_array(
    machine: Machine, shape: tuple[int | None, ...] | None, dtype: str | None, elements: tuple[float, ...] | None = None
) -> Value:
    result = made(machine, shape, dtype, elements)
    machine.state.change(result, TensorObject).cls = _CLASS
    return result


@models(
    *(f"numpy.random.{name}" for name in ("rand", "randn")),
    *(f"numpy.random.{name}" for name in ("random", "uniform", "normal", "standard_normal")),
)
def random_array(arguments: Arguments, machine: Machine) -> Value:
    """Numbers by chance, in the shape that is asked for."""
    name = last_name(arguments.function)
    if name in ("rand", "randn"):
        shape = shape_argument(machine, arguments.positional) if arguments.positional else ()
    else:
        place = 0 if name in ("random", "standard_normal") else 2
        wanted = arguments.get(place, "size", NONE)
        shape = () if wanted == NONE else shape_argument(machine, (wanted,))
    if shape == ():
        return number_unknown(machine, f"depends on numpy.random.{name}")
    return new_array(machine, shape, "float64")
