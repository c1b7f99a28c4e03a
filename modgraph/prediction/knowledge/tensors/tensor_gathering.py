"""Tensors indexed by tensors and lists, masks, windows: `x[[0, 2]]`, `x[mask]`, nonzero, diag, unfold.

What takes an index along one dimension (`gather`, `index_select`, `take`) stands in `tensor_parts.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Constant, SliceValue, Value
from modgraph.prediction.knowledge.tensors.demanding import differ, refuse, require_inside, told
from modgraph.prediction.knowledge.tensors.elements import Number, Shape, broadcast
from modgraph.prediction.knowledge.tensors.index_keys import slice_length
from modgraph.prediction.knowledge.tensors.tensor_memory import views
from modgraph.prediction.knowledge.tensors.tensor_shapes import both, like, source_of
from modgraph.prediction.knowledge.tensors.tensor_tuples import places
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, made, size_of, tensor_of
from modgraph.prediction.python.plain import data_unknown, plain

_MASKS = ("bool", "uint8")
"""Tensors of these types choose where they are not zero (aten/src/ATen/native/IndexingUtils.h)."""
_MOST_LISTED = 4096
"""Numbers of a `range` that are looked at one by one."""
_WHOLE = SliceValue(NONE, NONE, NONE)
Gathered = tuple[Shape | None, tuple[Number, ...] | None]


def by_indices(machine: Machine, source: TensorObject, keys: list[Value]) -> Gathered:
    """Shape and elements of `x[:, index]`, where a key is a tensor or a list; each None where it is not known. Elements
    are where it is the one key that does not take a whole dimension."""
    keys = keys[:-1] if keys[-1] == Constant(...) else keys
    places = [place for place, key in enumerate(keys) if key != _WHOLE]
    if source.shape is None:
        return None, None
    if len(places) != 1 or places[0] >= len(source.shape):
        return _by_several(machine, source.shape, keys), None
    place = places[0]
    index = _index(machine, keys[place])
    if index is None or index.shape is None or index.dtype is None:
        return None, None
    if index.dtype in _MASKS:
        return _masked(source, place, index)
    shape = (*source.shape[:place], *index.shape, *source.shape[place + 1 :])
    size = source.shape[place]
    require_inside(machine, index, size, 0 if size is None else -size)
    if index.elements is None:
        return shape, None
    return shape, _taken(source, place, [int(each) % (size or 1) for each in index.elements])


def _by_several(machine: Machine, shape: Shape, keys: Sequence[Value]) -> Shape | None:
    """The shape of `x[i, :, None, j]`. What indices give together stands where they are neighbours, else in front; a
    number, and a tensor that is one, takes its dimension away before, other than in NumPy
    (torch/csrc/autograd/python_variable_indexing.cpp, aten/src/ATen/TensorIndexing.h).

    Raises:
        Raised: the indices do not fit each other, or one is not there.
    """
    indices = [_index(machine, key) for key in keys]
    taken = [_taken_by(key, index) for key, index in zip(keys, indices, strict=True)]
    if None in taken or (left := len(shape) - sum(each or 0 for each in taken)) < 0:
        return None
    if Constant(...) not in keys:
        keys, indices, taken = [*keys, Constant(...)], [*indices, None], [*taken, 0]
    found: list[int | None] = []
    together: Shape | None = ()
    begins: list[int] = []
    position = 0
    for key, index, number in zip(keys, indices, taken, strict=True):
        sizes = shape[position : position + (left if key == Constant(...) else number or 0)]
        position += len(sizes)
        if index is not None:
            taken_there = _shape_of_index(machine, index, sizes)
            if taken_there != ():
                begins.append(len(found))
                together = _joined(machine, together, taken_there)
        elif isinstance(key, Constant) and isinstance(key.value, int):
            require_inside(machine, TensorObject((), "int64", elements=(key.value,)), sizes[0], -(sizes[0] or 0))
        elif key == NONE:
            found.append(1)
        elif isinstance(key, SliceValue) or key == Constant(...):
            found += [slice_length(key, size) if isinstance(key, SliceValue) else size for size in sizes]
    if together is None:
        return None
    at = begins[0] if begins and begins[0] == begins[-1] else 0
    return (*found[:at], *together, *found[at:])


def _taken_by(key: Value, index: TensorObject | None) -> int | None:
    """How many dimensions a key takes; None where that is not known."""
    if index is not None:
        if index.shape is None or index.dtype is None:
            return None
        is_mask = index.dtype in _MASKS
        return (len(index.shape) or None) if is_mask else 1
    if key in (NONE, Constant(...)):
        return 0
    is_number = isinstance(key, Constant) and isinstance(key.value, int) and not isinstance(key.value, bool)
    return 1 if is_number or isinstance(key, SliceValue) else None


def _shape_of_index(machine: Machine, index: TensorObject, sizes: Shape) -> Shape | None:
    """What a tensor of whole numbers has, or where a mask is true."""
    if index.dtype not in _MASKS:
        size = sizes[0]
        require_inside(machine, index, size, 0 if size is None else -size)
        return index.shape
    if index.shape is not None and any(differ(*pair) for pair in zip(index.shape, sizes, strict=False)):
        refuse(machine, f"The shape of the mask {told(index.shape)} does not match {told(sizes)}", "IndexError")
    return (None if index.elements is None else sum(1 for each in index.elements if each),)


def _joined(machine: Machine, one: Shape | None, other: Shape | None) -> Shape | None:
    try:
        return broadcast(one, other)
    except ValueError:
        words = "shape mismatch: indexing tensors could not be broadcast together"
        raise machine.raises("IndexError", f"{words} with shapes {one}, {other}") from None


def _index(machine: Machine, key: Value) -> TensorObject | None:
    """The tensor that a key stands for; None of a number and a slice, and where it is not known."""
    if isinstance(key, SliceValue) or (isinstance(key, Constant) and not isinstance(key.value, range)):
        return None
    if isinstance(key, Constant):
        listed = key.value if len(key.value) <= _MOST_LISTED else ()
        return TensorObject((len(key.value),), "int64", elements=tuple(listed) or None)
    tensor = tensor_of(machine, key)
    found = plain(machine, key) if tensor is None else None
    if found is None or not isinstance(found[0], list):
        return tensor
    if all(type(each) is int for each in found[0]):
        return TensorObject((len(found[0]),), "int64", elements=tuple(found[0]))
    if all(type(each) is bool for each in found[0]):
        return TensorObject((len(found[0]),), "bool", elements=tuple(found[0]))
    return None


def _masked(source: TensorObject, place: int, mask: TensorObject) -> Gathered:
    """Where a mask is true; it may span several dimensions."""
    assert source.shape is not None
    assert mask.shape is not None
    before, after = source.shape[:place], source.shape[place + len(mask.shape) :]
    if mask.elements is None:
        return (*before, None, *after), None
    chosen = [position for position, each in enumerate(mask.elements) if each]
    elements = _taken(source, place, chosen) if len(mask.shape) == 1 else None
    return (*before, len(chosen), *after), elements


def _taken(source: TensorObject, place: int, chosen: list[int]) -> tuple[Number, ...] | None:
    """The elements at these indices of one dimension."""
    if source.elements is None or source.shape is None or None in source.shape:
        return None
    sizes = [size or 0 for size in source.shape]
    inner, outer = math.prod(sizes[place + 1 :]), math.prod(sizes[:place])
    starts = [(block * sizes[place] + each) * inner for block in range(outer) for each in chosen]
    return tuple(itertools.chain.from_iterable(source.elements[start : start + inner] for start in starts))


@models(*both("nonzero"))
def nonzero(arguments: Arguments, machine: Machine) -> Value:
    """The indices of the elements that are not zero, one row each."""
    source = source_of(arguments, machine)
    rank = len(source.shape) if source.shape is not None else None
    by_dimension = machine.truth(arguments.keywords.get("as_tuple", Constant(False)))
    if by_dimension is None:
        return data_unknown(machine, arguments.function, "whether nonzero() gives a tuple is not known")
    if by_dimension:
        return places(machine, source, arguments.function)
    if source.elements is None or source.shape is None:
        return made(machine, None if rank is None else (None, rank), "int64")
    indices = itertools.product(*(range(size or 0) for size in source.shape))
    found = [index for index, each in zip(indices, source.elements, strict=True) if each]
    return made(machine, (len(found), rank), "int64", tuple(itertools.chain.from_iterable(found)))


@models(*both("diag"))
def diagonal(arguments: Arguments, machine: Machine) -> Value:
    """A matrix with that diagonal, or the diagonal of a matrix."""
    source, offset = source_of(arguments, machine), size_of(arguments.get(1, "diagonal", Constant(0)))
    if source.shape is None or offset is None or None in source.shape or len(source.shape) not in (1, 2):
        return like(machine, source, None)
    sizes = [size or 0 for size in source.shape]
    if len(sizes) == 2:
        rows, columns = sizes[0] + min(offset, 0), sizes[1] - max(offset, 0)
        return like(machine, source, (max(0, min(rows, columns)),))
    return like(machine, source, (sizes[0] + abs(offset),) * 2)


@views("torch.Tensor.unfold")
def windows(arguments: Arguments, machine: Machine) -> Value:
    """Windows along a dimension: how many there are in its place, their size as the last one."""
    source = source_of(arguments, machine)
    size, step = size_of(arguments.get(2, "size", NONE)), size_of(arguments.get(3, "step", NONE))
    if source.shape is None or size is None or not step:
        return like(machine, source, None)
    place = dimension(machine, arguments.get(1, "dimension", NONE), len(source.shape))
    if place is None:
        return like(machine, source, None)
    length = source.shape[place] if source.shape else 1
    if length is not None and size > length:
        message = f"maximum size for tensor at dimension {place} is {length} but size is {size}"
        raise machine.raises("RuntimeError", message)
    if not source.shape:
        return like(machine, source, (size,))
    count = None if length is None else (length - size) // step + 1
    return like(machine, source, (*source.shape[:place], count, *source.shape[place + 1 :], size))
