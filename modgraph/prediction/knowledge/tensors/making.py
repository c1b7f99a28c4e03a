"""Making tensors: torch.empty, zeros, arange, tensor and kin; what is asked of one in Python: its shape, its numbers.

Shape and dtype are exact or not given; elements are kept where they are few. Source: the reference of `torch`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import BELOW, ListObject, TensorObject
from modgraph.prediction.domain.registry import Model, alias, known_class, models
from modgraph.prediction.domain.sizes import is_open, whole
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    SIZE,
    Address,
    Choice,
    Constant,
    Dtype,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.numpy.double_numbers import float64
from modgraph.prediction.knowledge.tensors.devices import device_of
from modgraph.prediction.knowledge.tensors.elements import (
    INTEGERS,
    MAX_ELEMENTS,
    Number,
    Shape,
    broadcast,
    count,
    kept,
    single,
)
from modgraph.prediction.knowledge.tensors.tensor_memory import share, views
from modgraph.prediction.knowledge.tensors.tensor_values import (
    DEFAULT_DTYPE,
    cause,
    default_float,
    made,
    refuse_overflow,
    refuse_truth,
    row_argument,
    shape_argument,
    shape_value,
    tensor_of,
)
from modgraph.prediction.knowledge.torch.parameters import PARAMETER, TENSOR
from modgraph.prediction.python.bounds import is_long_range
from modgraph.prediction.python.plain import is_number, number_unknown, plain

alias("torch._tensor.Tensor", TENSOR)
alias("torch.nn.Parameter", PARAMETER)
known_class("torch.Size", "builtins.tuple")


def dtype_argument(arguments: Arguments, default: str | None = "float32", name: str = "dtype") -> str | None:
    """torch's name of the `dtype=` argument; `default` where none is given, None where it is not known."""
    value = arguments.named(name, NONE)
    if value == NONE:
        return default
    return value.name if isinstance(value, Dtype) else None


def options(machine: Machine, arguments: Arguments) -> dict[str, Any]:
    """`device` and `requires_grad`, as `made` takes them."""
    needs = machine.truth(arguments.named("requires_grad", FALSE))
    device = device_of(machine, arguments.named("device", NONE))
    return {"device": device, "requires_grad": needs, "asked": needs is True}


@models("torch.get_default_dtype")
def default_dtype(arguments: Arguments, machine: Machine) -> Value:
    return machine.state.bound(DEFAULT_DTYPE) or Dtype("float32")


@models("torch.set_default_dtype")
def set_default_dtype(arguments: Arguments, machine: Machine) -> Value:
    machine.state.globals[DEFAULT_DTYPE] = arguments.get(0, "d", NONE)
    return NONE


# ---- filled with something -------------------------------------------------------------------------------------------


def _new_shape(machine: Machine, sizes: Sequence[Value]) -> Shape | None:
    """The shape of a tensor that is made.

    Raises:
        Raised: RuntimeError, where a size is negative; TypeError, where the first is True or False.
    """
    refuse_truth(machine, sizes)
    return _refuse_negative(machine, shape_argument(machine, sizes))


def _refuse_negative(machine: Machine, shape: Shape | None) -> Shape | None:
    if any(size is not None and size < 0 for size in shape or ()):
        raise machine.raises("RuntimeError", f"Trying to create tensor with negative dimension: {list(shape or ())}")
    return shape


def _filled(value: Number | None) -> Model:
    def make(arguments: Arguments, machine: Machine) -> Value:
        sizes = _sizes(arguments)
        shape = _new_shape(machine, sizes) if arguments.open is None else None
        dtype = dtype_argument(arguments, default_float(machine))
        tensor = made(machine, shape, dtype, _repeated(machine, value, shape, dtype), **options(machine, arguments))
        if shape is None:
            machine.state.change(tensor, TensorObject).unsized = arguments.open or cause(sizes)
        return tensor

    return make


def _sizes(arguments: Arguments) -> tuple[Value, ...]:
    size = arguments.keywords.get("size")
    return (size,) if size is not None else arguments.positional


