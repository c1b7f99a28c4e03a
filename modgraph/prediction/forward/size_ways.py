"""Conditions on sizes that are left open: which of them the model requires, and which only say what way was followed.

`forward` is followed once more with sizes that break one. What such a run does holds wherever all of its own conditions
do; so what is told holds without a condition where the runs that are told hold for all sizes that are left then, and it
is said to be required where runs that are refused hold for all sizes that break it, or for all that were tried. What is
not shown so stays among what was followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum

from modgraph.graph.model import Condition, SourceLocation
from modgraph.prediction.domain import forms
from modgraph.prediction.domain.constraints import (
    contrary,
    implies,
    multiples,
    reduced,
    simplest,
    substituted,
    without_implied,
    written,
)
from modgraph.prediction.domain.events import Assume, Either, Enter, Event, Leave, Operate, Repeat, Seen
from modgraph.prediction.domain.forms import Form, Symbol
from modgraph.prediction.domain.limits import MAX_SIZE_WAYS, MAX_SIZE_WORK, SHARE_OF_SIZE_WORK
from modgraph.prediction.domain.regions import Region, Regions
from modgraph.prediction.domain.sizes import Conditions, Relation, witness_of
from modgraph.prediction.domain.values import Address, Unknown
from modgraph.prediction.entry import Prediction
from modgraph.prediction.forward.running import Followed, follow, told_by_input

_TRIES = 8
"""Sizes that break one condition, of which is seen what the model does there."""
_REFUSED = 3
"""Of these, refused ones, until it is asked whether the model requires the condition."""
_MORE_TRIES = 3
"""Sizes where nothing that is known holds, while nothing new is called: turns of a loop that a size counts."""

_MOST_CONDITIONS = 400
"""Of all runs, of which is asked which few tell the runs from each other."""

_Condition = tuple[Form, Relation]


class _Kind(Enum):
    TOLD = "what both do is of the same shapes"
    OTHER = "something is of another shape"
    REFUSED = "the model does not take these sizes"
    OPEN = "it is not known"


@dataclass(frozen=True)
class _Run:
    """What `forward` does wherever some conditions hold."""

    followed: Followed
    kind: _Kind
    conditions: tuple[_Condition, ...]
    """On the sizes of the first run."""
    asked: frozenset[_Condition]
    """Those of which Python needed a number."""
    of_program: frozenset[_Condition]
    """Those that the program compared, and not functions of torch alone."""
    places: Mapping[_Condition, SourceLocation | None]
    tests: Mapping[_Condition, str]
    """What of the program asked for each."""
    sizes: Mapping[Symbol, int]


@dataclass(frozen=True)
class SizeWay:
    """What `forward` does with sizes that break a condition under which the first run went its way."""

    followed: Followed
    like: int | None = None
    """The run that it does the same as, in the order of the ways; zero is the first run."""
    is_told: bool = True
    """False for one that calls nothing new, where what it does is not told: that is not certain there, all the same."""


@dataclass(frozen=True)
class Judged:
    """A run, its conditions told apart, and where else it may go."""

    followed: Followed
    ways: tuple[SizeWay, ...] = ()
    telling: Telling | None = None
    required: tuple[_Condition, ...] = ()
    kept: tuple[_Condition, ...] = ()
    """What was followed."""
    eased: frozenset[_Condition] = frozenset()
    """What functions of torch alone have asked, of which is known what is otherwise."""


def judged(prediction: Prediction, followed: Followed, training: bool | None) -> Judged:
    """The run with what the model requires of its sizes, and what was followed; with the ways of other sizes."""
    conditions = followed.conditions
    if conditions is None or not conditions.needed:
        return Judged(followed)
    found = reduced(conditions.needed.values())
    if followed.failure is not None or followed.has_run_out:
        return Judged(_told(followed, (), found))
    judge = _Judge(prediction, followed, training)
    judge.judge()
    required = without_implied(judge.required)
    rest = [each for each in without_implied([*required, *judge.kept]) if each not in required]
    ways = tuple(each for _, each in judge.ways)
    telling = Telling(judge.regions, [judge.first, *(run for run, _ in judge.ways)], judge.are_all(required))
    told = _told(followed, required, rest)
    return Judged(told, ways, telling, tuple(required), tuple(rest), frozenset(judge.eased))


def untold(followed: Followed, why: Unknown) -> Judged:
    """The run, where its conditions could not be told apart: each of them that can be written is what was followed."""
    texts: list[str] = []
    for each in () if followed.conditions is None else followed.conditions.needed.values():
        with suppress(Exception):
            texts += written([(each.form, each.relation)])
    told = told_by_input(list(dict.fromkeys(texts)), followed.specs, followed.names)
    inputs = tuple(replace(each, followed=told.get(each.name, ())) for each in followed.inputs)
    return Judged(replace(followed, inputs=inputs, failure=followed.failure or why))


def beside(judgement: Judged, other: Followed) -> Judged:
    """The same, where a run with other arguments is told, too, which was followed with some sizes alone."""
    first = judgement.followed
    if first.conditions is None or other.conditions is None or not _called(other) - _called(first):
        return judgement
    asked = [
        _on(simplest(each.form, each.relation), first.conditions.symbols)
        for each in other.conditions.needed.values()
        if each.asked or not each.is_of_rule
    ]
    known = {*judgement.required, *judgement.eased}
    held = without_implied([*judgement.required, *judgement.kept, *(each for each in asked if each not in known)])
    rest = [each for each in held if each not in known]
    return replace(judgement, followed=_told(first, judgement.required, rest), kept=tuple(rest))


def _told(followed: Followed, required: Sequence[_Condition], rest: Sequence[_Condition]) -> Followed:
    one, two = (told_by_input(written(each), followed.specs, followed.names) for each in (required, rest))
    inputs = tuple(
        replace(each, constraints=one.get(each.name, ()), followed=two.get(each.name, ())) for each in followed.inputs
    )
    return replace(followed, inputs=inputs, known=multiples(required))


def also_known(followed: Followed, told: Followed) -> Followed:
    """A run with other sizes, in which holds as well what the model requires of those of the first."""
    symbols = {} if followed.conditions is None else followed.conditions.symbols
    known = {symbols[each.name]: by for each, by in told.known.items() if each.name in symbols}
    return replace(followed, known=known)


class Telling:
    """Says when one of some runs is gone, of which each has conditions of its own."""

    def __init__(self, regions: Regions, runs: Sequence[_Run], are_all: bool = True) -> None:
        self.regions = regions
        self.runs = runs
        self.are_all = are_all
        """There are no sizes but those of these runs, and those that are refused: what tells these from each other says
        nothing of others."""
        self._found: dict[frozenset[int], Condition] = {}

    def when(self, gone: frozenset[int]) -> Condition:
        """What tells the sizes of these runs from those of all others."""
        if gone not in self._found:
            self._found[gone] = self._when(gone)
        return self._found[gone]

    def _when(self, gone: frozenset[int]) -> Condition:
        parts, where = self._few_parts(gone) if self.are_all else ([], None)
        if not parts:
            return self.asked(gone)
        if len(parts) > 1:
            past, _ = self._parts(frozenset(range(len(self.runs))) - gone)
            bound = self.regions.as_one(parts)
            if bound is not None:
                parts = [[bound]]
            elif len(past) == 1 and len(past[0]) == 1:
                parts = [[contrary(*past[0][0])]]
        texts = list(dict.fromkeys(" and ".join(written(part)) for part in parts))
        text = " or ".join(f"({each})" if len(texts) > 1 and " and " in each else each for each in texts)
        return Condition(text=text, file=where.file if where else None, line=where.line if where else None)

    def _few_parts(self, gone: frozenset[int]) -> tuple[list[list[_Condition]], SourceLocation | None]:
        """None where there is too much to look at."""
        held = sum(len(run.conditions) for run in self.runs)
        return self._parts(gone) if held <= _MOST_CONDITIONS else ([], None)

    def asked(self, gone: frozenset[int]) -> Condition:
        """The test of the program that comes out in one way where one of these runs goes."""
        others = {each for place, run in enumerate(self.runs) if place not in gone for each in run.conditions}
        tested = [
            (run.tests[each], run.places.get(each), (each in others, each not in run.asked))
            for run in (self.runs[place] for place in sorted(gone))
            for each in run.conditions
            if run.tests.get(each)
        ]
        test, where, _ = min(tested, key=lambda each: each[2], default=("sizes that were not all tried", None, ()))
        text = f"depends on {test}"
        return Condition(text=text, file=where.file if where else None, line=where.line if where else None)

    def _parts(self, gone: frozenset[int]) -> tuple[list[list[_Condition]], SourceLocation | None]:
        """Conditions of which one group holds wherever one of these runs goes; and where one of them was asked for."""
        others = [run for place, run in enumerate(self.runs) if place not in gone]
        parts: list[list[_Condition]] = []
        where: SourceLocation | None = None
        for place in sorted(gone):
            run = self.runs[place]
            if any(self._says_more(run.conditions, part) for part in parts):
                continue
            part = self._least(run, others)
            parts.append(part)
            where = where or next((found for each in part if (found := run.places.get(each)) is not None), None)
        least = list(parts)
        for each in parts:  # of two that say the same, one stays
            if any(self._says_more(each, other) for other in least if other is not each):
                least.remove(each)
        return least, where

    def _says_more(self, part: Sequence[_Condition], other: Sequence[_Condition]) -> bool:
        region = self.regions.of(part)
        return all(self.regions.implied(region, each) for each in other)

    def _least(self, run: _Run, others: Sequence[_Run]) -> list[_Condition]:
        """The fewest of a run's conditions of which some holds nowhere where another run goes."""
        kept = list(run.conditions)
        if not all(self._are_apart(kept, other) for other in others):
            return kept
        for each in sorted(run.conditions, key=lambda each: each not in run.asked):
            fewer = [other for other in kept if other != each]
            if fewer and all(self._are_apart(fewer, other) for other in others):
                kept = fewer
        return kept

    def _are_apart(self, conditions: Sequence[_Condition], other: _Run) -> bool:
        return self.regions.of(other.conditions, self.regions.of(conditions)).is_empty


