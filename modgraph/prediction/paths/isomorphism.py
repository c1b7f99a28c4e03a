"""Objects made on two paths, whether they correspond one to one and hold the same: then either stands for both."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.fields import BY_NAME, Role, names_of
from modgraph.prediction.domain.limits import MAX_COMPARED_OBJECTS
from modgraph.prediction.domain.objects import HeapObject, Source
from modgraph.prediction.domain.sizes import same_sizes
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import Address, Choice, TupleValue, Unknown, Value


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
        if b.index not in second.base.uncast:
            first.base.uncast.discard(a.index)
        if len(twins) > MAX_COMPARED_OBJECTS:
            return False
        x, y = first.read(a), second.read(b)
        if type(x) is not type(y) or not _is_same_but_for_values(x, y):
            return False
        left, right = _values(x), _values(y)
        first.base.work += 2 + len(left) // 2
        if len(left) != len(right):
            return False
        for v, w in zip(left, right, strict=True):
            if not _same_value(v, w, pending, since):
                return False
    return True


def _values(item: HeapObject) -> list[Value]:
    shown = (pair for name in names_of(item, Role.NOTED_VALUES) for pair in getattr(item, name))
    memory = (each for name in names_of(item, Role.MEMORY) for each in getattr(item, name))
    return [*item.references(), *(value for _, value in shown), *memory]


def _same_value(mine: Value, other: Value, pending: list[tuple[Address, Address]], since: int) -> bool:
    if isinstance(mine, Address) and isinstance(other, Address):
        if mine.handed != other.handed:
            return False
        pending.append((mine, other))
        return True
    if isinstance(mine, TupleValue) and isinstance(other, TupleValue):
        return mine.is_like(other) and all(
            _same_value(a, b, pending, since) for a, b in zip(mine.items, other.items, strict=True)
        )
    if isinstance(mine, Unknown) and isinstance(other, Unknown) and mine.may_be != other.may_be:
        # Objects made since the paths parted are compared where they stand.
        old = ({index for index in each.may_be if index < since} for each in (mine, other))
        return next(old) == next(old) and points_to.nowhere(mine) == points_to.nowhere(other)
    if isinstance(mine, Choice) and isinstance(other, Choice):
        return mine == other and (mine is other or mine.facts() == other.facts())
    return mine == other


def _is_same_but_for_values(x: HeapObject, y: HeapObject) -> bool:
    """What `references` does not give is the same."""
    return type(x) is type(y) and all(_SAME[role](getattr(x, name), getattr(y, name)) for name, role in x.ROLES.items())


def _is_nothing_more(x: object, y: object) -> bool:
    """Of two that may hold more, it is not known whether they hold the same."""
    return x is None and y is None


def _are_noted_alike(x: Noted, y: Noted) -> bool:
    return [name for name, _ in x] == [name for name, _ in y]


def _is_compared_elsewhere(_x: object, _y: object) -> bool:
    return True


def _are_coupled_alike(x: object, y: object) -> bool:
    """What runs for one of them does not run for the other."""
    return not isinstance(x, Source) and x == y


Noted = tuple[tuple[str, Value], ...]

_SAME: dict[Role, Callable[[Any, Any], bool]] = {
    Role.CELLS: _is_compared_elsewhere,
    Role.ENTRIES: _is_compared_elsewhere,
    Role.MEMBERS: _is_compared_elsewhere,
    Role.REST: _is_nothing_more,
    **dict.fromkeys(BY_NAME, lambda x, y: list(x) == list(y)),
    Role.REASON: operator.eq,
    Role.ORDER: operator.eq,
    Role.VALUE: operator.eq,
    Role.FLAT: operator.eq,
    Role.FINAL: operator.eq,
    Role.FLAGS: operator.eq,
    Role.SHAPE: same_sizes,
    Role.FIXED: operator.eq,
    Role.LINK: operator.eq,
    Role.MEMORY: lambda x, y: len(x) == len(y),
    Role.COUPLED: _are_coupled_alike,
    Role.COUNTS: _is_compared_elsewhere,
    Role.PLACE: _is_compared_elsewhere,
    Role.NOTE: _is_compared_elsewhere,
    Role.NOTED_VALUES: _are_noted_alike,
}
