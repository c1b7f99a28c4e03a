"""The tables of what changes a container are those of Python, which is asked by calling each method."""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable

import pytest

from modgraph.source import containers

KINDS = {
    "LIST": [[3, 1, 2]],
    "DICT": [{"a": 1, "b": 2}],
    "SET": [{1, 2, 3}],
    "DEQUE": [deque([3, 1, 2])],
    "ORDERED_DICT": [OrderedDict(a=1, b=2)],
    "COUNTER": [Counter(a=1, b=2)],
}
GIVEN = (1, 0, 7, "a", "z", [7, 8], {"z": 5}, {1, 9})


def arguments() -> Iterable[tuple[object, ...]]:
    for count in range(3):
        yield from itertools.product(GIVEN, repeat=count)


def changed(container: object, name: str) -> tuple[bool, bool]:
    """Whether a call of the method changes the container, and whether one puts an argument into it."""
    changes = adds = False
    for given in arguments():
        tried = copy.deepcopy(container)
        with contextlib.suppress(TypeError, ValueError, LookupError, AttributeError, NotImplementedError):
            getattr(tried, name)(*copy.deepcopy(given))
        changes = changes or repr(tried) != repr(container)
        size = len(tried)  # type: ignore[arg-type]
        adds = adds or size > len(container)  # type: ignore[arg-type]
    return changes, adds


@pytest.mark.parametrize("kind", KINDS)
def test_methods_that_change_a_container_are_pythons(kind: str) -> None:
    (container,) = KINDS[kind]
    asked = {name: changed(container, name) for name in dir(container) if not name.startswith("_")}
    table = getattr(containers, kind)
    assert {name for name, (changes, _) in asked.items() if changes} == table
    adding = {name for name, (_, adds) in asked.items() if adds}
    # One of these puts in what is not in both, a deque that turns and a Counter that subtracts add no object.
    assert adding - {"symmetric_difference_update", "subtract"} == containers.ADDING & table


@pytest.mark.parametrize(
    "container", [[3, 1], (3, 1), {"a": 1}, OrderedDict(a=1)], ids=lambda each: type(each).__name__
)
def test_methods_that_read_change_nothing(container: object) -> None:
    there = containers.READING & set(dir(container))
    assert there
    assert not [name for name in there if changed(container, name)[0]]


@pytest.mark.parametrize("kind", KINDS)
def test_operators_that_change_a_container_are_pythons(kind: str) -> None:
    (container,) = KINDS[kind]
    special = {name for name in dir(container) if name.startswith("__i") or name in ("__setitem__", "__delitem__")}
    assert {name for name in special if changed(container, name)[0]} - {"__init__"} <= containers.OPERATORS


def test_no_name_changes_one_container_and_reads_another() -> None:
    assert not containers.CHANGING & containers.READING
