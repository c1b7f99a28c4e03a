"""Tensors indexed by tensors and lists, masks, windows: `x[[0, 2]]`, `x[mask]`, nonzero, diag, unfold.

What takes an index along one dimension (`gather`, `index_select`, `take`) stands in `tensor_parts.py`.
"""

from __future__ import annotations

import itertools
import math

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Constant, SliceValue, Value
from modgraph.prediction.knowledge.tensors.demanding import require_inside
from modgraph.prediction.knowledge.tensors.elements import Number, Shape
from modgraph.prediction.knowledge.tensors.tensor_memory import views
from modgraph.prediction.knowledge.tensors.tensor_shapes import both, like, source_of
from modgraph.prediction.knowledge.tensors.tensor_tuples import places
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, made, size_of, tensor_of
from modgraph.prediction.python.plain import data_unknown, plain

_WHOLE = SliceValue(NONE, NONE, NONE)
Gathered = tuple[Shape | None, tuple[Number, ...] | None]


def by_indices(machine: Machine, source: TensorObject, keys: list[Value]) -> Gathered:
    """Shape and elements of `x[:, index]`, where one key is a tensor or a list and the others take whole dimensions;
    each None where it is not known."""
    keys = keys[:-1] if keys[-1] == Constant(...) else keys
    places = [place for place, key in enumerate(keys) if key != _WHOLE]
    if source.shape is None or len(places) != 1 or places[0] >= len(source.shape):
        return None, None
    place = places[0]
    index = _index(machine, keys[place])
    if index is None or index.shape is None or index.dtype is None:
        return None, None
    if index.dtype == "bool":
        return _masked(source, place, index)
    shape = (*source.shape[:place], *index.shape, *source.shape[place + 1 :])
    size = source.shape[place]
    require_inside(machine, index, size, 0 if size is None else -size)
    if index.elements is None:
        return shape, None
    return shape, _taken(source, place, [int(each) % (size or 1) for each in index.elements])


def _index(machine: Machine, key: Value) -> TensorObject | None:
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
