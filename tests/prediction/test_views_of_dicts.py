"""keys() and items() of a dict are compared as sets; Python is the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

ASKED = (
    *("{1: 1, 7: 2}.keys() == {7: 3, 1: 2}.keys()", "{1: 1}.keys() == {1}", "{1} == {1: 1}.keys()"),
    *("{1: 2}.items() == {(1, 2)}", "{1: 2, 3: 4}.items() == {3: 4, 1: 2}.items()", "{1: 1}.keys() == [1]"),
    *("{1: 1}.values() == {1: 1}.values()", "{1: 1}.keys() == {True}", "{1: 1}.keys() == {1: 1}", "{1} == {1.0}"),
    *("{1}.issubset({1.0})", "{True} <= {1, 2}", "not {1}.isdisjoint([1.0])", "{1: 2} == {1.0: 2}"),
)


@pytest.mark.parametrize("asked", ASKED)
def test_as_python_has_it(evaluated: Callable[[str], Any], asked: str) -> None:
    assert evaluated(f"RESULT = {asked}") == eval(asked)


def test_items_that_hold_lists_are_not_claimed_to_differ(evaluated: Callable[[str], Any]) -> None:
    assert evaluated("RESULT = {1: []}.items() == {1: []}.items()") is not False
