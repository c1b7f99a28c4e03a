"""A loop over a set in which one turn at most does something: whichever order Python walks in, it comes to the same.

A turn that does nothing where the loop begins, and nothing where the one that counts has been, does nothing wherever
in between it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.code import targets
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import Frame, Outcome
from modgraph.prediction.domain.objects import EnvironmentObject, HeapObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import Constant, Value
from modgraph.prediction.paths.guards import Guard
from modgraph.prediction.python import unordered
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

Turn = Callable[[Value], Outcome]


def run(machine: Machine, frame: Frame, target: nodes.Expression, found: Sequence[Value], turn: Turn) -> bool:
    """Runs the loop, if that can be shown; else nothing has happened."""
    if not isinstance(target, nodes.Name):
        return False
    before = machine.state
    counts: Value | None = None
    for each in found:
        if not _does_nothing(machine, frame, target.value, each, turn):
            if counts is not None:
                return False
            counts = each
    if counts is not None and not _counts(machine, frame, target.value, found, counts, turn):
        machine.state = before
        return False
    last = machine.unknown(unordered.WHY)
    inert = all(isinstance(each, Constant) for each in found)
    targets.assign(machine, frame, target, replace(last, inert=last.inert or inert))
    return True


def _counts(machine: Machine, frame: Frame, name: str, found: Sequence[Value], counts: Value, turn: Turn) -> bool:
    """Runs the turn that does something; whether the others do nothing after it."""
    machine.state = machine.state.fork()
    if _ended(machine, frame, counts, turn) != "normal":
        return False
    return all(_does_nothing(machine, frame, name, each, turn) for each in found if each is not counts)


def _does_nothing(machine: Machine, frame: Frame, name: str, item: Value, turn: Turn) -> bool:
    """Tries a turn; the state stays as it is."""
    before, since = machine.state, machine.base.next_index
    machine.state = before.fork()
    try:
        if _ended(machine, frame, item, turn) != "normal":
            return False
        return _is_as(machine.state, before, since, frame.environment.index, name)
    finally:
        machine.state = before


def _ended(machine: Machine, frame: Frame, item: Value, turn: Turn) -> Outcome | None:
    """How a turn ends; None where paths of it have left the loop, or it raises."""
    returns, loops = len(frame.returns), len(frame.loops)
    outer = machine.guards
    # What raises on some paths, or may, is noted nowhere else: a turn that is only tried has to leave no trace.
    own = Guard(any(isinstance(each, Guard) and each.doubts for each in outer), expects=False)
    machine.guards = [*outer, own] if outer else []
    try:
        outcome = turn(item)
    except Raised:
        return None
    finally:
        machine.guards = outer
        has_left = len(frame.returns) > returns or bool(own)
        del frame.returns[returns:], frame.loops[loops:]
    return None if has_left else outcome


def _is_as(state: State, before: State, since: int, environment: int, name: str) -> bool:
    """Nothing older than `since` was changed, but for one name of the frame."""
    if (
        state.globals != before.globals
        or state.events is not before.events
        or len(state.problems) != len(before.problems)
    ):
        return False
    changed = {index: item for index, item in state.above(before.below).items() if index < since}
    own = changed.pop(environment, None)
    return not changed and (own is None or _without(own, name) == _without(before.get(environment), name))


def _without(item: HeapObject | None, name: str) -> tuple[object, ...] | None:
    if not isinstance(item, EnvironmentObject):
        return None
    names = {key: value for key, value in item.names.items() if key != name}
    return names, item.unsure - {name}, item.made, item.parent
