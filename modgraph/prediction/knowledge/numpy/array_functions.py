"""Functions of numpy that give arrays whose shape is known though their numbers may not be: joined, or one by one."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ListObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Constant, KnownClass, KnownFunction, TupleValue, Unknown, Value
from modgraph.prediction.knowledge.numpy.arrays import ARRAY, as_array, dtype_named, new_array
from modgraph.prediction.knowledge.tensors.elements import Shape, broadcast
from modgraph.prediction.knowledge.tensors.tensor_values import shape_argument, tensor_of
from modgraph.prediction.python.plain import data_unknown, is_number

ELEMENTWISE = frozenset(
    {
        *("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tanh", "ceil", "floor", "rint", "abs", "round", "clip"),
        *("power", "mod", "add", "subtract", "multiply", "divide", "maximum", "minimum", "cumsum", "cumprod"),
    }
)
"""Functions of the operands' joint shape."""

_TAKES_ONE = frozenset({"clip", "round", "cumsum", "cumprod"})
"""Those of them whose shape is that of the first argument."""

_ROWS = frozenset({"cumsum", "cumprod"})
"""Those of them that make one row of anything else."""


def one_by_one(machine: Machine, name: str, arguments: Arguments) -> Value | None:
    """The array that an elementwise function gives of arrays not all of whose numbers are known; None for no arrays."""
    operands = arguments.positional[:1] if name in _TAKES_ONE else arguments.positional
    arrays = [tensor_of(machine, value) for value in operands]
    options = set(arguments.keywords) - ({"axis"} if name in _ROWS else set())
    if all(found is None for found in arrays) or options or arguments.open is not None:
        return None
    if name in _ROWS and not _all_flat(machine, list(operands)):
        return None
    shape: Shape | None = ()
    for value, found in zip(operands, arrays, strict=True):
        own = found.shape if found is not None else () if is_number(value) else None
        try:
            shape = broadcast(shape, own)
        except ValueError:
            return None
    doubles = all(found is None or found.dtype == "float64" for found in arrays)
    return new_array(machine, shape, "float64" if doubles else None)


def _arrays(machine: Machine, values: list[Value]) -> list[Value] | None:
    """Each as an array; None where one is none and cannot be made one."""
    found: list[Value] = []
    for value in values:
        if tensor_of(machine, value) is None:
            is_row = isinstance(value, (Constant, TupleValue)) or machine.state.find(value, ListObject) is not None
            value = machine.call(KnownFunction("numpy.array"), (value,)) if is_row else value
            if isinstance(value, Constant):
                value = machine.call(KnownFunction("torch.tensor"), (value,))
        if tensor_of(machine, value) is None:
            return None
        found.append(value)
    return found


@models(*(f"numpy.{name}" for name in ("concatenate", "stack", "append", "hstack", "vstack")))
def joined(arguments: Arguments, machine: Machine) -> Value:
    """Arrays behind each other, or beside each other in a new dimension."""
    name = last_name(arguments.function)
    unknown = data_unknown(machine, "numpy", f"numpy.{name} of something not known", *arguments.positional)
    axis = arguments.get(2 if name == "append" else 1, "axis", NONE if name == "append" else Constant(0))
    if name == "append":
        given: list[Value] | Unknown = list(arguments.positional[:2])
    else:
        given = machine.iterate(arguments.get(0, "arrays", arguments.get(0, "tup", NONE)))
    if isinstance(given, Unknown) or arguments.open is not None or set(arguments.keywords) - {"axis"}:
        return unknown
    arrays = _arrays(machine, given)
    if arrays is None or (name in ("hstack", "vstack") and not _all_flat(machine, arrays)):
        return unknown
    if name == "append" and axis == NONE:
        arrays = [machine.call(KnownFunction("torch.Tensor.flatten"), (each,)) for each in arrays]
    if axis == NONE:
        axis = Constant(0)
    kinds = {tensor.dtype for tensor in (tensor_of(machine, each) for each in arrays) if tensor is not None}
    function = "stack" if name in ("stack", "vstack") else "cat"
    along = Constant(0) if name in ("hstack", "vstack") else axis
    result = machine.call(KnownFunction(f"torch.{function}"), (machine.allocate(ListObject(arrays)), along))
    tensor = tensor_of(machine, result)
    if tensor is None:
        return unknown
    changed = machine.state.change(result, TensorObject)  # type: ignore[arg-type]  # a tensor is on the heap
    if len(kinds) > 1:
        changed.dtype, changed.elements = (
            ("float64", None) if kinds <= {"float64", "int64", "float32"} else (None, None)
        )
    changed.cls = KnownClass(ARRAY)
    return as_array(machine, result)


def _all_flat(machine: Machine, arrays: list[Value]) -> bool:
    found = [tensor_of(machine, each) for each in arrays]
    return all(tensor is not None and tensor.shape is not None and len(tensor.shape) == 1 for tensor in found)


@models("numpy.meshgrid", "numpy.einsum", "numpy.outer")
def as_torch_does(arguments: Arguments, machine: Machine) -> Value:
    """What torch has under the same name; of axes, "xy" is numpy's own order."""
    name = last_name(arguments.function)
    rows = arguments.positional[1:] if name == "einsum" else arguments.positional
    arrays = _arrays(machine, list(rows))
    keywords = {"indexing": arguments.keywords.get("indexing", Constant("xy"))} if name == "meshgrid" else {}
    if arrays is None or set(arguments.keywords) - {"indexing"} or arguments.open is not None:
        return data_unknown(machine, "numpy", f"numpy.{name} of something not known", *arguments.positional)
    given = (*arguments.positional[: len(arguments.positional) - len(rows)], *arrays)
    result = machine.call(KnownFunction(f"torch.{name}"), given, keywords)
    if isinstance(result, TupleValue):
        return TupleValue(tuple(as_array(machine, each) for each in result.items))
    kinds = {tensor.dtype for tensor in (tensor_of(machine, each) for each in arrays) if tensor is not None}
    tensor = tensor_of(machine, result)
    if tensor is None:
        return data_unknown(machine, "numpy", f"numpy.{name} of something not known")
    kind = tensor.dtype if len(kinds) == 1 else "float64" if kinds <= {"float64", "int64", "float32"} else None
    return as_array(machine, new_array(machine, tensor.shape, kind))


@models("numpy.triu", "numpy.tril")
def triangle(arguments: Arguments, machine: Machine) -> Value:
    """One half of a matrix, the rest zero."""
    matrix = tensor_of(machine, arguments.get(0, "m", NONE))
    if matrix is None or matrix.shape is None or len(matrix.shape) < 2:
        return data_unknown(machine, "numpy", f"{arguments.function} of something not known", *arguments.positional)
    return new_array(machine, matrix.shape, matrix.dtype)


@models("numpy.eye", "numpy.identity")
def unit_matrix(arguments: Arguments, machine: Machine) -> Value:
    """Ones on a diagonal."""
    rows = arguments.get(0, "N", arguments.keywords.get("n", NONE))
    columns = arguments.get(1, "M", NONE) if arguments.function.endswith("eye") else NONE
    shape = shape_argument(machine, (rows, rows if columns == NONE else columns))
    dtype = arguments.keywords.get("dtype", NONE)
    plainly = len(arguments.positional) <= (2 if arguments.function.endswith("eye") else 1)
    return new_array(machine, shape, None if not plainly else "float64" if dtype == NONE else dtype_named(dtype))
