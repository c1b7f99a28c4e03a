"""Values, containers, classes and functions that differ with a flag nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

HEADER = """
"""

CASES: dict[str, Any] = {
    "a defaultdict's factory": """
        d = collections.defaultdict(int) if flag else collections.defaultdict(list)
        if d["x"] == 0:
            self.c = nn.Linear(2, 2)
        """,
}


@pytest.mark.parametrize("body", CASES.values(), ids=CASES.keys())
def test_what_is_claimed_holds_on_both_paths(body: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    assert claims_that_fail(body, HEADER) == []
