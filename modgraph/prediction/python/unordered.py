"""Sets of what has another hash in every run: their elements are known, but not in which order they are walked.

What does not depend on the order is known all the same: `sorted`, `len` and kin see the elements; a loop over few is
run in every order, and what these leave differently is not known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from modgraph.prediction.domain.assumed import SET_ORDER
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import Ended, IteratorObject, ListObject, SetObject, Source
from modgraph.prediction.domain.values import Address, Constant, TupleValue, Unknown, Value

_ELEMENTS = "<elements>"
"""Attribute of a list that was made of such a set: what is in it."""
_MOST = 4
"""Elements whose loop is run in every order."""
WHY = "the order of a set depends on hashes"


def in_order(machine: Machine, item: SetObject) -> list[Value] | Unknown:
    """The elements as Python walks them, where that does not depend on the addresses and hashes of a run."""
    found = list(item.items)
    numbers = _small_numbers(found)
    if numbers is not None:
        return [each for _, each in sorted(zip(numbers, found, strict=True), key=lambda pair: pair[0])]
    if len(found) < 2:
        return found
    machine.asked.add(SET_ORDER)
    if machine.assumed.sets_in_order:
        return found
    return machine.unknown(WHY)


def _small_numbers(found: list[Value]) -> list[int] | None:
    """The integers of which each stands at the place of its value in the set's table; None for all else."""
    room = 8  # the places that a table of so many has at the least
    while room * 3 <= len(found) * 5:
        room *= 2
    numbers = [each.value for each in found if isinstance(each, Constant) and type(each.value) in (int, bool)]
    return numbers if len(numbers) == len(found) and all(0 <= number < room for number in numbers) else None


def elements(machine: Machine, value: Value) -> list[Value] | None:
    """The elements of a set, or of a list or iterator made of it, that have no known order; None for all else. An
    iterator is used up."""
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(item, SetObject) and item.open is None and isinstance(in_order(machine, item), Unknown):
        return list(item.items)
    if isinstance(item, ListObject) and item.open is not None:
        held = item.attributes.get(_ELEMENTS)
        return list(held.items) if isinstance(held, TupleValue) else None
    if isinstance(item, IteratorObject) and isinstance(item.source, _Elements) and isinstance(value, Address):
        source = item.source
        found = source.found(machine)
        changed = machine.state.change(value, IteratorObject)
        changed.source = None if found is not None else source.otherwise
        changed.open = machine.unknown(WHY) if found is not None else None
        return found
    return None


def listed(machine: Machine, found: list[Value], why: Unknown | None = None) -> Address:
    """A list of these, in whatever order."""
    kept: dict[str, Value] = {_ELEMENTS: TupleValue(tuple(found))}
    return machine.allocate(ListObject([], why or machine.unknown(WHY), attributes=kept))


def iterator(machine: Machine, found: Callable[[Machine], list[Value] | None], otherwise: Source) -> Address:
    """An iterator over what `found` gives, in whatever order; over that of `otherwise` where it gives nothing, or the
    items are asked for one by one."""
    return machine.allocate(IteratorObject(source=_Elements(found, otherwise)))


def is_one(machine: Machine, value: Value) -> bool:
    """Whether `elements` may give something for it; nothing is used up."""
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(item, SetObject):
        return item.open is None and isinstance(in_order(machine, item), Unknown)
    if isinstance(item, ListObject):
        return item.open is not None and _ELEMENTS in item.attributes
    return isinstance(item, IteratorObject) and isinstance(item.source, _Elements)


def apart(machine: Machine, run: Callable[[], list[Value] | None]) -> list[Value] | None:
    """What `run` gives, which takes the elements in one order; None, and nothing has happened, where it gives None or
    changes something older: then it may be another in another order."""
    before, since = machine.state, machine.state.base.next_index
    machine.state = before.fork()
    found = run()
    changed = machine.state.above(before.below)
    if found is not None and all(each >= since for each in changed) and machine.state.globals == before.globals:
        return found
    machine.state = before
    return None


def grow(item: ListObject, new: list[Value]) -> None:
    """Items were put at the end of a list: it has these too, in whatever order."""
    held = item.attributes.get(_ELEMENTS)
    if isinstance(held, TupleValue):
        item.attributes[_ELEMENTS] = TupleValue((*held.items, *new))


def forget(item: ListObject) -> None:
    """The list is about to change."""
    item.attributes.pop(_ELEMENTS, None)


def orders(found: list[Value]) -> list[list[Value]] | None:
    """All orders of the elements; None where they are too many to be tried."""
    return [list(each) for each in itertools.permutations(found)] if len(found) <= _MOST else None


class _Elements(Source):
    """Of an iterator over a set: the first that it gives is not known."""

    __slots__ = ("found", "otherwise")

    def __init__(self, found: Callable[[Machine], list[Value] | None], otherwise: Source) -> None:
        self.found = found
        self.otherwise = otherwise

    def step(self, machine: Machine, address: Address) -> Value | Ended:
        machine.state.change(address, IteratorObject).source = self.otherwise
        return self.otherwise.step(machine, address)

    def references(self) -> tuple[Value, ...]:
        return self.otherwise.references()

    def forgotten(self, why: Unknown) -> None:
        self.otherwise.forgotten(why)
