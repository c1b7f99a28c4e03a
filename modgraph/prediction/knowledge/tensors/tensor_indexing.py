"""Tensors that say where something stands, or are filled at places: indices, one-hot, padding, `x[...] = y`."""

from __future__ import annotations

import itertools
from typing import Any

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import FALSE, NONE, Address, Constant, TupleValue, Value
from modgraph.prediction.knowledge.tensors.demanding import require_spread
from modgraph.prediction.knowledge.tensors.elements import (
    MAX_ELEMENTS,
    Number,
    Shape,
    count,
    kept,
    promoted,
    rounded,
    strides,
)
from modgraph.prediction.knowledge.tensors.tensor_math import elementwise
from modgraph.prediction.knowledge.tensors.tensor_memory import overwrite, views
from modgraph.prediction.knowledge.tensors.tensor_parts import indices_of, shape_at
from modgraph.prediction.knowledge.tensors.tensor_shapes import both
from modgraph.prediction.knowledge.tensors.tensor_values import PAIR, made, refuse_overflow, size_of, tensor_of
from modgraph.prediction.knowledge.torch.gradients import refuse_on_leaf, written_to
from modgraph.prediction.knowledge.torch.parameters import TENSOR
from modgraph.prediction.python.plain import plain


@models(f"{TENSOR}.__setitem__")
def set_item(arguments: Arguments, machine: Machine) -> Value:
    """Elements stay known where the places and what is put there are."""
    address, key, new = arguments.positional[:3]
    assert isinstance(address, Address)
    tensor = tensor_of(machine, address)
    assert tensor is not None
    refuse_on_leaf(machine, address)
    keys = list(key.items) if isinstance(key, TupleValue) else [key]
    _require_fitting(machine, tensor, keys, new)
    written_to(machine, address, (new,))
    overwrite(machine, address, _with_items(machine, tensor, keys, new))
    return NONE


def _require_fitting(machine: Machine, tensor: TensorObject, keys: list[Value], new: Value) -> None:
    """What is put at numbers and slices has the size of what is there, or spreads to it; ones in front do not count.

    Raises:
        Raised: RuntimeError.
    """
    source = tensor_of(machine, new)
    if tensor.shape is None or source is None or source.shape is None or any(isinstance(k, Address) for k in keys):
        return
    ahead = next((place for place, size in enumerate(source.shape) if size != 1), len(source.shape))
    require_spread(machine, "__setitem__", source.shape[ahead:], shape_at(machine, tensor.shape, keys))


def _with_items(machine: Machine, tensor: TensorObject, keys: list[Value], new: Value) -> tuple[Number, ...] | None:
    taken = indices_of(tensor, keys) if tensor.elements is not None and NONE not in keys else None
    if taken is None or tensor.elements is None:
        return None
    steps = strides([size or 0 for size in tensor.shape or ()])
    places = [sum(i * step for i, step in zip(at, steps, strict=True)) for at in itertools.product(*taken)]
    source = tensor_of(machine, new)
    given: tuple[Number, ...] | None = source.elements if source is not None else None
    if isinstance(new, Constant) and isinstance(new.value, (bool, int, float)):
        refuse_overflow(machine, (new.value,), tensor.dtype)
        given = (new.value,)
    if given is None or len(given) not in (1, len(places)):
        return None
    found = list(tensor.elements)
    for place, value in zip(places, given * len(places) if len(given) == 1 else given, strict=False):
        element = rounded(value, tensor.dtype)
        if element is None:
            return None
        found[place] = element
    return tuple(found)


# ---- indices ---------------------------------------------------------------------------------------------------------


@models("torch.triu_indices", "torch.tril_indices")
def triangle(arguments: Arguments, machine: Machine) -> Value:
    sizes = [size_of(arguments.get(place, name, NONE)) for place, name in enumerate(("row", "col"))]
    offset = size_of(arguments.get(2, "offset", Constant(0)))
    if sizes[0] is None or sizes[1] is None or offset is None or sizes[0] * sizes[1] > MAX_ELEMENTS:
        return made(machine, (2, None), "int64")
    upper = arguments.function.endswith("triu_indices")
    found = [
        (row, column)
        for row in range(sizes[0])
        for column in range(sizes[1])
        if (column - row >= offset if upper else column - row <= offset)
    ]
    elements = kept([row for row, _ in found] + [column for _, column in found], "int64")
    return made(machine, (2, len(found)), "int64", elements)


@models("torch.bucketize", "torch.searchsorted", f"{TENSOR}.searchsorted")
def places_of(arguments: Arguments, machine: Machine) -> Value:
    """The shape of what is looked for."""
    position = 0 if arguments.function.endswith("bucketize") else 1
    given = arguments.get(position, "input", NONE)
    tensor, short = tensor_of(machine, given), machine.truth(arguments.named("out_int32", FALSE))
    shape = tensor.shape if tensor is not None else () if isinstance(given, Constant) and given != NONE else None
    return made(machine, shape, "int64" if short is False else "int32" if short else None)


@models("torch.nn.functional.one_hot", "torch._C._nn.one_hot")
def one_hot(arguments: Arguments, machine: Machine) -> Value:
    tensor = tensor_of(machine, arguments.positional[0])
    if tensor is None or tensor.shape is None:
        return made(machine, None, "int64")
    classes = size_of(arguments.get(1, "num_classes", Constant(-1)))
    if classes == -1:
        classes = int(max(tensor.elements)) + 1 if tensor.elements else None
    for element in tensor.elements or ():
        if element < 0 or (type(classes) is int and element >= classes):
            raise machine.raises("RuntimeError", f"class value {element} must not be below 0, or above {classes} - 1")
    elements = None
    if tensor.elements is not None and classes is not None and len(tensor.elements) * classes <= MAX_ELEMENTS:
        elements = tuple(int(index == place) for index in tensor.elements for place in range(classes))
    return made(machine, (*tensor.shape, classes), "int64", elements)


