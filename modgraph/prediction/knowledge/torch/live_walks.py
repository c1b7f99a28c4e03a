"""Walks over modules as torch walks them, one step after the other: what a loop registers meanwhile ends it with an
error, or is visited where the walk has not come yet.

Only what is known is walked in this way; `walks.py` has the others. Source of all: torch/nn/modules/module.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.domain.suspended import Lost
from modgraph.prediction.domain.values import NONE, OPEN, Address, Unknown, Value, is_optional
from modgraph.prediction.python import orders

Entries: TypeAlias = "Iterator[tuple[str, Value] | Lost]"


def entries(machine: Machine, owner: Value, store: str, begun: list[str] | None = None) -> Entries:
    """Names and values of a store, which is a dict; `begun` are the names when the walk began, where it has begun.

    Raises:
        Raised: RuntimeError, where it has another size than when the walk began.
    """
    names = begun
    place = 0
    while True:
        module = machine.state.find(owner, ModuleObject)
        if module is None:
            return
        if (mixed := orders.of(module, store)) is not None:
            yield Lost(points_to.either_of(mixed, getattr(module, store).values()))
            return
        now: dict[str, Value] = getattr(module, store)
        names = list(now) if names is None else names
        ends = place in (0, len(names))
        lost = _lost(machine, now, names, None if ends else names[place])
        if lost is not None:
            yield lost
        while place < len(names) and names[place] not in now:
            place += 1
        if place == len(names):
            return
        yield names[place], now[names[place]]
        place += 1


def _lost(machine: Machine, now: dict[str, Value], names: list[str], name: str | None) -> Lost | None:
    """Why it is not known what a walk gives from here on; None where it is. Of a store in the midst of a walk the entry
    that comes next is looked at and the last one, as Python adds at the end: a walk over n of them takes n steps.

    Raises:
        Raised: RuntimeError, where the store has another size.
    """
    looked_at = now if name is None else [each for each in (name, next(reversed(now), name)) if each in now]
    unsure = next((now[each] for each in looked_at if each == OPEN or is_optional(now[each])), None)
    if isinstance(unsure, Unknown):
        return Lost(Unknown(unsure.reason, unsure.where))
    if len(now) != len(names):
        raise machine.raises("RuntimeError", "dictionary changed size during iteration")
    is_same = list(now) == names if name is None else name in now and next(reversed(now)) == names[-1]
    if is_same:
        return None
    machine.may_refuse("RuntimeError")
    return Lost(machine.unknown("a dictionary whose keys change while it is walked is not followed"))


def children(machine: Machine, owner: Value) -> Entries:
    """`named_children`."""
    seen: set[Value] = set()
    for entry in entries(machine, owner, "modules"):
        if isinstance(entry, Lost):
            yield entry
        elif entry[1] != NONE and entry[1] not in seen:
            seen.add(entry[1])
            yield entry


_DEEPEST = 1_000
"""Levels of modules in modules: torch walks by calling itself, and Python's own limit is this."""


def require_end(machine: Machine, depth: int) -> None:
    """Raises Raised, RecursionError, where a module is below itself, and each place of it is walked."""
    if depth > _DEEPEST:
        raise machine.raises("RecursionError", "maximum recursion depth exceeded")


def modules(machine: Machine, root: Value, prefix: str, unique: bool) -> Entries:
    """`named_modules`: depth first; the children of a module are looked at after it was given."""
    seen: set[Value] = set()
    open_: list[tuple[str, Entries]] = [("", iter([(prefix, root)]))]
    while open_:
        above, level = open_[-1]
        entry = next(level, None)
        if entry is None:
            open_.pop()
            continue
        if isinstance(entry, Lost):
            yield entry
            continue
        name, value = entry
        if value == NONE or value in seen:
            continue
        if isinstance(value, Unknown):
            yield Lost(Unknown(value.reason, value.where))
            continue
        if unique:
            seen.add(value)
        else:
            require_end(machine, len(open_))
        path = f"{above}.{name}" if above else name
        yield path, value
        open_.append((path, entries(machine, value, "modules")))


def tensors(machine: Machine, root: Address, store: str, prefix: str, recurse: bool, unique: bool) -> Entries:
    """`named_parameters` and `named_buffers`."""
    seen: set[Value] = set()
    for above in modules(machine, root, prefix, unique) if recurse else iter([(prefix, root)]):
        if isinstance(above, Lost):
            yield above
            continue
        path, owner = above
        for entry in entries(machine, owner, store):
            if isinstance(entry, Lost):
                yield entry
            elif entry[1] != NONE and entry[1] not in seen:
                if unique:
                    seen.add(entry[1])
                yield f"{path}.{entry[0]}" if path else entry[0], entry[1]
