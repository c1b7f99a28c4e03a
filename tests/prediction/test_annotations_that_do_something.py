"""What calls in annotations leave behind; torch is the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

NET = """
{future}
from torch import nn
L = []
def n(x):
    L.append(x)
    return int
v: n(1) = 3
u: n(2)
def f(a: n(3), /, b: n(4) = 4, *c: n(5), d: n(6) = 2, **e: n(7)) -> n(8): pass
class Q:
    z: n(9)
    y: n(10) = 4
    def g(self, a: n(11) = 3): pass
class Net(nn.Module):
    w: n(12) = 3
    def __init__(self):
        super().__init__()
        x: n(13) = 3
        y: n(14)
        def g(a: n(15), b: list[n(16)] = ()): pass
        for i in L: self.add_module(f"m{{i}}", nn.ReLU())
    def g(self, a: n(17)) -> None: pass
"""


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
def test_what_is_claimed(claims_of_project_that_fail: Callable[[dict[str, str]], list[Any]], future: str) -> None:
    assert not claims_of_project_that_fail({"net.py": NET.format(future=future)})
