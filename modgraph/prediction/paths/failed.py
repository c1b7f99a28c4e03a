"""Paths that raise: told where others go on, and joined where all of them do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.endings import FAILS, unknown
from modgraph.prediction.domain.events import Lost
from modgraph.prediction.domain.state import State
from modgraph.prediction.paths import recording
from modgraph.prediction.paths.guards import Guard
from modgraph.prediction.paths.joining import join

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def drop(machine: Machine, raised: Sequence[tuple[Raised, State]]) -> None:
    """They raised while others go on: the `try` around them, if there is one, has to go both ways."""
    if machine.leading is not None:
        machine.leading.dropped += [each for each, _ in raised]
    note(machine, [each for each, _ in raised])
    if raised and machine.guards:
        machine.guards[-1].extend(raised)


def note(machine: Machine, raised: Sequence[Raised]) -> None:
    """Why Python or torch refused paths, while others go on: it may be for what an input is taken for."""
    if machine.is_recording and not any(isinstance(each, Guard) and each.expects for each in machine.guards):
        machine.guesses.refusals += [unknown(each).reason for each in raised if each.is_of_rule]
        machine.guesses.raised.update(unknown(each).reason for each in raised)


def tell(machine: Machine, raised: Sequence[tuple[Raised, State]], reason: str) -> None:
    """In a run of `forward`, that one path does not come to its end, where torch refuses what it is given there; in the
    state of those that go on. What a program itself raises is there to be raised."""
    if not machine.is_recording or any(isinstance(each, Guard) and each.expects for each in machine.guards):
        return
    for error, _ in raised:
        if error.refusal is not None:
            recording.add(machine, Lost(f"{FAILS}which {reason}: {_said(error)}", error.asked or error.where))


def _said(error: Raised) -> str:
    return f"{error.name.removeprefix('builtins.')}: {error.message}"


def leave(
    machine: Machine, raised: list[tuple[Raised, State]], reason: str, where: SourceLocation | None, since: int
) -> Raised:
    """What is raised where every path raises; the state becomes that of the first. In a run of `forward` it becomes
    that of all that raise the same, of which it is not known which is taken."""
    error, machine.state = raised.pop(0)
    if not machine.is_recording:
        drop(machine, raised)
        return error
    alike = [(each, state) for each, state in raised if each.name == error.name]
    drop(machine, [(each, state) for each, state in raised if each.name != error.name])
    for each, state in alike:
        machine.state = join(machine.state, state, reason, where, since)
        if each.message not in error.message.split(_OR):
            error.message += f"{_OR}{each.message}"
    return error


_OR = ", or "
