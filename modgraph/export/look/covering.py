"""Data that goes somewhere on one condition or on another, of which one holds in any case."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from modgraph.graph.doubts import DEPENDS
from modgraph.graph.model import Condition, Graph, Operation
from modgraph.graph.occurrences import Link, Occurrence
from modgraph.names import last_name
from modgraph.prediction.domain.conditions_told import negated, tests_in
from modgraph.source.quiet import python_tree

MOST_WAYS = 32
"""Conditions that are held against each other; of more nothing is said."""


@dataclass(frozen=True, slots=True)
class _Way:
    """That data goes somewhere: what has to hold for it, the last test in one line."""

    tests: tuple[str, ...]
    file: str | None
    line: int | None
    around: frozenset[int]
    """The calls in which it goes from or to."""


class Covering:
    """Asks it of the links of one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._at: dict[tuple[str | None, int | None], list[Operation]] | None = None

    def is_certain(self, links: Sequence[Link]) -> bool:
        """Data goes along one of them in any case."""
        if any(link.certain for link in links):
            return True
        ways = {way for link in links if (way := self._way(link)) is not None}
        return 1 < len(ways) <= MOST_WAYS and self._covers(ways)

    def _way(self, link: Link) -> _Way | None:
        """None where it is only known on what it depends."""
        condition = link.condition
        if condition is None or condition.line is None or condition.text.startswith(DEPENDS):
            return None
        around = frozenset(self._calls_around((link.source, link.target)))
        return _Way(tests_in(condition.text), condition.file, condition.line, around)

    def _calls_around(self, ends: Iterable[Occurrence]) -> Iterable[int]:
        for end in ends:
            call = end.operation.call if end.operation is not None else end.call.parent if end.call else None
            while call is not None:
                yield call
                call = self._graph.calls[call].parent

    def _covers(self, ways: set[_Way]) -> bool:
        """Two that part with one test are together what led to the test."""
        pending, known = sorted(ways, key=lambda way: -len(way.tests)), set(ways)
        while pending and len(known) <= 2 * MOST_WAYS:
            one = pending.pop(0)
            for other in [each for each in list(known) if _part(one, each)]:
                both = self._before(one, other)
                if both is None:
                    continue
                if not both.tests:
                    return True
                if both not in known:
                    known.add(both)
                    pending.append(both)
        return False

    def _before(self, one: _Way, other: _Way) -> _Way | None:
        """What leads to the test; None where it may be made more than once, each time of something else."""
        around = one.around & other.around
        led_by = one.tests[:-1]
        found: list[Condition | None] = []
        for call in around:
            there = [(each, _tests_of(each)) for each in self._operations(one.file, one.line) if each.call == call]
            if not all(_is_beside(tests, led_by, (one.tests[-1], other.tests[-1])) for _, tests in there):
                return None  # a loop stands in the line, of which there may be no turn
            computed = [each for each, tests in there if tests == led_by]
            names = {each.name for each in computed}
            asked = _called_in(one.tests[-1])
            if asked and asked <= {last_name(each) for each in names} and len(names) == len(computed):
                found.append(computed[0].condition)
        if len(found) != 1:
            return None
        condition = found[0]
        if condition is None:
            return _Way((), None, None, around)
        return _Way(led_by, condition.file, condition.line, around)

    def _operations(self, file: str | None, line: int | None) -> list[Operation]:
        """Those in a line: what is computed for the test in it."""
        if self._at is None:
            self._at = {}
            for each in self._graph.operations:
                if each.source is not None:
                    self._at.setdefault((each.source.file, each.source.line), []).append(each)
        return self._at.get((file, line), [])


def _part(one: _Way, other: _Way) -> bool:
    """What tells them apart is how one test comes out."""
    if (one.file, one.line) != (other.file, other.line) or one.tests[:-1] != other.tests[:-1]:
        return False
    last, contrary = one.tests[-1], other.tests[-1]
    return negated(last) == contrary or negated(contrary) == last


def _is_beside(tests: tuple[str, ...] | None, led_by: tuple[str, ...], ways: tuple[str, str]) -> bool:
    """What has to hold for an operation is known: a part of what leads to a test, or more, as that test comes out."""
    if tests is None:
        return False
    return tests == led_by[: len(tests)] or tests[: len(led_by) + 1] in [(*led_by, each) for each in ways]


@lru_cache(maxsize=1024)
def _called_in(test: str) -> frozenset[str]:
    """Names of what a test calls: by these it is found among what is computed in its line."""
    try:
        tree = python_tree(test, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    called = (each.func for each in ast.walk(tree) if isinstance(each, ast.Call))
    return frozenset(each.attr for each in called if isinstance(each, ast.Attribute))


def _tests_of(operation: Operation) -> tuple[str, ...] | None:
    """What has to hold for it; None where that is not known."""
    condition = operation.condition
    if condition is None:
        return () if operation.certain else None
    return None if condition.text.startswith(DEPENDS) or condition.line is None else tests_in(condition.text)
