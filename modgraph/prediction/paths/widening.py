"""One state for any number of passes through a body: whatever one pass changes, any number may have changed.

So what grew is open. It is a join of the state before and that after a pass, run until a further pass changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.events import Cell, Repeat, since
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import OPEN, Address, Choice, Unknown, Value
from modgraph.prediction.paths import joining_events
from modgraph.prediction.paths.joining import Joiner
from modgraph.prediction.paths.orders import merged_order

MAX_TENSORS = 4
"""Tensors that one name may stand for in a loop."""


def widen(
    before: State,
    after: State,
    reason: str,
    where: SourceLocation | None,
    since: int,
    *,
    keeps_names: bool = False,
    turn: int | None = None,
) -> bool:
    """Changes `before` into what holds after any number of passes, one of which leads to `after`; False if nothing
    had to change. With `keeps_names`, what a module has registered since may be there, but nothing else of its kind.
    Objects from address `turn` on are this pass's own, for which those of the first stand."""
    widener = _Widener(before, after, reason, where, since)
    widener.keeps_names, widener.turn = keeps_names, turn
    return widener.run()


class _Widener(Joiner):
    growth_is_open = True
    keeps_names = False
    turn: int | None = None

    def join_events(self) -> None:
        before, turn = self.ways_told()
        chain = joining_events.repeated(self.first.events, turn, self.reason, self.where, self.twins)
        if not self.ways:
            self.first.events = chain
        elif chain is not None and isinstance(chain.event, Repeat):
            begun = chain.before
            for alias in since(before, self.first.events):
                begun = Cell(begun, alias)
            self.first.events = Cell(begun, chain.event)
        else:
            self.first.events = joining_events.joined(before, turn, self.reason, self.where, {})

    def made_apart(self, _mine: int, _other: int) -> bool:
        """The first turn's objects stand for those of the later ones, which began with them."""
        return True

    def differing(self, mine: Value, other: Value) -> Value:
        either = self.one_of_tensors(mine, other) if self.first.events is not None else None
        return either or self.unknown(of=(mine, other))

    def one_of_tensors(self, mine: Value, other: Value) -> Value | None:
        """In a run that is followed: the tensor of before the loop, or that of a turn; None where these are none."""
        known = mine.alternatives if isinstance(mine, Choice) else (mine,)
        further = [
            each
            for each in (other.alternatives if isinstance(other, Choice) else (other,))
            if each not in known and not self._stands_for(known, each)
        ]
        both = (*known, *further)
        if not further:
            is_decided = isinstance(mine, Choice) and bool(mine.when)  # in one turn; in others it may be another
            self.changed = is_decided
            return replace(mine, when=()) if isinstance(mine, Choice) and is_decided else mine
        if len(both) > MAX_TENSORS or not all(
            isinstance(each, Address) and isinstance(self.second.read(each), TensorObject) for each in both
        ):
            return None
        return Choice(both, self.reason, self.where)

    def _stands_for(self, known: Iterable[Value], value: Value) -> bool:
        return isinstance(value, Address) and any(
            isinstance(each, Address) and each.index >= self.since and self.alike(each, value) for each in known
        )

    def objects_of(self, values: Iterable[Value]) -> frozenset[int]:
        """Without those that a later turn has made: the first turn's stand for them."""
        found = points_to.objects_of(values)
        turn = self.turn
        return frozenset(index for index in found if index < turn) if found and turn is not None else found

    def made(self, other: Unknown) -> Unknown:
        return replace(other, may_be=self.objects_of((other,))) if other.may_be else other

    def gone(self, value: Value) -> Value:
        """An entry that a turn has removed: it is not there any more, or not yet."""
        if isinstance(value, Unknown) and value.optional:
            return value
        self.changed = True
        return self.single(value)

    def store(self, mine: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
        merged = {
            key: self.value(value, other[key]) if key in other else self.gone(value) for key, value in mine.items()
        }
        if other.keys() <= mine.keys():
            pass
        elif self.keeps_names:
            self.changed = True
            order = merged_order(list(mine), list(other))
            merged = {key: merged[key] if key in merged else self.single(other[key]) for key in order}
        elif not isinstance(further := merged.get(OPEN), Unknown) or further.text is not None:
            self.changed = True
            kept = self.unknown(optional=True)
            unsure = {each for each in merged.values() if isinstance(each, Unknown) and _barely(each) == kept}
            merged = {OPEN if value in unsure else key: value for key, value in merged.items()}
            merged[OPEN] = self.unknown(of=[*unsure, *(each for key, each in other.items() if key not in mine)])
        return merged


def _barely(value: Unknown) -> Unknown:
    """Why it is not known, with nothing said of what it may be."""
    return replace(value, inert=False, outside=False, may_be=frozenset())
