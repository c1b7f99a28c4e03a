"""The right side of `or` and `and` may be None, as may what is chosen in other ways: torch runs each model in ways in
which it is, and in ways in which it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.prediction.forward.judged import predicted, wrong

pytestmark = pytest.mark.needs_torch
GIVEN = [
    "n or m",
    "t and m",
    "n or (n or m)",
    "(n or n) or m",
    "n or m or m",
    "t and t and m",
    "t and (n or m)",
    "(t and n) or m",
    "(n or m) and m",
    "n or (m if t else n)",
    "(n or m) if t else n",
    "m if not (n or m) else n",
    "None if not (n or m) else 1",
    "(v := n) or (w := m)",
    "(w := (n or m))",
    "{'k': n or m}['k']",
    "(lambda u: u or m)(n)",
    "next((u for u in [n, m] if u), None)",
    "next(iter([u for u in [n, m] if u]), None)",
    "next((u for u in [n or m]), 1)",
    "{}.get('k', n or m)",
    "getattr(self, 'absent', n or m)",
    "None if not any([n, m]) else 1",
    "None if all([n is None, m is None]) else 1",
    "any([n or m]) or None",
    "max([n or m or 0, 0]) or m",
]
"""What may be None, of `n` and `m`, which are None in some runs, and `t`, which is 0 in some."""
DECIDED = {
    "forward": "n, m, t = None if x.sum() > 0 else 1, None if x[0, 0] > 0 else 1, 1 if x.sum() > 0 else 0",
    "__init__": "n, m, t = None if flag else 1, None if flag else 1, 1 if flag else 0",
}
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.c = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        {decided}
        {body}
"""
TAKEN = {
    "a test": "k = {}\n        return self.c(x) if k is None else self.a(x)",
    "a match": "match {}:\n            case None:\n                return self.c(x)\n        return self.a(x)",
}


@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("given", GIVEN)
def test_a_call_that_none_leads_to_is_told(given: str, taken: str, tmp_path: Path) -> None:
    text = NET.format(decided=DECIDED["forward"], body=taken.format(given))
    assert wrong(tmp_path, text, ["2x4"]) == []
    assert {"a", "c"} == {call.module for call in predicted(tmp_path, text, ["2x4"]).calls if call.module}


@pytest.mark.parametrize("given", GIVEN)
def test_a_module_that_none_leads_to_is_told(
    claims_that_fail: Callable[..., list[tuple[Any, ...]]], given: str
) -> None:
    body = f"{DECIDED['__init__']}\nk = {given}\nself.z = nn.Linear(4, 4) if k is None else nn.ReLU()"
    assert claims_that_fail(body) == []
