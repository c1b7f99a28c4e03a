"""What leaves a block before its end: exceptions that some paths raise, or may raise, and paths that returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from modgraph.prediction.frames import Frame, Outcome
from modgraph.prediction.joining import join
from modgraph.prediction.knowledge.registry import Raised
from modgraph.prediction.objects import EnvironmentObject
from modgraph.prediction.state import State
from modgraph.prediction.values import Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

OPERATION = "an operation"
"""Name of what an attribute, an item or a conversion of something unknown may raise; not one of importing."""

CALL = "a call"
"""The same of a call of something unknown, which may raise anything."""


class Guard(list[tuple[Raised, State]]):
    """Of an interpreted `try` or `with` that runs: paths that raised while others went on."""

    def __init__(self, doubts: bool = True, expects: bool = True) -> None:
        super().__init__()
        self.doubts = doubts
        """What only may be raised is of interest too."""
        self.expects = expects
        """It is there because something may be raised: a `try`, no `with`."""
        self.places: dict[tuple[int, str], tuple[int, int]] = {}
        """By statement and name: which entry has what may be raised there, and the first address made after that."""


def may_fail(machine: Interpreter, name: str) -> None:
    """What is done here may raise: the `try` around it has to go both ways."""
    machine.doubts += 1
    guard = next((each for each in reversed(machine.guards) if isinstance(each, Guard) and each.doubts), None)
    if guard is None or not machine.frames:
        return
    place = (id(machine.frames[-1].statement), name)
    state = machine.state.fork()
    reason = "depends on whether an exception is raised"
    if place in guard.places:
        number, since = guard.places[place]
        raised, before = guard[number]
        guard[number] = (raised, join(before, state, reason, machine.where, since))
        return
    guard.places[place] = (len(guard), machine.base.next_index)
    if name in (OPERATION, CALL):
        raised = Raised(Unknown(f"what {name} on something unknown raises", machine.where), name, "...", machine.where)
    else:
        here, machine.state = machine.state, state
        raised = machine.raises(name, "...")
        machine.state = here
    guard.append((raised, state))


def bound(machine: Interpreter, environment: EnvironmentObject, name: str, value: Value) -> Value:
    """The value of a local name; where only some paths have bound it, reading it may raise."""
    if name in environment.unsure:
        may_fail(machine, "UnboundLocalError")
    return value


class Leaving:
    """Which paths leave a block by a `return`, `break` or `continue` while others go on."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.returned = len(frame.returns)
        loop = frame.loops[-1] if frame.loops else None
        self.broken = (len(loop.breaks), len(loop.continues)) if loop is not None else (0, 0)

    def run(self, machine: Interpreter, last: Callable[[], Outcome]) -> None:
        """Runs on each of them what is run whenever the block is left."""
        frame, here, value = self.frame, machine.state, self.frame.value
        returns, frame.returns[self.returned :] = frame.returns[self.returned :], []
        for given, state in returns:
            frame.value = given
            if _run(machine, state, last) is not None:
                frame.returns.append((frame.value, machine.state))
        if frame.loops:
            loop = frame.loops[-1]
            for states, before in ((loop.breaks, self.broken[0]), (loop.continues, self.broken[1])):
                left, states[before:] = states[before:], []
                for state in left:
                    outcome = _run(machine, state, last)
                    if outcome == "return":
                        frame.returns.append((frame.value, machine.state))
                    elif outcome is not None:
                        states.append(machine.state)
        machine.state, frame.value = here, value


def _run(machine: Interpreter, state: State, last: Callable[[], Outcome]) -> Outcome | None:
    machine.state = state
    try:
        return last()
    except Raised as raised:
        machine.may_raise(raised)
        return None
