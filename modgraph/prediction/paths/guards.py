"""What leaves a block before its end: exceptions that some paths raise, or may raise, and paths that returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import Frame, Outcome
from modgraph.prediction.domain.objects import EnvironmentObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import Unknown, Value
from modgraph.prediction.paths.joining import join_later

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

OPERATION = "an operation"
"""Name of what an attribute, an item or a conversion of something unknown may raise; not one of importing."""

CALL = "a call"
"""The same of a call of something unknown, which may raise anything."""


@dataclass(slots=True)
class _Doubt:
    """What is to be handled if one kind of exception is raised somewhere between its first place and its latest."""

    state: State
    """What holds at some of these places: each of them is between what stands here."""
    latest: State
    """As it was at the latest of them; never changed."""


class Guard(list[tuple[Raised, State]]):
    """Of an interpreted `try` or `with` that runs: paths that raised while others went on."""

    def __init__(self, doubts: bool = True, expects: bool = True) -> None:
        super().__init__()
        self.doubts = doubts
        """What only may be raised is of interest too."""
        self.expects = expects
        """It is there because something may be raised: a `try`, no `with`."""
        self.doubtful: dict[str, _Doubt] = {}
        """By what may be raised."""


PROXIES = ("weakref", "<proxies>")
"""Where a state keeps that there are some of objects that may be gone when they are asked for something."""


def may_be_gone(machine: Machine) -> None:
    """What runs here may ask a proxy for something whose object is gone: ReferenceError."""
    if PROXIES in machine.state.globals or PROXIES in machine.base.globals:
        machine.may_fail()


def forget(raised: list[tuple[Raised, State]], number: int) -> None:
    """Of paths that raised, all but so many first ones: what they come after is followed in another way."""
    states = [state for _, state in raised[number:]]
    del raised[number:]
    if isinstance(raised, Guard):
        gone = [name for name, doubt in raised.doubtful.items() if any(doubt.state is each for each in states)]
        for name in gone:
            del raised.doubtful[name]


def may_fail(machine: Machine, name: str = OPERATION) -> None:
    """What is done here may raise: the `try` around it has to go both ways.

    All places at which the same may be raised are one path, on which it is raised at one of them. To add a place costs
    what was changed since the one before.
    """
    machine.doubts += 1
    guard = next((each for each in reversed(machine.guards) if isinstance(each, Guard) and each.doubts), None)
    if guard is None or not machine.frames:
        return
    here = machine.state
    doubt = guard.doubtful.get(name)
    if doubt is None:
        state = here.fork()
        guard.doubtful[name] = _Doubt(state, state.fork())
        guard.append((_raised(machine, state, name), state))
    elif not here.is_as(doubt.latest):
        reason = "depends on whether an exception is raised"
        join_later(doubt.state, here, here.changed_since(doubt.latest), reason, machine.where, machine.base.next_index)
        doubt.latest = here.fork()


def may_refuse(machine: Machine, name: str) -> None:
    """The same of what only some numbers or lengths make fail; torch's own code asks for none of them."""
    if machine.frames and machine.frames[-1].module.partition(".")[0] != "torch":
        may_fail(machine, name)


def go_on_raising(machine: Machine, raised: list[tuple[Raised, State]]) -> None:
    """These were raised on some paths, inside of what was followed apart."""
    for name in dict.fromkeys(error.name for error, _ in raised if error.name in (OPERATION, CALL)):
        may_fail(machine, name)
    known = [each for each in raised if each[0].name not in (OPERATION, CALL)]
    if machine.leading is not None:
        machine.leading.dropped += [error for error, _ in known]
    if machine.guards:
        machine.guards[-1].extend(known)


def _raised(machine: Machine, state: State, name: str) -> Raised:
    if name in (OPERATION, CALL):
        return Raised(Unknown(f"what {name} on something unknown raises", machine.where), name, "...", machine.where)
    here, machine.state = machine.state, state
    raised = machine.raises(name, "...")
    machine.state = here
    return raised


def bound(machine: Machine, environment: EnvironmentObject, name: str, value: Value) -> Value:
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

    def run(self, machine: Machine, last: Callable[[], Outcome]) -> None:
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


def _run(machine: Machine, state: State, last: Callable[[], Outcome]) -> Outcome | None:
    machine.state = state
    try:
        return last()
    except Raised as raised:
        machine.may_raise(raised)
        return None
