"""Objects made on two paths, whether they correspond one to one and hold the same: then either stands for both."""

from __future__ import annotations

from collections.abc import Callable

from modgraph.prediction import possible
from modgraph.prediction.limits import MAX_COMPARED_OBJECTS
from modgraph.prediction.objects import (
    ClassObject,
    DictObject,
    EnvironmentObject,
    HeapObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.state import State
from modgraph.prediction.values import Address, TupleValue, Unknown, Value


def isomorphic(
    first: State,
    mine: Address,
    second: State,
    other: Address,
    twins: dict[int, int],
    originals: dict[int, int],
    since: int,
    made_apart: Callable[[int, int], bool],
) -> bool:
    """The objects reachable from both addresses, made since, correspond one to one and hold the same."""
    pending = [(mine, other)]
    while pending:
        a, b = pending.pop()
        if a.index < since or b.index < since:
            if a != b:
                return False
            continue
        if b.index in twins:
            if twins[b.index] != a.index:
                return False
            continue
        if originals.setdefault(a.index, b.index) != b.index or (a != b and not made_apart(a.index, b.index)):
            return False
        twins[b.index] = a.index
        if len(twins) > MAX_COMPARED_OBJECTS:
            return False
        x, y = first.read(a), second.read(b)
        if type(x) is not type(y) or not _same_outside(x, y):
            return False
        left, right = list(x.references()), list(y.references())
        first.base.work += 2 + len(left) // 2
        if len(left) != len(right):
            return False
        for v, w in zip(left, right, strict=True):
            if not _same_value(v, w, pending, since):
                return False
    return True


def _same_value(mine: Value, other: Value, pending: list[tuple[Address, Address]], since: int) -> bool:
    if isinstance(mine, Address) and isinstance(other, Address):
        pending.append((mine, other))
        return True
    if isinstance(mine, TupleValue) and isinstance(other, TupleValue):
        return len(mine.items) == len(other.items) and all(
            _same_value(a, b, pending, since) for a, b in zip(mine.items, other.items, strict=True)
        )
    if isinstance(mine, Unknown) and isinstance(other, Unknown) and mine.may_be != other.may_be:
        # Objects made since the paths parted are compared where they stand.
        old = ({index for index in each.may_be if index < since} for each in (mine, other))
        return next(old) == next(old) and possible.nowhere(mine) == possible.nowhere(other)
    return mine == other


def _same_outside(x: HeapObject, y: HeapObject) -> bool:
    """What `references` does not give is the same."""
    if isinstance(x, ModuleObject) and isinstance(y, ModuleObject):
        return (
            x.cls == y.cls
            and list(x.modules) == list(y.modules)
            and list(x.parameters) == list(y.parameters)
            and list(x.buffers) == list(y.buffers)
            and list(x.attributes) == list(y.attributes)
            and x.non_persistent == y.non_persistent
            and (x.open, x.shuffled) == (y.open, y.shuffled)
        )
    if isinstance(x, InstanceObject) and isinstance(y, InstanceObject):
        same = list(x.attributes) == list(y.attributes)
        return x.cls == y.cls and same and (x.open, x.shuffled) == (y.open, y.shuffled)
    if isinstance(x, TensorObject) and isinstance(y, TensorObject):
        return (x.shape, x.dtype, x.elements, x.is_parameter, x.requires_grad) == (
            y.shape,
            y.dtype,
            y.elements,
            y.is_parameter,
            y.requires_grad,
        )
    if isinstance(x, (ListObject, DictObject, SetObject)) and isinstance(y, type(x)):
        return x.cls == y.cls and x.open is None and y.open is None
    if isinstance(x, IteratorObject) and isinstance(y, IteratorObject):
        return x.source is None and y.source is None and x.open is None and y.open is None
    return isinstance(x, (EnvironmentObject, ClassObject))