def _repeated(
    machine: Machine, value: Number | None, shape: Shape | None, dtype: str | None
) -> tuple[Number, ...] | None:
    """The elements where all are that number.

    Raises:
        Raised: RuntimeError, where the dtype does not hold it.
    """
    if value is not None:
        refuse_overflow(machine, (value,), dtype)
    size = count(shape)
    if value is None or size is None or size > MAX_ELEMENTS:
        return None
    return kept([value] * size, dtype)


models("torch.zeros")(_filled(0))
models("torch.ones")(_filled(1))
for _name in ("empty", "rand", "randn"):
    models(f"torch.{_name}")(_filled(None))


@models("torch.empty_strided")
def empty_strided(arguments: Arguments, machine: Machine) -> Value:
    """`empty_strided(size, stride)`."""
    shape = _new_shape(machine, (arguments.get(0, "size", NONE),))
    return made(machine, shape, dtype_argument(arguments, default_float(machine)), **options(machine, arguments))


@models("torch.full")
def full(arguments: Arguments, machine: Machine) -> Value:
    shape = _new_shape(machine, (arguments.get(0, "size", NONE),))
    value = arguments.get(1, "fill_value", NONE)
    number = value.value if isinstance(value, Constant) else None
    default = None if number is None else _dtype_of(machine, number)
    dtype = dtype_argument(arguments, default)
    return made(machine, shape, dtype, _repeated(machine, number, shape, dtype), **options(machine, arguments))


def _dtype_of(machine: Machine, number: Any) -> str | None:
    """What torch infers from a Python number."""
    kinds = {bool: "bool", int: "int64", float: default_float(machine), complex: "complex64"}
    return kinds.get(float if isinstance(number, float) else number.__class__)  # of a size that is left open, int


@models("torch.randint")
def random_integers(arguments: Arguments, machine: Machine) -> Value:
    size = arguments.keywords.get("size", arguments.positional[-1] if arguments.positional else NONE)
    dtype = dtype_argument(arguments, "int64")
    return made(machine, _new_shape(machine, (size,)), dtype, **options(machine, arguments))


@models("torch.normal", "torch.bernoulli")
def random_like(arguments: Arguments, machine: Machine) -> Value:
    given = (arguments.get(0, "mean", NONE), arguments.get(1, "std", NONE))
    found = [tensor for tensor in (tensor_of(machine, value) for value in given) if tensor is not None]
    if found:
        if any(not is_number(value) and value != NONE and tensor_of(machine, value) is None for value in given):
            return made(machine, None, found[0].dtype)
        try:
            shape = broadcast(found[0].shape, found[-1].shape)
        except ValueError as error:
            raise machine.raises("RuntimeError", str(error)) from None
        return made(machine, shape, found[0].dtype)
    size = arguments.get(2, "size", NONE)
    return made(machine, _new_shape(machine, (size,)) if size != NONE else None, "float32")


@models("torch.randperm")
def permutation(arguments: Arguments, machine: Machine) -> Value:
    refuse_truth(machine, arguments.positional[:1])
    dtype = dtype_argument(arguments, "int64")
    return made(machine, row_argument(machine, arguments.get(0, "n", NONE)), dtype, **options(machine, arguments))


