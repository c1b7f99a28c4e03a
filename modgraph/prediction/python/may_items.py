"""Walks over entries some of which may not be there: what certainly comes first, and what may follow.

A list, a count or an index sees no more than what comes first. A `for` is told the rest too, so that what it does to
each is done to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.objects import Ended, IteratorObject, ListObject, Source
from modgraph.prediction.domain.values import Address, Choice, KnownClass, TupleValue, Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_REST = "<rest>"
"""Attribute of a view: what may come after its items."""
_ON_SOME_PATHS = Unknown("it is there on some paths only")


@dataclass(frozen=True, slots=True)
class Several(Value):
    """Any number of items, of which no more is known than this. Only a `Rest` holds one."""

    PARTS = ("item",)

    item: Value


@dataclass(frozen=True, slots=True)
class Perhaps(Value):
    """An item that is there on some paths only; only a walk gives one, to a loop."""

    PARTS = ("item",)

    item: Value
    why: Unknown = _ON_SOME_PATHS


@dataclass(frozen=True, slots=True, eq=False)
class Rest(Source):
    """What may follow the items of an iterator, in order."""

    items: tuple[Value, ...]
    why: Unknown

    def step(self, machine: Any, address: Address) -> Value | Ended:  # noqa: ARG002 - it has nothing more to give
        return Ended(self.why)

    def references(self) -> tuple[Value, ...]:
        return tuple(each.item if isinstance(each, Several) else each for each in self.items)


def doubt(item: Value) -> Unknown | None:
    """Why there may be no such item, or others in its place."""
    if isinstance(item, Several):
        return _unknown_in(item.item)
    if isinstance(item, Perhaps):
        return item.why
    return next((each for each in _parts(item) if isinstance(each, Unknown) and each.optional), None)


def _parts(item: Value) -> tuple[Value, ...]:
    return item.items if isinstance(item, TupleValue) else (item,)


def _unknown_in(item: Value) -> Unknown:
    for each in _parts(item):
        if isinstance(each, (Unknown, Choice)):
            return each if isinstance(each, Unknown) else Unknown(each.reason, each.where)
    return Unknown("how many items there are is not known")


def parted(found: Iterable[Value]) -> tuple[list[Value], list[Value], Unknown | None]:
    """What certainly comes first, what may follow, and why it may not."""
    first = list(found)
    for place, item in enumerate(first):
        if (why := doubt(item)) is not None:
            return first[:place], first[place:], why
    return first, [], None


def iterator(machine: Machine, found: Iterable[Value]) -> Address:
    """An iterator over these."""
    first, rest, why = parted(found)
    if why is None:
        return machine.allocate(IteratorObject(first))
    source = Rest(tuple(rest), why)
    source = Rest(source.items, points_to.read(machine, replace(why, optional=False), source.references()))
    return machine.allocate(IteratorObject(first, source=source))


def view(machine: Machine, found: list[Value], cls: KnownClass) -> Address:
    """Keys, values or items of what holds these."""
    first, rest, why = parted(found)
    if why is not None:
        held = [each.item if isinstance(each, Several) else each for each in rest]
        why = points_to.read(machine, replace(why, optional=False), held)
    several = any(isinstance(each, Several) for each in rest)
    attributes: dict[str, Value] = {_REST: TupleValue(tuple(rest))} if rest and not several else {}
    return machine.allocate(ListObject(first, why, cls, attributes))


def rest_of(item: object) -> tuple[Value, ...] | None:
    """What may come after the items of a view, or of an iterator that has no more; None where that is not known."""
    if isinstance(item, ListObject):
        held = item.attributes.get(_REST)
        return held.items if isinstance(held, TupleValue) else None
    return item.items if isinstance(item, Rest) else None
