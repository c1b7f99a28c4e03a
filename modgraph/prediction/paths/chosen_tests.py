"""The tests that decide which of several values is there: where two paths of a run that is followed meet."""

from __future__ import annotations

from dataclasses import replace

from modgraph.prediction.domain.events import Assume, Cell, common, since
from modgraph.prediction.domain.values import Choice, Tested, Tests, Value, are_possible, facts_in

MAX_TESTS = 8
"""Of one path; of more, as a loop makes them, nothing is told."""


def of_paths(first: Cell | None, second: Cell | None) -> tuple[Tests, Tests]:
    """How tests have come out on two paths, since they parted."""
    start = common(first, second)
    return _tests(first, start), _tests(second, start)


def _tests(chain: Cell | None, start: Cell | None) -> Tests:
    tests = (
        Tested(each.text, each.truth, each.where, each.facts)
        for each in since(chain, start)
        if isinstance(each, Assume)
    )
    return tuple(dict.fromkeys(tests))


def with_tests(found: Choice, given: tuple[Value, Value], paths: tuple[Tests, Tests]) -> Value:
    """What two paths gave, with the tests that decide which; without, where these are not known of all. What one of
    several was on neither path is none of them."""
    second = paths[1]
    if not second:
        return found
    known: dict[Value, Tests] = {}
    gone: set[Value] = set()
    for value, tests in zip(given, paths, strict=True):
        for alternative, inner in _each(value):
            if not tests and not (inner and _is_of_one_branch(inner[0], second[0])):
                return found
            both = tuple(dict.fromkeys((*tests, *inner)))
            if not are_possible(facts_in(both)):
                gone.add(alternative)
                continue
            is_known = alternative not in known and (inner or not isinstance(value, Choice)) and _is_clear(both)
            known[alternative] = both if is_known else ()
    alternatives = tuple(each for each in found.alternatives if each in known or each not in gone)
    if len(alternatives) == 1:
        return alternatives[0]
    return replace(found, alternatives=alternatives, when=tuple(known.get(each, ()) for each in alternatives))


def in_both(mine: Choice, other: Choice) -> Choice:
    """Two that are equal, as one: of tests that read the same and are not, it is not known of which one it is."""
    if mine.facts() == other.facts():
        return mine
    when = tuple(
        tuple(replace(one, facts=one.facts & two.facts) for one, two in zip(tests, others, strict=True))
        for tests, others in zip(mine.when, other.when, strict=True)
    )
    return replace(mine, when=when)


def _each(value: Value) -> list[tuple[Value, Tests]]:
    if not isinstance(value, Choice):
        return [(value, ())]
    return [(each, value.tests_of(place)) for place, each in enumerate(value.alternatives)]


def _is_clear(tests: Tests) -> bool:
    """They are few, and none came out both ways, as in two turns of a loop."""
    return len({each.text for each in tests}) == len(tests) <= MAX_TESTS


def _is_of_one_branch(one: Tested, other: Tested) -> bool:
    """Both are how the same test came out: of three paths, two have met before."""
    return (one.text, one.where) == (other.text, other.where)
