"""Conditions on sizes that are left open: which of them the model requires, and which only say what way was followed.

Each is tried. With sizes that break that one, and none of the others if there are such, `forward` is followed once
more: where that is refused, the model requires it; where it comes to its end, a test of the program has come out
otherwise, and what is called then is told beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from modgraph.graph.model import Condition, SourceLocation
from modgraph.prediction.domain import forms
from modgraph.prediction.domain.constraints import contrary, reduced, simplest, substituted, without_implied, written
from modgraph.prediction.domain.events import Either, Enter, Event, Leave, Operate, Repeat, Seen
from modgraph.prediction.domain.forms import Form
from modgraph.prediction.domain.limits import MAX_SIZE_WAYS, MAX_SIZE_WORK, SHARE_OF_SIZE_WORK
from modgraph.prediction.domain.sizes import Conditions, Needed, Relation, witness_of
from modgraph.prediction.domain.values import Address
from modgraph.prediction.entry import Prediction
from modgraph.prediction.forward.running import Followed, follow, told_by_input
from modgraph.prediction.forward.solving import breaking

_LAST_TESTS = 3
"""Of a run that was refused: one of them is why."""
_TRIES = 2
"""Sizes that are refused somewhere behind the test, until it is said that the model requires what it asked."""

_MOST_STEPS = 3
"""Conditions that are broken one after the other while nothing new is called: turns of a loop that a size counts."""

_Condition = tuple[Form, Relation]


@dataclass(frozen=True)
class SizeWay:
    """What `forward` does with sizes that break a condition under which another run went its way."""

    followed: Followed
    condition: Condition
    """What of these sizes leads to it, beside what the first run needs."""
    otherwise: tuple[Condition, ...]
    """What leads past it, of the first run, and of each way that it comes of."""
    parent: int | None = None
    """The way that it parts from, by its place; None for the first run."""
    is_told: bool = True
    """False for one that calls nothing new: what is not done there is certain no more."""
    is_same: bool = False
    """It does what the run does that it parts from."""


@dataclass(frozen=True)
class Judged:
    """A run, its conditions told apart, and where else it may go."""

    followed: Followed
    ways: tuple[SizeWay, ...] = ()


def judged(prediction: Prediction, followed: Followed, training: bool | None, every_way: bool) -> Judged:
    """The run with what the model requires of its sizes, and what was followed; with the ways of other sizes."""
    conditions = followed.conditions
    if conditions is None or not conditions.needed:
        return Judged(followed)
    found = reduced(conditions.needed.values())
    if followed.failure is not None or followed.has_run_out:
        return Judged(_told(followed, (), found))
    judge = _Judge(prediction, training, every_way)
    required = judge.of_first(followed)
    rest = [each for each in found if each not in required and each not in judge.idle]
    rest += [each for each in judge.untried if each not in required]
    return Judged(_told(followed, required, rest), tuple(judge.ways))


def _told(followed: Followed, required: Sequence[_Condition], rest: Sequence[_Condition]) -> Followed:
    one, two = (told_by_input(written(each), followed.specs, followed.names) for each in (required, rest))
    inputs = tuple(
        replace(each, constraints=one.get(each.name, ()), followed=two.get(each.name, ())) for each in followed.inputs
    )
    return replace(followed, inputs=inputs)


@dataclass(frozen=True)
class _Pending:
    """A run of which the conditions are still to be tried."""

    followed: Followed
    steps: tuple[_Condition, ...] = ()
    """The conditions that were broken one after the other, on the sizes of the first run."""
    place: int | None = None
    """Among the ways; None for the first run."""
    is_idle: bool = False
    """It does what the first run does, and without the conditions that were broken."""


class _Judge:
    """The further runs of one model; they are counted, and their work is a share of what the prediction took."""

    def __init__(self, prediction: Prediction, training: bool | None, every_way: bool) -> None:
        self.prediction = prediction
        self.training = training
        self.every_way = every_way
        self.ways: list[SizeWay] = []
        self.idle: list[_Condition] = []
        """Conditions of the first run without which all that is told holds as well."""
        self.untried: list[_Condition] = []
        """What these runs ask for in their turn, and of which it is not known what is without it."""
        self.refusing: set[object] = set()
        """Tests by their line of which was seen that what does not meet them is refused."""
        self.runs: dict[tuple[tuple[str, int], ...], Followed | None] = {}
        self.called: set[Address] = set()
        """Modules that some run has called."""
        self.left = MAX_SIZE_WAYS
        self.units = max(MAX_SIZE_WORK, prediction.machine.work // SHARE_OF_SIZE_WORK)

    def of_first(self, first: Followed) -> list[_Condition]:
        """Which of the conditions the model requires; fills `ways`."""
        required: list[_Condition] = []
        beyond: list[_Condition] = []
        self.called |= _called(first)
        pending = [_Pending(first)]
        known: set[str] = set()
        while pending:
            at = pending.pop(0)
            conditions = _compared(at.followed)
            for each in conditions:
                text = _text(each)
                if text in known:
                    continue
                known.update((text, _text(contrary(*each))))
                other = self._without(at.followed, each, conditions)
                if other is True and at.followed is first:
                    required.append(each)
                elif at.is_idle and not isinstance(other, Followed) and _goes_further(each, at.steps, first):
                    (beyond if other else self.untried).append(_of_sizes(each, _conditions_of(first)))
                elif isinstance(other, Followed):
                    self._take(at, other, each, first, pending)
        needed = [each for each in required if all(_needs(way.followed, each) for way in self.ways)]
        return [
            *needed,
            *(each for each in beyond if all(way.is_same or _needs(way.followed, each) for way in self.ways)),
        ]

    def _take(
        self, at: _Pending, other: Followed, broken: _Condition, first: Followed, pending: list[_Pending]
    ) -> None:
        """A run that comes to its end with other sizes: one of the ways, if it is another, or may lead to one."""
        is_alike = _signature(other.events, True) == _signature(at.followed.events, True)
        is_idle = is_alike and (at.followed is first or at.is_idle)
        if at.followed is first and (is_alike or _says_the_same(first, other, broken)):
            self.idle.append(broken)
        if not other.is_whole:
            return
        steps = (*at.steps, _of_sizes(broken, _conditions_of(first)))
        is_same = is_alike or _signature(other.events, False) == _signature(at.followed.events, False)
        called = _called(other)
        is_told = not is_same and (not at.steps or not called <= self.called)
        self.called |= called
        where = _place_of(at.followed, broken)
        otherwise = tuple(_condition(_past(steps[level:]), where) for level in range(len(steps)))
        if is_told or is_idle or len(at.steps) < _MOST_STEPS:
            pending.append(_Pending(other, steps, len(self.ways), is_idle))
        leading = _condition(" and ".join(written(_leading(steps))), where)
        self.ways.append(SizeWay(other, leading, otherwise, at.place, is_told, is_same))

    def _without(self, at: Followed, broken: _Condition, all_of: Sequence[_Condition]) -> Followed | bool | None:
        """The run with sizes that break the condition, where it comes to its end; True where the model refuses them;
        None where that is not known."""
        conditions = at.conditions
        assert conditions is not None
        test = _test_of(conditions, broken)
        if test in self.refusing:
            return True
        refused = False
        for witnesses in self._tries(conditions, broken, all_of):
            found = self._run(at, witnesses)
            if found is None or (found.failure is not None and not found.is_refused):
                return None
            if not found.is_refused:
                return None if _is_degenerate(found) else found
            refused = True
            if _is_why(found, broken):
                self.refusing.add(test)
                return True
        return True if refused else None

    def _tries(
        self, conditions: Conditions, broken: _Condition, all_of: Sequence[_Condition]
    ) -> Iterator[dict[str, int]]:
        asked = [simplest(each.form, each.relation) for each in conditions.needed.values()]
        earlier = set(asked[: asked.index(broken)]) if broken in asked else set()
        others = [each for each in all_of if each != broken]
        before = [each for each in others if each in earlier]
        for number, witnesses in enumerate(breaking(conditions, broken, before, others)):
            if number == _TRIES:
                return
            yield witnesses

    def _run(self, at: Followed, witnesses: Mapping[str, int]) -> Followed | None:
        key = tuple(sorted(witnesses.items()))
        if key not in self.runs:
            self.runs[key] = self._run_anew(at, witnesses)
        return self.runs[key]

    def _run_anew(self, at: Followed, witnesses: Mapping[str, int]) -> Followed | None:
        machine = self.prediction.machine
        before, left = machine.work, machine.forward_left
        if self.left <= 0 or self.units <= 0 or left <= 0:
            return None
        self.left -= 1
        machine.forward_left = min(left, self.units)
        try:
            found = follow(self.prediction, at.specs, self.training, every_way=self.every_way, witnesses=witnesses)
        finally:
            self.units -= machine.work - before
            machine.forward_left = left - (machine.work - before)
        return None if found is None or found.has_run_out else found


def _conditions_of(followed: Followed) -> Conditions:
    assert followed.conditions is not None
    return followed.conditions


def _goes_further(condition: _Condition, steps: Sequence[_Condition], first: Followed) -> bool:
    """Where it does not hold, none of the conditions does that were broken on the way to it."""
    broken = contrary(*_of_sizes(condition, _conditions_of(first)))
    return all(len(without_implied([broken, contrary(*step)])) == 1 for step in steps)


def _compared(followed: Followed) -> list[_Condition]:
    """The conditions that came of tests: where Python needed a number, any other may be as good."""
    assert followed.conditions is not None
    return reduced(each for each in followed.conditions.needed.values() if not each.asked)


def _needed(conditions: Conditions, condition: _Condition) -> Needed | None:
    """Where it was first asked for."""
    return next((each for each in conditions.needed.values() if simplest(each.form, each.relation) == condition), None)


def _test_of(conditions: Conditions, condition: _Condition) -> object:
    """What of the program asks for it, whatever it is of."""
    found = _needed(conditions, condition)
    return condition if found is None else (found.where, found.is_of_rule, found.relation)


def _place_of(followed: Followed, condition: _Condition) -> SourceLocation | None:
    """Where the run has asked for it."""
    assert followed.conditions is not None
    found = _needed(followed.conditions, condition)
    return None if found is None else found.where


def _condition(text: str, where: SourceLocation | None) -> Condition:
    file, line = (None, None) if where is None else (where.file, where.line)
    return Condition(text=text, file=file, line=line)


def _leading(broken: Sequence[_Condition]) -> list[_Condition]:
    """What holds where none of the conditions does."""
    return without_implied([contrary(*each) for each in broken])


def _past(broken: Sequence[_Condition]) -> str:
    """What holds where one of the conditions does."""
    leading = _leading(broken)
    return _text(contrary(*leading[0])) if len(leading) == 1 else f"not ({' and '.join(written(leading))})"


def _of_sizes(condition: _Condition, conditions: Conditions) -> _Condition:
    """The condition on the sizes of another run, which has them by the same names."""
    form, relation = condition
    for symbol in form.symbols():
        form = substituted(form, symbol, forms.of(conditions.symbols[symbol.name]))
    return form, relation


def _called(followed: Followed) -> set[Address]:
    return {event.module for event in _all(followed.events) if isinstance(event, Enter)}


def _is_why(refused: Followed, broken: _Condition) -> bool:
    """One of the last tests before the refusal has asked for the condition."""
    assert refused.conditions is not None
    wanted = _text(contrary(*broken))
    last = refused.conditions.decided[-_LAST_TESTS:]
    return any(_text(simplest(form, relation)) == wanted for form, relation in last)


def _needs(followed: Followed, condition: _Condition) -> bool:
    wanted = _text(condition)
    return any(_text(each) == wanted for each in _compared(followed))


def _text(condition: _Condition) -> str:
    return " and ".join(written([condition]))


def _is_degenerate(found: Followed) -> bool:
    """Something has no elements with the sizes that are reckoned with, which torch may refuse."""
    return any(
        size is not None and witness_of(size) <= 0
        for event in _all(found.events)
        if isinstance(event, Leave)
        for seen in event.outputs
        for size in seen.shape or ()
    )


def _all(events: Sequence[Event]) -> Iterator[Event]:
    for event in events:
        yield event
        if isinstance(event, Either):
            yield from _all(event.first)
            yield from _all(event.second)
        elif isinstance(event, Repeat):
            yield from _all(event.events)


def _signature(events: Sequence[Event], with_shapes: bool) -> list[object]:
    """What happens: equal of runs that do the same; with the shapes, where these count."""
    found: list[object] = []
    for event in _all(events):
        kind: object = type(event).__name__
        if isinstance(event, Enter):
            kind = (event.module, event.where, _shapes(event.inputs) if with_shapes else None)
        elif isinstance(event, Leave):
            kind = (event.error, _shapes(event.outputs) if with_shapes else None)
        elif isinstance(event, Operate):
            kind = (event.name, event.where, _shapes(event.outputs) if with_shapes else None)
        found.append(kind)
    return found


def _says_the_same(first: Followed, other: Followed, broken: _Condition) -> bool:
    """What both runs call, they give the same shapes, and the other holds for all sizes that break the condition."""
    assert first.conditions is not None
    assert other.conditions is not None
    known = {_text(each) for each in reduced(first.conditions.needed.values())} | {_text(contrary(*broken))}
    if not all(_text(each) in known for each in reduced(other.conditions.needed.values())):
        return False
    if _calling(other) & _called(first) - _calling(first):  # what is called there has no place in the graph
        return False
    mine, theirs = _given(first), _given(other)
    alike = all(mine[module] == theirs[module] for module in mine.keys() & theirs.keys())
    return alike and _shapes(first.outputs) == _shapes(other.outputs)


def _calling(followed: Followed) -> set[Address]:
    """The modules that call others."""
    found: set[Address] = set()
    opened: list[Address] = []
    for event in _all(followed.events):
        if isinstance(event, Enter):
            found.update(opened[-1:])
            opened.append(event.module)
        elif isinstance(event, Leave) and opened:
            opened.pop()
    return found


def _given(followed: Followed) -> dict[Address, list[tuple[str, ...]]]:
    """The shapes that each module is given, call by call."""
    found: dict[Address, list[tuple[str, ...]]] = {}
    for event in _all(followed.events):
        if isinstance(event, Enter):
            found.setdefault(event.module, []).append(_shapes(event.inputs))
    return found


def _shapes(tensors: Sequence[Seen]) -> tuple[str, ...]:
    return tuple(str(None if each.shape is None else tuple(map(str, each.shape))) for each in tensors)