@models(*both("cummax", "cummin"))
def running(arguments: Arguments, machine: Machine) -> Value:
    tensor = tensor_of(machine, arguments.positional[0])
    shape, dtype = (tensor.shape, tensor.dtype) if tensor is not None else (None, None)
    return TupleValue((made(machine, shape, dtype), made(machine, shape, "int64")), PAIR)


# ---- larger ones from smaller ----------------------------------------------------------------------------------------


@models("torch.nn.functional.pad", "torch._C._nn.pad")
def pad(arguments: Arguments, machine: Machine) -> Value:
    """The last dimensions grow on both sides; the first two numbers are for the last."""
    tensor, given = tensor_of(machine, arguments.positional[0]), plain(machine, arguments.get(1, "pad", NONE))
    if tensor is None or tensor.shape is None:
        return made(machine, None, tensor.dtype if tensor is not None else None)
    shape: list[int | None] = list(tensor.shape)
    numbers: Any = given[0] if given is not None else None
    if not isinstance(numbers, (list, tuple)) or len(numbers) > 2 * len(shape) or len(numbers) % 2:
        return made(machine, (None,) * len(shape), tensor.dtype)
    for place in range(len(numbers) // 2):
        size = shape[-1 - place]
        shape[-1 - place] = None if size is None else size + numbers[2 * place] + numbers[2 * place + 1]
    needs = tensor.requires_grad
    return made(machine, tuple(shape), tensor.dtype, requires_grad=needs)


@models("torch.block_diag")
def block_diagonal(arguments: Arguments, machine: Machine) -> Value:
    rows: int | None = 0
    columns: int | None = 0
    dtype: str | None = None
    for place, value in enumerate(arguments.positional):
        tensor = tensor_of(machine, value)
        if tensor is None or tensor.shape is None or len(tensor.shape) > 2:
            return made(machine, (None, None), None)
        height, width = ((1, 1), tensor.shape)[bool(tensor.shape)] if len(tensor.shape) != 1 else (1, tensor.shape[0])
        rows = None if rows is None or height is None else rows + height
        columns = None if columns is None or width is None else columns + width
        dtype = tensor.dtype if place == 0 else promoted(dtype, tensor.dtype)
    return made(machine, (rows, columns), dtype)


@models(*both("kron"))
def kronecker(arguments: Arguments, machine: Machine) -> Value:
    left, right = (tensor_of(machine, value) for value in arguments.positional[:2])
    if left is None or right is None or left.shape is None or right.shape is None:
        return made(machine, None, None)
    rank = max(len(left.shape), len(right.shape))
    sides = [(*(1,) * (rank - len(shape)), *shape) for shape in (left.shape, right.shape)]
    shape: Shape = tuple(None if a is None or b is None else a * b for a, b in zip(*sides, strict=True))
    return made(machine, shape, promoted(left.dtype, right.dtype))


@models("torch.cartesian_prod")
def cartesian(arguments: Arguments, machine: Machine) -> Value:
    tensors = [tensor_of(machine, value) for value in arguments.positional]
    found = [tensor for tensor in tensors if tensor is not None]
    if not found or len(found) != len(tensors):
        return made(machine, None, None)
    rows: int | None = 1
    for tensor in found:
        size = count(tensor.shape)
        rows = None if rows is None or size is None else rows * size
    return made(machine, (rows, len(found)) if len(found) > 1 else (rows,), found[0].dtype)


# ---- complex numbers, decompositions ---------------------------------------------------------------------------------

_COMPLEX = {"float64": "complex128", "float32": "complex64", "float16": "complex32"}
_REAL = {name: real for real, name in _COMPLEX.items()}


@models("torch.polar", "torch.complex")
def complex_of(arguments: Arguments, machine: Machine) -> Value:
    joined = tensor_of(machine, elementwise(machine, arguments.positional[0], arguments.positional[1], None, "float32"))
    first = tensor_of(machine, arguments.positional[0])
    dtype = _COMPLEX.get(first.dtype or "") if first is not None else None
    return made(machine, joined.shape if joined is not None else None, dtype)


@views("torch.view_as_real", "torch.view_as_complex")
def as_other_kind(arguments: Arguments, machine: Machine) -> Value:
    tensor = tensor_of(machine, arguments.positional[0])
    if tensor is None:
        return made(machine, None, None)
    to_real = arguments.function.endswith("real")
    dtype = (_REAL if to_real else _COMPLEX).get(tensor.dtype or "")
    shape = tensor.shape
    if shape is not None:
        shape = (*shape, 2) if to_real else shape[:-1]
    return made(machine, shape, dtype, requires_grad=tensor.requires_grad)


@views("torch.real", "torch.imag", f"{TENSOR}.@real", f"{TENSOR}.@imag")
def one_part(arguments: Arguments, machine: Machine) -> Value:
    """Of complex numbers, a view of half their width; of real ones, `real` is the tensor itself."""
    tensor = tensor_of(machine, arguments.positional[0])
    if tensor is None or tensor.dtype is None:
        return made(machine, tensor.shape if tensor is not None else None, None, requires_grad=None)
    if tensor.dtype not in _REAL:
        if arguments.function.endswith("imag"):
            raise machine.raises("RuntimeError", "imag is not implemented for tensors with non-complex dtypes.")
        return arguments.positional[0]
    return made(machine, tensor.shape, _REAL[tensor.dtype], requires_grad=tensor.requires_grad)
