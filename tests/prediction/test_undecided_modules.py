"""Tensors, modules, iterators and paths through loops and exceptions that differ with a flag nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

HEADER = """
"""

CASES: dict[str, Any] = {
    "a buffer that is persistent on one path": """
        t = torch.zeros(3)
        self.b = nn.Buffer(t, persistent=False) if flag else nn.Buffer(t)
        """,
}


@pytest.mark.parametrize("body", CASES.values(), ids=CASES.keys())
def test_what_is_claimed_holds_on_both_paths(body: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    assert claims_that_fail(body, HEADER) == []
