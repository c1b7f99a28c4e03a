"""What the keys of `x[keys]` are, and whether it is a view of a tensor or a copy of its elements.

Source: ATen, `TensorIndexing.h`, and `python_variable_indexing.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.prediction.domain.objects import ListObject, TensorObject
from modgraph.prediction.domain.sizes import sliced
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import NONE, Address, Constant, SliceValue, TupleValue, Value
from modgraph.prediction.knowledge.tensors.elements import category

_MOST_OF_LIST = 31


def keys_of(state: State, key: Value) -> Sequence[Value]:
    """One for each dimension, or more. A short list with more than numbers in it is taken as a tuple."""
    if isinstance(key, TupleValue):
        return key.items
    listed = state.find(key, ListObject)
    items = listed.items if listed is not None and listed.open is None else ()
    is_several = len(items) <= _MOST_OF_LIST and any(_is_no_number(state, each) for each in items)
    return tuple(items) if is_several else (key,)


def _is_no_number(state: State, key: Value) -> bool:
    if key in (NONE, Constant(...)) or isinstance(key, (SliceValue, TupleValue)):
        return True
    if isinstance(key, Constant):
        return isinstance(key.value, range)
    return state.find(key, ListObject) is not None or state.find(key, TensorObject) is not None


def gives_view(state: State, keys: Sequence[Value]) -> bool | None:
    """What these keys give has the memory of the tensor; None where that is not known."""
    found = [_is_of_view(state, key) for key in keys]
    return False if False in found else None if None in found else True


def _is_of_view(state: State, key: Value) -> bool | None:
    if key == NONE or isinstance(key, SliceValue):
        return True
    if isinstance(key, Constant):
        if isinstance(key.value, (bool, range)):
            return False
        return True if isinstance(key.value, int) or key.value is ... else None
    if isinstance(key, TupleValue) or state.find(key, ListObject) is not None:
        return False
    tensor = state.find(key, TensorObject) if isinstance(key, Address) else None
    return None if tensor is None else _is_number(tensor)


def _is_number(tensor: TensorObject) -> bool | None:
    """A tensor without dimensions stands for a number, but for a mask where it is one of truths or bytes."""
    if tensor.shape or tensor.dtype in ("bool", "uint8"):
        return False
    return None if tensor.shape is None or tensor.dtype is None else category(tensor.dtype) == 1


def slice_length(key: SliceValue, size: int | None) -> int | None:
    """How much of a dimension of a size a slice takes; None where that is not known."""
    bounds = (key.lower, key.upper, key.step)
    if size is None or not all(isinstance(bound, Constant) for bound in bounds):
        return size if bounds == (NONE, NONE, NONE) else None
    return sliced(size, *(bound.value for bound in bounds if isinstance(bound, Constant)))