class _Judge:
    """The further runs of one model; they are counted, and their work is a share of what the prediction took."""

    def __init__(self, prediction: Prediction, first: Followed, training: bool | None) -> None:
        self.prediction = prediction
        self.training = training
        self.regions = Regions(_conditions_of(first).symbols.values())
        self.held = {symbol: symbol.witness for symbol in self.regions.symbols}
        self.first = self._run_of(first, self.held, _Kind.TOLD)
        self.runs = [self.first]
        self.ways: list[tuple[_Run, SizeWay]] = []
        self.required: list[_Condition] = []
        self.kept = list(self.first.conditions)
        """What was followed."""
        self.eased: dict[_Condition, tuple[_Condition, ...]] = {}
        """Conditions of torch's functions, and what is enough for these to give the same."""
        self.same = True
        """All runs that are told do the same."""
        self.called = _called(first)
        """Modules that some run has called."""
        self.left = MAX_SIZE_WAYS
        self.units = max(MAX_SIZE_WORK, prediction.machine.work // SHARE_OF_SIZE_WORK)
        self.asked = 0
        """Of the regions, as far as it was counted."""
        self._is_over()

    def judge(self) -> None:
        """Fills `required`, `kept` and `ways`."""
        for each in _compared(self.first.followed):
            if self._is_over():
                return  # what was not tried stays among what was followed
            self._try(each)
        self._go_on()

    def _is_over(self) -> bool:
        """As much was done for this one prediction as may be, what was asked of regions included."""
        self.units -= self.regions.work - self.asked
        self.asked = self.regions.work
        self.regions.most = self.asked + max(0, self.units)
        return self.units <= 0

    def are_all(self, required: Sequence[_Condition]) -> bool:
        """The runs are of all sizes that the model takes, and for which what was compared holds that is told as
        followed: where Python needed a number, what happens with others is not known."""
        region = self.regions.of([*required, *(each for each in self.kept if each not in self.first.asked)])
        return not self._is_over() and self.regions.uncovered(region, [run.conditions for run in self.runs]) is None

    def _try(self, condition: _Condition) -> None:
        rest = [each for each in self.kept if each != condition]
        compared = [each for each in rest if each not in self.first.asked]
        besides = ([*self.required, *rest], [*self.required, *compared], self.required, ())
        regions = [self.regions.of([contrary(*condition), *beside]) for beside in besides]
        place = next((n for n, each in enumerate(regions) if self.regions.within(each, self.held) is not None), None)
        if place is None:
            return
        was_refused = self._explore(regions[place], condition)
        if place == len(besides) - 1 and self.required:  # what else is required was broken, too, which may be all
            was_refused = False
        weaker = self._without(condition, rest) if condition in self.kept else None
        if weaker is not None:
            self.kept = [*rest, *weaker]
            self._ease(condition, weaker)
        for each in [condition] if weaker is None else weaker:
            if was_refused and self._is_required(each):
                self.required.append(each)
                self.kept = [other for other in self.kept if other != each]

    def _ease(self, condition: _Condition, weaker: Sequence[_Condition]) -> None:
        """Where functions of torch alone compare, and give the same, nothing else depends on it: other runs
        that do the same do it wherever that is so."""
        differing = {
            each
            for run in self.runs
            if run.kind is _Kind.TOLD
            for each in run.conditions
            if each not in self.first.conditions and each[0].symbols() & condition[0].symbols()
        }
        others = [each for each in self.first.conditions if each != condition]
        mixed = any(each[0].symbols() & condition[0].symbols() for each in others)
        of_program = {each for run in self.runs for each in run.of_program}
        if not mixed and self.same and not of_program & {condition, *differing}:
            self.eased[condition] = tuple(weaker)
            self.runs = [self._eased(run) for run in self.runs]

    def _eased(self, run: _Run) -> _Run:
        if run.kind is not _Kind.TOLD or run.followed is self.first.followed:
            return run
        found = tuple(new for each in run.conditions for new in self.eased.get(each, (each,)))
        return replace(run, conditions=found)

    def _without(self, condition: _Condition, rest: Sequence[_Condition]) -> list[_Condition] | None:
        """What less must hold for all that is told than a condition; None where that is not known."""
        told = [run.conditions for run in self.runs if run.kind is _Kind.TOLD]
        less = dict.fromkeys(each for run in told for each in run if each != condition and implies(condition, each))
        least = sorted(less, key=lambda each: sum(implies(each, other) for other in less))
        for weaker in ([], *([each] for each in least)):
            region = self.regions.of([*self.required, *rest, *weaker])
            if self.regions.uncovered(region, told) is None:
                return weaker
        return None

    def _is_required(self, condition: _Condition) -> bool:
        """Sizes that break it alone are refused: that those are which break another condition, too, says nothing."""
        broken = contrary(*condition)
        taken = [run for run in self.runs if run.kind in (_Kind.TOLD, _Kind.OTHER)]
        if not all(self._excludes(run, condition) for run in taken):
            return False
        region = self.regions.of([broken, *self.required])
        for how in ("most", "least", "beside", "beside"):
            refused = [run.conditions for run in self.runs if run.kind is _Kind.REFUSED]
            left = self.regions.uncovered(region, refused)
            if left is None:
                return True
            sizes = self.regions.within(left, self.held) if how == "beside" else self._untried(region, condition, how)
            run = None if sizes is None else self._run(sizes)
            if not self.regions.is_told(left) if sizes is None else run is None or run.kind is not _Kind.REFUSED:
                return False
        return True

    def _untried(self, region: Region, condition: _Condition, how: str) -> dict[Symbol, int] | None:
        """Sizes in the region where no run is known, if one of those that a condition is of suffices for that."""
        for symbol in sorted(condition[0].symbols(), key=lambda symbol: symbol.name):
            for sizes in self.regions.along(region, self.held, symbol, how):
                if not any(all(_holds_at(each, sizes) for each in run.conditions) for run in self.runs):
                    return sizes
        return None

    def _excludes(self, run: _Run, condition: _Condition) -> bool:
        region = self.regions.of(run.conditions)
        if self.regions.implied(region, condition):
            return True
        beyond = self.regions.of([contrary(*condition)], region)
        return beyond.is_empty or (self.regions.is_told(beyond) and self.regions.within(beyond, run.sizes) is None)

    def _explore(self, region: Region, condition: _Condition) -> bool:
        """Follows runs until it is known what the model does in the whole region; whether some was refused."""
        refused = 0
        for number in range(_TRIES):
            left = self.regions.uncovered(region, [run.conditions for run in self.runs])
            if left is None:
                refused += any(
                    not any(self.regions.is_out(region, each) for each in run.conditions)
                    for run in self.runs
                    if run.kind is _Kind.REFUSED
                )
                break
            how = "least" if number == 1 else "most" if number == _REFUSED else "nearest"
            sizes = self._untried(region, condition, how) or self.regions.within(left, self.held)
            run = None if sizes is None else self._run(sizes)
            refused += run is not None and run.kind is _Kind.REFUSED
            if run is None or refused >= _REFUSED:
                break
        return refused > 0

    def _go_on(self) -> None:
        """Where sizes lead to other shapes, tests behind them may lead to further calls."""
        idle = 0
        asked = [each for each in self.kept if each in self.first.asked]
        while self.ways and idle < _MORE_TRIES and not self._is_over():
            region = self.regions.of([*self.required, *asked])
            left = self.regions.uncovered(region, [run.conditions for run in self.runs])
            sizes = None if left is None else self.regions.within(left, self.held)
            known = len(self.called)
            if sizes is None or self._run(sizes) is None:
                return
            idle = 0 if len(self.called) > known else idle + 1

    def _run(self, sizes: Mapping[Symbol, int]) -> _Run | None:
        """The run with these sizes, which is one of the runs from then on; None where no more can be followed."""
        found = self._run_anew({symbol.name: size for symbol, size in sizes.items()})
        if found is None:
            return None
        kind = _Kind.REFUSED
        if not found.is_refused:
            is_known = found.is_whole and not _is_degenerate(found)
            kind = _Kind.OPEN if not is_known else _Kind.TOLD if self._is_alike(found) else _Kind.OTHER
        run = self._run_of(found, sizes, kind)
        if not all(_holds_at(each, sizes) for each in run.conditions):
            return None
        run = self._eased(run)
        self.runs.append(run)
        if kind is _Kind.TOLD:
            self.same = self.same and _signature(found.events, True) == _signature(self.first.followed.events, True)
        if kind in (_Kind.TOLD, _Kind.OTHER):
            self._take(run)
        return run

    def _take(self, run: _Run) -> None:
        """A run that comes to its end: another way, unless it does what one does that is known."""
        does = _signature(run.followed.events, False)
        runs = [self.first, *(each for each, _ in self.ways)]
        like = next((n for n, each in enumerate(runs) if _signature(each.followed.events, False) == does), None)
        called = _called(run.followed)
        is_told = run.kind is _Kind.TOLD or not called <= self.called or not self.ways
        self.called |= called
        self.ways.append((run, SizeWay(run.followed, like, is_told)))

    def _is_alike(self, other: Followed) -> bool:
        """What it does, and another run that is told does too, is of the same shapes."""
        return all(_says_the_same(run.followed, other) for run in self.runs if run.kind is _Kind.TOLD)

    def _run_of(self, followed: Followed, sizes: Mapping[Symbol, int], kind: _Kind) -> _Run:
        named = {symbol.name: symbol for symbol in self.regions.symbols}
        found: list[_Condition] = []
        places: dict[_Condition, SourceLocation | None] = {}
        tests: dict[_Condition, str] = {}
        asked: set[_Condition] = set()
        of_program: set[_Condition] = set()
        for each in _conditions_of(followed).needed.values():
            condition = _on(simplest(each.form, each.relation), named)
            places.setdefault(condition, each.where)
            tests.setdefault(condition, each.test)
            if each.asked:
                asked.add(condition)
            if each.asked or not each.is_of_rule:
                of_program.add(condition)
        found = without_implied(list(places))
        self.regions.know(found)
        return _Run(followed, kind, tuple(found), frozenset(asked), frozenset(of_program), places, tests, sizes)

    def _run_anew(self, witnesses: Mapping[str, int]) -> Followed | None:
        machine = self.prediction.machine
        before, left = machine.work, machine.forward_left
        if self.left <= 0 or self._is_over() or left <= 0:
            return None
        self.left -= 1
        machine.forward_left = min(left, self.units)
        first = self.first.followed
        try:
            found = follow(self.prediction, first.specs, self.training, witnesses=witnesses, guessed=first.guessed)
        finally:
            self.units -= machine.work - before
            machine.forward_left = left - (machine.work - before)
        return None if found is None or found.has_run_out else found


def _conditions_of(followed: Followed) -> Conditions:
    assert followed.conditions is not None
    return followed.conditions


def _compared(followed: Followed) -> list[_Condition]:
    """The conditions that came of tests: where Python needed a number, any other may be as good."""
    return reduced(each for each in _conditions_of(followed).needed.values() if not each.asked)


def _on(condition: _Condition, named: Mapping[str, Symbol]) -> _Condition:
    """The condition on the sizes of another run, which has them by the same names."""
    form, relation = condition
    for symbol in form.symbols():
        form = substituted(form, symbol, forms.of(named[symbol.name]))
    return form, relation


def _holds_at(condition: _Condition, sizes: Mapping[Symbol, int]) -> bool:
    try:
        value = condition[0].evaluate(sizes)
    except ZeroDivisionError:
        return False
    return value >= 0 if condition[1] == ">=" else (value == 0) is (condition[1] == "==")


def _called(followed: Followed) -> set[Address]:
    return {event.module for event in _all(followed.events) if isinstance(event, Enter)}


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
    """What happens, and what of it may: equal of runs that do the same; with the shapes, where these count."""
    found: list[object] = []
    for event in events:
        kind: object = type(event).__name__
        if isinstance(event, Enter):
            kind = (event.module, event.where, _shapes(event.inputs) if with_shapes else None)
        elif isinstance(event, Leave):
            kind = (event.error, _shapes(event.outputs) if with_shapes else None)
        elif isinstance(event, Operate):
            kind = (event.name, event.where, _shapes(event.outputs) if with_shapes else None)
        elif isinstance(event, Assume):
            kind = (event.text, event.truth)
        found.append(kind)
        inside = (event.first, event.second) if isinstance(event, Either) else ()
        for arm in (event.events,) if isinstance(event, Repeat) else inside:
            found += _signature(arm, with_shapes)
            found.append(None)
    return found


def _says_the_same(first: Followed, other: Followed) -> bool:
    """What both runs do, they give the same shapes."""
    if _calling(other) & _called(first) - _calling(first):  # what is called there has no place in the graph
        return False
    mine, theirs = _given(first), _given(other)
    alike = all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys())
    return alike and _shapes(first.outputs) == _shapes(other.outputs)


def _calling(followed: Followed) -> set[Address]:
    """The modules that call others."""
    found: set[Address] = set()
    opened: list[Address] = []
    for event in _all(followed.events):
        if isinstance(event, Enter):
            found.update(each for each in opened[-1:] if each != event.module)  # by a `__call__` of its own
            opened.append(event.module)
        elif isinstance(event, Leave) and opened:
            opened.pop()
    return found


def _given(followed: Followed) -> dict[object, list[tuple[str, ...]]]:
    """The shapes that each module is given, call by call, and those that each operation gives."""
    found: dict[object, list[tuple[str, ...]]] = {}
    for event in _all(followed.events):
        if isinstance(event, Enter):
            found.setdefault(event.module, []).append(_shapes(event.inputs))
        elif isinstance(event, Operate):
            found.setdefault((event.name, event.where), []).append(_shapes(event.outputs))
    return found


def _shapes(tensors: Sequence[Seen]) -> tuple[str, ...]:
    return tuple(str(None if each.shape is None else tuple(map(str, each.shape))) for each in tensors)