@models("torch.eye")
def identity(arguments: Arguments, machine: Machine) -> Value:
    rows = arguments.get(0, "n", NONE)
    columns = arguments.get(1, "m", NONE)
    for given in (rows, columns):
        refuse_truth(machine, (given,))
    shape = shape_argument(machine, (rows, rows if columns == NONE else columns))
    dtype, elements = dtype_argument(arguments), None
    if shape is not None and (size := count(shape)) is not None and size <= MAX_ELEMENTS:
        width = shape[1] or 1
        elements = kept([int(i // width == i % width) for i in range(size)], dtype)
    return made(machine, shape, dtype, elements, **options(machine, arguments))


@models(*(f"torch.{name}_window" for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")))
def window(arguments: Arguments, machine: Machine) -> Value:
    refuse_truth(machine, arguments.positional[:1])
    dtype = dtype_argument(arguments)
    return made(
        machine, row_argument(machine, arguments.get(0, "window_length", NONE)), dtype, **options(machine, arguments)
    )


@models(*(f"torch.{name}_like" for name in ("zeros", "ones", "empty", "full", "rand", "randn", "randint")))
def like(arguments: Arguments, machine: Machine) -> Value:
    source = tensor_of(machine, arguments.positional[0])
    if source is None:
        return made(machine, None, None)
    name = last_name(arguments.function)
    dtype = dtype_argument(arguments, source.dtype)
    fill: Number | None = {"zeros_like": 0, "ones_like": 1}.get(name)
    if name == "full_like":
        given = arguments.get(1, "fill_value", NONE)
        fill = given.value if isinstance(given, Constant) else None
    return made(
        machine, source.shape, dtype, _repeated(machine, fill, source.shape, dtype), **_options_like(machine, arguments)
    )


def _options_like(machine: Machine, arguments: Arguments) -> dict[str, Any]:
    """`options`; where no device is given, that of the first argument."""
    source = tensor_of(machine, arguments.positional[0])
    is_given = arguments.keywords.get("device", NONE) != NONE
    beside = {} if is_given else {"device": source.device if source is not None else None}
    return {**options(machine, arguments), **beside}


@models(*(f"{TENSOR}.new_{name}" for name in ("zeros", "ones", "empty", "full", "tensor")), f"{TENSOR}.new")
def new_of(arguments: Arguments, machine: Machine) -> Value:
    source = tensor_of(machine, arguments.positional[0])
    name = arguments.function.rpartition("new_")[2]
    dtype = dtype_argument(arguments, source.dtype if source is not None else None)
    rest = arguments.positional[1:]
    if name == "tensor":
        return made(machine, *_from_data(machine, rest[0], dtype)[:2], **_options_like(machine, arguments))
    if name == "full":
        rest = rest[:1]
    if not name.isidentifier() and len(rest) < 2:  # `x.new()` holds nothing; `x.new(y)` is of a size, or of data
        return made(machine, None if rest else (0,), dtype, **_options_like(machine, arguments))
    sizes = (arguments.keywords["size"],) if "size" in arguments.keywords else rest
    if name in ("zeros", "ones", "empty", "full"):
        refuse_truth(machine, sizes)
    shape = _refuse_negative(machine, shape_argument(machine, sizes))
    fill: Number | None = {"zeros": 0, "ones": 1}.get(name)
    return made(machine, shape, dtype, _repeated(machine, fill, shape, dtype), **_options_like(machine, arguments))


# ---- sequences of numbers --------------------------------------------------------------------------------------------


@models("torch.range")
def inclusive_range(arguments: Arguments, machine: Machine) -> Value:
    """With its end, and of the default dtype, whatever the bounds are."""
    bounds = [_scalar(machine, arguments.get(i, name, NONE)) for i, name in enumerate(("start", "end"))]
    step = _scalar(machine, arguments.get(2, "step", Constant(1)))
    dtype = dtype_argument(arguments, default_float(machine))
    size = None
    if step == 0:
        raise machine.raises("RuntimeError", "step must be nonzero")
    if step is not None and bounds[1] is not None:
        size = math.floor((bounds[1] - (bounds[0] or 0)) / step) + 1 if bounds[0] is not None else None
    return made(machine, (size,), dtype, **options(machine, arguments))


@models("torch.arange")
def arange(arguments: Arguments, machine: Machine) -> Value:
    """Integers give int64, a float among the bounds the default dtype."""
    named = [arguments.keywords[name] for name in ("start", "end", "step") if name in arguments.keywords]
    given = [*arguments.positional, *named]
    dtype = dtype_argument(arguments, None)
    bounds = [_scalar(machine, value) for value in given]
    if any(bound is None for bound in bounds):
        return made(machine, (None,), dtype, **options(machine, arguments))
    numbers = [bound for bound in bounds if bound is not None]
    if dtype in INTEGERS:
        numbers = [whole(number) for number in numbers]
    if "dtype" not in arguments.keywords or arguments.keywords["dtype"] == NONE:
        dtype = default_float(machine) if any(isinstance(number, float) for number in numbers) else "int64"
    elif dtype is None and any(isinstance(number, float) for number in numbers):
        return made(machine, (None,), None, **options(machine, arguments))  # of integers, the bounds are cut off first
    start, stop, step = (0, numbers[0], 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if step == 0:
        raise machine.raises("RuntimeError", "step must be nonzero")
    size = max(0, -whole(-(stop - start) // step)) if isinstance(step, int) else _ceil((stop - start) / step)
    elements = kept([start + i * step for i in range(size)], dtype) if size <= MAX_ELEMENTS else None
    found = made(machine, (size,), dtype, elements, **options(machine, arguments))
    if elements is None and dtype in INTEGERS and not any(isinstance(number, float) for number in numbers):
        last = start + (size - 1) * step
        machine.state.change(found, TensorObject).attributes[BELOW] = Constant(1 + (last if step > 0 else start))
    return found


def _ceil(number: float) -> int:
    return max(0, math.ceil(number)) if is_open(number) else max(0, -int(-number // 1))


def _scalar(machine: Machine, value: Value) -> Any:
    if isinstance(value, Constant):
        return value.value
    tensor = tensor_of(machine, value)
    if tensor is not None and tensor.elements is not None and len(tensor.elements) == 1:
        return tensor.elements[0]
    return None


@models("torch.linspace", "torch.logspace")
def linspace(arguments: Arguments, machine: Machine) -> Value:
    """From both ends towards the middle, in single precision, as torch computes it."""
    start, stop = arguments.get(0, "start", NONE), arguments.get(1, "end", NONE)
    steps, dtype = arguments.get(2, "steps", NONE), dtype_argument(arguments, default_float(machine))
    ends = (_scalar(machine, start), _scalar(machine, stop))
    refuse_truth(machine, (steps,))
    shape = row_argument(machine, steps)
    size = count(shape)
    elements = None
    is_linear = arguments.function.endswith("linspace")
    if is_linear and None not in ends and size is not None and size <= MAX_ELEMENTS and dtype in ("float32", "float64"):
        elements = tuple(_between(float(ends[0]), float(ends[1]), size, single if dtype == "float32" else float))
    return made(machine, shape, dtype, elements, **options(machine, arguments))


def _between(start: float, stop: float, size: int, cut: Callable[[float], float]) -> list[Number]:
    if size == 1:
        return [cut(start)]
    start, stop = cut(start), cut(stop)
    step = cut((stop - start) / (size - 1)) if size > 1 else 0.0
    half = size // 2
    return [cut(start + step * i) if i < half else cut(stop - step * (size - i - 1)) for i in range(size)]


# ---- from data -------------------------------------------------------------------------------------------------------


@models("torch.scalar_tensor")
def scalar(arguments: Arguments, machine: Machine) -> Value:
    """One number, a float unless it is said what else."""
    value, dtype = arguments.get(0, "s", NONE), dtype_argument(arguments, default_float(machine))
    number = value.value if isinstance(value, Constant) else None
    return made(
        machine, (), dtype, _repeated(machine, number, (), dtype) if dtype else None, **options(machine, arguments)
    )


_ARRAY = KnownClass("numpy.ndarray")


@models("torch.tensor")
@views("torch.as_tensor", "torch.asarray", "torch.from_numpy")
def from_data(arguments: Arguments, machine: Machine) -> Value:
    data = arguments.get(0, "data", NONE)
    dtype = arguments.keywords.get("dtype", arguments.positional[1] if len(arguments.positional) > 1 else NONE)
    given = dtype.name if isinstance(dtype, Dtype) else None
    is_itself = arguments.function == "torch.as_tensor" or (
        arguments.function == "torch.asarray" and arguments.keywords.get("copy", NONE) in (FALSE, NONE)
    )
    source = tensor_of(machine, data) if is_itself else None
    if source is not None and source.cls != _ARRAY and not arguments.keywords.keys() - {"dtype", "device", "copy"}:
        return machine.call(machine.get_attribute(data, "to"), (), _converting(arguments, dtype))
    shape, inferred, elements = _from_data(machine, data, given)
    known = given or (inferred if dtype == NONE else None)
    elements = elements if known is not None else None
    return made(machine, shape, known, elements, **options(machine, arguments))


def _converting(arguments: Arguments, dtype: Value) -> dict[str, Value]:
    device = arguments.keywords.get("device", NONE)
    return {"dtype": dtype} if device == NONE else {"dtype": dtype, "device": device}


def _from_data(
    machine: Machine, data: Value, dtype: str | None
) -> tuple[Shape | None, str | None, tuple[Number, ...] | None]:
    """Shape, dtype and elements of `torch.tensor(data)`; each None where it cannot be told."""
    tensor = tensor_of(machine, data)
    if tensor is not None:
        elements = tensor.elements if dtype in (None, tensor.dtype) else kept(tensor.elements or (), dtype)
        return tensor.shape, dtype or tensor.dtype, elements if tensor.elements is not None else None
    rows = _rows_that_are_one(machine, data)
    if rows is not None:
        number, row = rows
        shape, inferred, _ = _from_data(machine, row, dtype)
        return None if shape is None else (number, *shape), inferred, None
    found = plain(machine, data)
    if found is None:
        return _partial_shape(machine, data), dtype, None
    shape, flat = _nested(found[0])
    machine.makes(_WORDS_OF_AN_ELEMENT * len(flat))
    if shape is None:
        return None, dtype, None
    inferred = dtype or _common(machine, flat)
    refuse_overflow(machine, flat, inferred)
    return shape, inferred, kept(flat, inferred) if len(flat) <= MAX_ELEMENTS else None


def _rows_that_are_one(machine: Machine, data: Value) -> tuple[int, Value] | None:
    """How many rows there are, of more than elements are kept of, and the one list that all of them are."""
    listed = machine.state.find(data, ListObject)
    rows = listed.items if listed is not None and listed.open is None else ()
    row = rows[0] if len(rows) > 1 else None
    inner = machine.state.find(row, ListObject) if isinstance(row, Address) else None
    if inner is None or len(rows) * max(len(inner.items), 1) <= MAX_ELEMENTS:
        return None
    machine.spend(len(rows) // 10)
    return (len(rows), row) if isinstance(row, Address) and rows.count(row) == len(rows) else None


_WORDS_OF_AN_ELEMENT = 10
"""Words of memory that could be made while an element of a nested list is looked at."""


def _partial_shape(machine: Machine, data: Value) -> Shape | None:
    """Of a sequence with items that are not known, the sizes that are certain."""
    is_sequence = isinstance(data, TupleValue) or machine.state.find(data, ListObject) is not None
    items = machine.iterate(data) if is_sequence else None
    if items is None or isinstance(items, Unknown):
        return None
    if all(isinstance(item, (Constant, Unknown)) for item in items):
        is_flat = any(isinstance(item, Constant) for item in items)
        return (len(items),) if is_flat else None
    return None


def _nested(data: Any) -> tuple[Shape | None, list[Any]]:
    if is_long_range(data):
        return None, []
    if isinstance(data, (list, tuple, range)):
        parts = [_nested(item) for item in data]
        if not parts:
            return (0,), []
        if any(shape is None or shape != parts[0][0] for shape, _ in parts):
            return None, []
        assert parts[0][0] is not None
        return (len(parts), *parts[0][0]), [number for _, flat in parts for number in flat]
    if isinstance(data, (bool, int, float, complex)):
        return (), [data]
    return None, []


def _common(machine: Machine, numbers: Sequence[Any]) -> str | None:
    if not numbers:
        return default_float(machine)
    order = (bool, int, float, complex)
    if any(isinstance(number, float64) for number in numbers):
        return "float64" if not any(isinstance(number, complex) for number in numbers) else "complex128"
    highest = max(order.index(int if is_open(number) else type(number)) for number in numbers)
    return ("bool", "int64", default_float(machine), "complex64")[highest]


_LEGACY: dict[str, str | None] = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
    "Tensor": None,  # the default
}


@models(*(f"torch.{name}" for name in _LEGACY), f"{TENSOR}.__new__")
def legacy(arguments: Arguments, machine: Machine) -> Value:
    """`torch.Tensor(2, 3)` is empty of that size, `torch.Tensor([2, 3])` holds these numbers."""
    given = arguments.positional[1:] if arguments.function.endswith("__new__") else arguments.positional
    dtype = _LEGACY.get(last_name(arguments.function)) or default_float(machine)
    if not given:
        return made(machine, (0,), dtype, (), device="cpu", requires_grad=False)
    if _is_data(given, machine):
        shape, _, elements = _from_data(machine, given[0], dtype)
        found = made(machine, shape, dtype, elements, device="cpu", requires_grad=False)
        share(machine, found, given[0])  # of a tensor, it is another name for its memory
        return found
    return made(machine, shape_argument(machine, given), dtype, device="cpu", requires_grad=False)


@models(
    "torch.sparse_coo_tensor", *(f"torch.sparse.{name}" for name in _LEGACY if name not in ("Tensor", "BoolTensor"))
)
def sparse(arguments: Arguments, machine: Machine) -> Value:
    """`sparse_coo_tensor(indices, values, size)`; without a size it is as large as the indices say."""
    given, name = arguments.positional, last_name(arguments.function)
    values = tensor_of(machine, arguments.get(1, "values", NONE))
    dtype = _LEGACY.get(name) or dtype_argument(arguments, None if values is None else values.dtype)
    if name in _LEGACY and given and not any(_is_data((each,), machine) for each in given[:2]):
        return made(machine, shape_argument(machine, given), dtype, device="cpu", requires_grad=False)
    size = arguments.get(2, "size", NONE)
    shape = None if size == NONE else shape_argument(machine, (size,))
    return made(machine, shape, dtype, **options(machine, arguments))


def _is_data(given: Sequence[Value], machine: Machine) -> bool:
    """Numbers to hold, not sizes: any sequence but a torch.Size."""
    first = given[0]
    if isinstance(first, TupleValue):
        return first.cls != SIZE
    held = tensor_of(machine, first) is not None or machine.state.find(first, ListObject) is not None
    return held or (isinstance(first, Constant) and isinstance(first.value, range))


@models("torch.Size")
def size_object(arguments: Arguments, machine: Machine) -> Value:
    return shape_value(shape_argument(machine, arguments.positional), machine)


@models("torch.is_tensor")
def is_tensor(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.get(0, "obj", NONE)
    if isinstance(value, Choice):
        return machine.distribute(value, lambda each: _is_tensor(machine, each))
    return _is_tensor(machine, value)


def _is_tensor(machine: Machine, value: Value) -> Value:
    if isinstance(value, Unknown) or machine.guesses.doubts(value):
        return machine.unknown("whether it is a tensor is not known", value)
    return Constant(tensor_of(machine, value) is not None)


@models("torch.numel", "torch.is_floating_point")
def asked(arguments: Arguments, machine: Machine) -> Value:
    tensor = tensor_of(machine, arguments.positional[0])
    name = last_name(arguments.function)
    size = count(tensor.shape) if tensor is not None else None
    if tensor is not None and name == "is_floating_point" and tensor.dtype is not None:
        return Constant("float" in tensor.dtype)
    if name == "numel" and size is not None:
        return Constant(size)
    return number_unknown(machine, "a tensor is not known", arguments.positional[0])


__all__ = ["Address", "TensorObject", "options"]
