"""The events of two paths, joined: what both did is told once, what differs is either the one or the other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.conditions_told import all_of
from modgraph.prediction.domain.events import (
    Alias,
    Assume,
    Cell,
    Either,
    Enter,
    Event,
    Leave,
    Lost,
    Operate,
    Repeat,
    Seen,
    common,
    each_event,
    inside,
    opened,
    opened_since,
    since,
)


def joined(
    first: Cell | None,
    second: Cell | None,
    reason: str,
    where: SourceLocation | None,
    twins: dict[int, int],
) -> Cell | None:
    """What happened on either path. `twins`: tensors of the second, and those of the first that stand for both."""
    if first is second:
        return first
    start = chain = common(first, second)
    for event in _joined(since(first, start), since(second, start), reason, where, tuple(sorted(twins.items()))):
        chain = Cell(chain, event)
    return chain


def _joined(
    mine: Sequence[Event],
    other: Sequence[Event],
    reason: str,
    where: SourceLocation | None,
    twins: tuple[tuple[int, int], ...],
) -> list[Event]:
    # What is done with each of several values alike is done once, whatever has decided which it is.
    my_tests, mine = _apart(mine)
    other_tests, other = _apart(other)
    same, mine, other = _begun(mine, other, dict(twins))
    rest, others = (*my_tests, *mine), (*other_tests, *other)
    if all(isinstance(each, Assume) for each in (*rest, *others)):
        return same
    if len(rest) == 1 and others and isinstance(rest[0], Either):
        found = _into_arm(rest[0], others, reason, where, twins)
        if found is not None:
            return [*same, found]
    apart = _out_of_arm(rest, others, reason, where, twins) or _out_of_arm(others, rest, reason, where, twins, True)
    return [*same, *(apart or (Either(reason, where, tuple(rest), tuple(others), twins),))]


def _begun(
    mine: Sequence[Event], other: Sequence[Event], twins: Mapping[int, int]
) -> tuple[list[Event], Sequence[Event], Sequence[Event]]:
    """What both did first, and what either did then; what one knows as it was told before, as it is told now."""
    found: list[Event] = []
    while True:
        same = _same(mine, other, twins)
        found += same
        mine, other = mine[len(same) :], other[len(same) :]
        mine_now, other_now = _as_told_now(mine, other), _as_told_now(other, mine)
        if mine_now is mine and other_now is other:
            return found, mine, other
        mine, other = mine_now, other_now


def _as_told_now(mine: Sequence[Event], other: Sequence[Event]) -> Sequence[Event]:
    apart = other[1] if len(other) > 1 else None
    if mine and isinstance(apart, Either):
        for before, now in apart.instead:
            if before is mine[0]:
                return (other[0], *now, *mine[1:])
    return mine


def _same(mine: Sequence[Event], other: Sequence[Event], twins: Mapping[int, int]) -> list[Event]:
    """What both did first."""
    same: list[Event] = []
    for one, two in zip(mine, other, strict=False):
        both = _both(one, two)
        if both is None:
            break
        same.append(_as_twins(both, twins) if twins and isinstance(both, (Leave, Operate)) else both)
    del same[_balanced(mine, len(same)) :]
    return same


def _out_of_arm(
    left: Sequence[Event],
    other: Sequence[Event],
    reason: str,
    where: SourceLocation | None,
    twins: tuple[tuple[int, int], ...],
    is_second: bool = False,
) -> list[Event] | None:
    """A path that has left one of two, joined with what became of both: `break` in an `if` that stands in a loop. What
    that one did until then is told once, and what comes after both stands where none has left; None for other paths.

    Args:
        is_second: `left` is the second of the paths that are joined.
    """
    parted = _parted(other[0], left) if other else None
    if parted is None:
        return None
    leaving = (*parted.tests, *parted.left)
    goes_on = (*_unless(leaving), *parted.rest)
    going = (*goes_on, *other[1:])
    arms = (going, leaving) if is_second else (leaving, going)
    return [parted.until, Either(reason, where, *arms, twins, _instead(other, goes_on))]


def _instead(other: Sequence[Event], goes_on: tuple[Event, ...]) -> tuple[tuple[Either, tuple[Event, ...]], ...]:
    """How `other` was told, and was before that, where further paths have left it."""
    met, further = other[0], other[1] if len(other) > 1 else None
    assert isinstance(met, Either)
    earlier = further.instead if isinstance(further, Either) else ()
    return ((met, goes_on), *((before, (*goes_on, *now)) for before, now in earlier))


@dataclass(frozen=True, slots=True)
class _Parted:
    """Two paths that have met, and a third that has left one of them before."""

    until: Either
    """What the two did, the one until the third left."""
    tests: tuple[Assume, ...]
    """Those of the path until there."""
    left: Sequence[Event]
    """What the third did then."""
    rest: tuple[Event, ...]
    """What the one did then instead, unless it only made tests."""


def _parted(met: Event, left: Sequence[Event]) -> _Parted | None:
    """None where the paths have not left one of those that have met."""
    if not isinstance(met, Either) or any(inside(met).depths):
        return None
    is_first = _begin_alike(met.first, left)
    if not is_first and not _begin_alike(met.second, left):
        return None
    arm, further = (met.first, met.second) if is_first else (met.second, met.first)
    same, rest, left = _begun(arm, left, {})
    own = tests = tuple(each for each in same if isinstance(each, Assume))
    inner = _parted(rest[0], left) if rest else None
    if inner is not None:
        same.append(inner.until)
        tests, left, rest = (*own, *inner.tests), inner.left, (*inner.rest, *rest[1:])
    until = replace(met, first=tuple(same)) if is_first else replace(met, second=tuple(same))
    if all(isinstance(each, Assume) for each in rest):
        return _Parted(until, tests, left, ())
    arms = ((*own, *rest), _tests(further)) if is_first else (_tests(further), (*own, *rest))
    return _Parted(until, tests, left, (Either(met.reason, met.where, *arms, met.twins),))


def _tests(events: Sequence[Event]) -> tuple[Event, ...]:
    """Those that a path begins with."""
    return tuple(itertools.takewhile(lambda each: isinstance(each, Assume), events))


def _unless(events: Sequence[Event]) -> tuple[Event, ...]:
    """The tests of a path have not all come out so."""
    tests = [each for each in events if isinstance(each, Assume)]
    if not tests:
        return ()
    return (Assume(all_of([each.condition for each in tests]), False, tests[-1].where),)


def _apart(events: Sequence[Event]) -> tuple[Sequence[Event], Sequence[Event]]:
    """The tests made before that a path begins with, and what comes then."""
    place = 0
    while place < len(events) and isinstance(first := events[place], Assume) and first.is_earlier:
        place += 1
    return events[:place], events[place:]


def _into_arm(
    either: Either,
    other: Sequence[Event],
    reason: str,
    where: SourceLocation | None,
    twins: tuple[tuple[int, int], ...],
) -> Either | None:
    """A third path beside two, joined with the one of these that began with the same test; None where neither has."""
    both_twins = tuple(dict.fromkeys((*either.twins, *twins)))
    if _begin_alike(either.first, other):
        return replace(either, first=tuple(_joined(either.first, other, reason, where, twins)), twins=both_twins)
    if _begin_alike(either.second, other):
        return replace(either, second=tuple(_joined(either.second, other, reason, where, twins)), twins=both_twins)
    return None


def _begin_alike(first: Sequence[Event], second: Sequence[Event]) -> bool:
    return bool(first and second) and isinstance(first[0], Assume) and first[0] == second[0]


def repeated(
    before: Cell | None, after: Cell | None, reason: str, where: SourceLocation | None, twins: Mapping[int, int]
) -> Cell | None:
    """`before`, followed by any number of turns of which one leads to `after`. `twins`: tensors of that turn, and those
    of an earlier one that stand for both."""
    start = common(before, after)
    if start is not before:  # it has met a path that had left before
        return joined(before, after, reason, where, {})
    turn = since(after, before)
    if not turn:
        return before
    earlier = before.event if before is not None else None
    if isinstance(earlier, Repeat) and (earlier.reason, earlier.where) == (reason, where):
        assert before is not None
        if not _what_happens(earlier.events) <= _what_happens(turn):  # of another loop, with the same reason
            return Cell(before, Repeat(reason, where, turn))
        return Cell(before.before, Repeat(reason, where, _of_both_turns(earlier.events, turn, twins)))
    return Cell(before, Repeat(reason, where, turn))


def _what_happens(turn: Sequence[Event]) -> set[object]:
    """Of each call and each operation of a turn: of what it is, and where."""
    return {
        (event.module if isinstance(event, Enter) else event.name, event.where)
        for event in each_event(turn)
        if isinstance(event, (Enter, Operate))
    }


def _of_both_turns(first: tuple[Event, ...], second: tuple[Event, ...], twins: Mapping[int, int]) -> tuple[Event, ...]:
    """What an earlier turn did, and a later one, which may be given what the earlier has made."""
    both = [_both(one, two) for one, two in zip(first, second, strict=False)]
    same = [each for each in both if each is not None]
    if len(same) == len(first) == len(second):
        return tuple(same)
    made = {index for each in each_event(second) if isinstance(each, (Leave, Operate)) for index in _given(each)}
    return (*second, *(Alias(mine, theirs) for theirs, mine in twins.items() if theirs in made))


def _given(event: Leave | Operate) -> tuple[int, ...]:
    return tuple(index for each in event.outputs for index in each.indices)


def ended_by(chain: Cell | None, begun: Cell | None, error: str) -> Cell | None:
    """What happened up to an exception, with an end for each call that it left: of those after `begun` none is open."""
    last = chain.event if chain is not None and chain is not begun else None
    if chain is not None and isinstance(last, Either) and _ends_apart(last):
        depth = opened_since(chain.before, begun)
        first, second = (_ended(arm, depth, error) for arm in (last.first, last.second))
        return Cell(chain.before, replace(last, first=first, second=second))
    for _ in range(opened_since(chain, begun)):
        chain = Cell(chain, Leave(error=error))
    return chain


def _ends_apart(either: Either) -> bool:
    """Its paths have left calls of their own."""
    first, second = inside(either).depths
    return first != second


def _ended(arm: Sequence[Event], depth: int, error: str) -> tuple[Event, ...]:
    """One of two paths that are joined where they have left calls of their own; `depth` of both are open."""
    last = arm[-1] if arm else None
    if isinstance(last, Either) and _ends_apart(last):
        depth += opened(arm[:-1])
        first, second = (_ended(each, depth, error) for each in (last.first, last.second))
        return (*arm[:-1], replace(last, first=first, second=second))
    return (*arm, *([Leave(error=error)] * (depth + opened(arm))))


def _balanced(events: Sequence[Event], number: int) -> int:
    """The largest number of first events, up to that one, of which each call that begins among them ends too."""
    depth = 0
    best = 0
    for place, event in enumerate(events[:number]):
        depth += 1 if isinstance(event, Enter) else -1 if isinstance(event, Leave) else 0
        if depth == 0:
            best = place + 1
    return best


def _both(one: Event, two: Event) -> Event | None:
    """An event that stands for both; None where they are not the same."""
    if one == two:
        return one
    if isinstance(one, Enter) and isinstance(two, Enter):
        if (one.module, one.where) != (two.module, two.where) or len(one.inputs) != len(two.inputs):
            return None
        possible = tuple(dict.fromkeys((*one.possible, *two.possible)))
        return replace(one, inputs=_seen(one.inputs, two.inputs), possible=possible)
    if isinstance(one, Leave) and isinstance(two, Leave):
        if one.error != two.error or len(one.outputs) != len(two.outputs):
            return None
        written = tuple(dict.fromkeys((*one.written, *two.written)))
        handed = tuple(dict.fromkeys((*one.handed, *two.handed)))
        is_known = one.is_known and two.is_known and _unknown(one) == _unknown(two)
        return Leave(_seen(one.outputs, two.outputs), one.error, is_known, written, handed, one.unknown)
    if isinstance(one, Operate) and isinstance(two, Operate):
        if (one.name, one.where) != (two.name, two.where):
            return None
        if len(one.inputs) != len(two.inputs) or len(one.outputs) != len(two.outputs):
            return None
        written = tuple(dict.fromkeys((*one.written, *two.written)))
        inputs, outputs = _seen(one.inputs, two.inputs), _seen(one.outputs, two.outputs)
        handed = tuple(dict.fromkeys((*one.handed, *two.handed)))
        possible = tuple(dict.fromkeys((*one.possible, *two.possible)))
        key = one.key if one.key == two.key else None
        unknown = one.unknown or two.unknown
        arguments = tuple(each for each in one.arguments if each in two.arguments)
        return Operate(one.name, inputs, outputs, one.where, written, key, handed, possible, unknown, arguments)
    return one if isinstance(one, Lost) and isinstance(two, Lost) and one.where == two.where else None


def _unknown(event: Leave) -> list[tuple[int, str]]:
    return [(place, each.name) for place, each in event.unknown]


def _as_twins(event: Leave | Operate, twins: Mapping[int, int]) -> Leave | Operate:
    """The same, giving as well what stands from here on for the tensors of the second path: by
    `for name in {"a", "b"}: made[name] = ...`, "a" is made first on one path, and last on the other."""
    outputs = tuple(_as_twin(each, twins) for each in event.outputs)
    return event if outputs == event.outputs else replace(event, outputs=outputs)


def _as_twin(seen: Seen, twins: Mapping[int, int]) -> Seen:
    ways = list(zip(seen.indices, seen.ways, strict=True))
    further = [(twins[index], twins[index]) for index, way in ways if index in twins and way == index]
    if not further:
        return seen
    ways = list(dict.fromkeys((*ways, *further)))
    indices, handed = zip(*ways, strict=True)
    return replace(seen, indices=indices, handed=handed if handed != indices else ())


def _seen(mine: Sequence[Seen], other: Sequence[Seen]) -> tuple[Seen, ...]:
    return tuple(map(_one, mine, other))


def _one(mine: Seen, other: Seen) -> Seen:
    shape = mine.shape
    if shape != other.shape:
        shape = None
        if mine.shape is not None and other.shape is not None and len(mine.shape) == len(other.shape):
            shape = tuple(a if a == b else None for a, b in zip(mine.shape, other.shape, strict=True))
    ways = tuple(dict.fromkeys((*zip(mine.indices, mine.ways), *zip(other.indices, other.ways))))  # noqa: B905
    indices = tuple(index for index, _ in ways)
    handed = tuple(way for _, way in ways)
    return Seen(
        mine.name,
        indices,
        shape,
        mine.dtype if mine.dtype == other.dtype else None,
        mine.device if mine.device == other.device else None,
        handed if handed != indices else (),
        is_partial=mine.is_partial or other.is_partial,
    )
