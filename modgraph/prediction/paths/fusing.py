"""Modules and parameters of one class made on two paths, of which one stands for both: what differs inside is open.

`x = Linear(4, 5) if c else Linear(4, 6)` gives a Linear on either path, under whatever names it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from modgraph.prediction.domain.fields import Role, names_of, reasons
from modgraph.prediction.domain.limits import MAX_COMPARED_OBJECTS, MAX_FUSED_DEPTH
from modgraph.prediction.domain.objects import HeapObject, ModuleObject, TensorObject
from modgraph.prediction.domain.values import Address, Value
from modgraph.prediction.paths.relocation import Relocation

if TYPE_CHECKING:
    from modgraph.prediction.paths.joining import Joiner


def fuse(joiner: Joiner, mine: Address, other: Address) -> bool:
    """Lets `mine` of the first state stand for `other` of the second too, if they may be the same thing built twice;
    both were made after the paths parted."""
    if mine.index in joiner.originals or other.index in joiner.twins:
        return False
    if joiner.fused_depth >= MAX_FUSED_DEPTH or len(joiner.twins) >= MAX_COMPARED_OBJECTS:
        return False
    x, y = joiner.first.get(mine.index), joiner.second.get(other.index)
    if x is None or y is None or not are_one_kind(x, y):
        return False
    if isinstance(x, TensorObject) and not x.is_parameter:
        return False  # it may be computed with, where a choice says more
    joiner.twins[other.index], joiner.originals[mine.index] = mine.index, other.index
    merged = x.copy()
    merged.owner = joiner.first.token
    joiner.first.objects[mine.index] = merged
    joiner.fused_depth += 1
    try:
        merge(joiner, merged, y)
    finally:
        joiner.fused_depth -= 1
    return True


def are_one_kind(x: HeapObject, y: HeapObject) -> bool:
    """Modules of one class, or tensors that are registered in the same way: what cannot be open is the same."""
    if type(x) is not type(y) or not isinstance(x, (ModuleObject, TensorObject)):
        return False
    return all(getattr(x, name) == getattr(y, name) for name in names_of(x, Role.FIXED, Role.VALUE, Role.FINAL))


def merge(joiner: Joiner, x: HeapObject, y: HeapObject) -> None:
    """Changes `x`, a copy, into what either is."""
    joiner.merge(x, y, 0)
    for name in names_of(x, Role.PLACE):
        if getattr(x, name) != getattr(y, name):
            setattr(x, name, joiner.where)


def rename(joiner: Joiner, parted: Iterable[int]) -> None:
    """Wherever an object of the second state still stands in the joined one, the one that stands for it takes its
    place: a change of either is a change of both."""
    renaming = _renaming(joiner)
    for index in parted:
        item = joiner.first.objects.get(index)
        if item is None or index in joiner.twins or not _mentions(item, renaming):
            continue
        if item.owner is not joiner.first.token:
            item = item.copy()
            item.owner = joiner.first.token
            joiner.first.objects[index] = item
        renaming.fill(item)


def renamed(joiner: Joiner, value: Value) -> Value:
    """A value of the second state as it is called in the joined one."""
    return _renaming(joiner).mapped(value) if joiner.twins else value


def _renaming(joiner: Joiner) -> Relocation:
    renaming = Relocation(joiner.first)
    renaming.copies = {Address(old): Address(new) for old, new in joiner.twins.items()}
    return renaming


def _mentions(item: HeapObject, renaming: Relocation) -> bool:
    if any(renaming.mapped(why) is not why for why in reasons(item)):
        return True
    memory = item.memory if isinstance(item, TensorObject) else ()
    return any(renaming.mapped(value) != value for value in (*item.references(), *memory))
