"""Loops of a run that is followed: where nobody can tell when one ends, its turns are told as one that may repeat.

Turns that may end a loop are followed one by one first, as most loops come to an end. One that does not is taken up
again where it may have ended for the first time, and has any number of turns from there on. Where no further turn can
end it, whatever the ones before it did, it never ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modgraph.graph.model import OPEN_TURNS
from modgraph.prediction.domain import events
from modgraph.prediction.domain.frames import Frame, Loop
from modgraph.prediction.domain.limits import (
    MAX_RECORDED_ENDS,
    MAX_RECORDED_TURNS,
    MAX_UNDECIDED_ENDS,
    TURNS_BEFORE_DOUBT,
    EndlessError,
)
from modgraph.prediction.domain.state import State
from modgraph.prediction.paths.guards import Guard, forget

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

HOW_FAR = OPEN_TURNS


def may_have_ended(loop: Loop, n_returns: int = 0) -> bool:
    """It may have been left in so many turns, some by a `return`, that how far it comes is as good as not known."""
    return len(loop.breaks) + n_returns > MAX_UNDECIDED_ENDS


@dataclass(slots=True)
class _Point:
    """Where a loop stood before one of its turns."""

    state: State
    breaks: int
    returns: int
    raised: int


class Ends:
    """When a loop may have ended so far."""

    def __init__(self, machine: Machine, frame: Frame, loop: Loop, *, can_go_back: bool = True) -> None:
        """`can_go_back`: nothing but the state says how far it has come; not where a generator does."""
        self._can_go_back = can_go_back
        self._machine, self._frame, self._loop = machine, frame, loop
        self._guard = machine.guards[-1] if machine.guards else []
        self._n_returns = len(frame.returns)
        self._before = self._n_returns + len(self._guard)
        self._n_left = 0
        self._may_have_ended = 0
        """In how many turns."""
        self._turns = 0
        self._second: _Point | None = None
        """Before its second turn."""
        self._first_end: _Point | None = None
        """Before the turn after the one in which it may have ended for the first time."""

    def begins_turn(self) -> None:
        """Of a turn that begins, or may."""
        n_left = len(self._loop.breaks) + len(self._frame.returns) + len(self._guard) - self._before
        if n_left > self._n_left:
            self._n_left = n_left
            self._may_have_ended += 1
        if not self.is_told or not self._can_go_back:
            return
        if self._turns == 1:
            self._second = self._point()
        if self._may_have_ended and self._first_end is None:
            self._first_end = self._point()
        self._turns += 1

    @property
    def is_told(self) -> bool:
        """A run is followed on all its paths."""
        return self._machine.is_recording and self._machine.leading is None

    def _point(self) -> _Point:
        return _Point(self._machine.state.fork(), len(self._loop.breaks), len(self._frame.returns), len(self._guard))

    @property
    def is_open(self) -> bool:
        """It may have ended in so many turns that how far it comes is as good as not known."""
        if self.is_told:
            return self._may_have_ended > MAX_RECORDED_ENDS
        return may_have_ended(self._loop, len(self._frame.returns) - self._n_returns)

    @property
    def is_open_and_alike(self) -> bool:
        """It is open, and one turn of it calls what the others call: in a run that is told."""
        if not self.is_told or not self.is_open or self._first_end is None:
            return False
        happened = events.since(self._machine.state.events, self._first_end.state.events)
        called = Counter(each.module for each in events.every_event(happened) if isinstance(each, events.Enter))
        return all(number > MAX_RECORDED_ENDS // 2 for number in called.values())

    @property
    def has_many(self) -> bool:
        """More turns were followed than are worth being told one by one."""
        if self._turns <= MAX_RECORDED_TURNS or self._second is None:
            return False
        return self._machine.state.events is not self._second.state.events

    def go_back(self) -> None:
        """To where it may have ended for the first time, or to its second turn."""
        point = self._first_end or self._second
        if point is not None:
            self._back_to(point)

    def _back_to(self, point: _Point) -> None:
        self._machine.state = point.state
        del self._loop.breaks[point.breaks :], self._frame.returns[point.returns :]
        forget(self._guard, point.raised)

    def require_end(self, any_turns: Callable[[], bool]) -> None:
        """Asked now and then of a loop that has gone on for some turns.

        Args:
            any_turns: goes through any number of turns; whether its test, or a `break`, may end it.

        Raises:
            EndlessError: nothing can end it.
        """
        if not self.is_told or self._turns != TURNS_BEFORE_DOUBT or self._may_have_ended:
            return
        if self._may_end(any_turns):
            return
        assert self._second is not None
        where = self._frame.location()
        self._back_to(self._second)
        any_turns()
        raise EndlessError(where)

    def _may_end(self, any_turns: Callable[[], bool]) -> bool:
        machine, frame = self._machine, self._frame
        point = self._point()
        guard = Guard(doubts=False, expects=False)
        outer, statement = machine.guards, frame.statement
        machine.guards = [guard]
        try:
            return any_turns() or bool(guard) or len(frame.returns) > point.returns
        finally:
            machine.guards, frame.statement = outer, statement
            self._back_to(point)
