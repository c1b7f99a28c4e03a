"""Generators that nothing holds any more: what stands in `finally` around the place where they wait runs then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

HEADER = """
L = []
class Manager:
    def __enter__(self): return self
    def __exit__(self, *args): L.append(1)
def g():
    try:
        yield 1
        yield 2
    finally:
        L.append(1)
def managed():
    with Manager():
        yield 1
        yield 2
def handled():
    try:
        yield 1
        yield 2
    except GeneratorExit:
        L.append(1)
def outer(): yield from g()
def use():
    x = g()
    next(x)
def begin(f):
    x = f()
    next(x)
    del x
def inner():
    for i in range(3):
        begin(g)
        yield len(L)
class Holder: pass
"""
GIVEN_UP = (
    *("x = g(); next(x); del x", "x = g(); next(x); x = None", "x = g(); next(x); x.close()", "use()", "next(g())"),
    *("x = managed(); next(x); del x", "x = handled(); next(x); del x", "x = outer(); next(x); x.close()"),
    *("x = (i for i in g()); next(x); del x", "1 in g()", "any(g())", "a, *b = itertools.islice(g(), 1)"),
    *("for i in g(): break", "for i, j in zip([0], g()): pass", "for i in map(str, g()): break"),
    *("for i in inner(): L.append(i)", "h = Holder(); h.x = g(); next(h.x); del h", "h = [g()]; next(h[0]); h.clear()"),
    *("x = g(); del x", "x = g(); next(x); y = x; del x"),
)


@pytest.mark.parametrize("body", GIVEN_UP)
@pytest.mark.parametrize("where", ["constructor", "module"])
def test_what_is_left_of_it_runs(claims_that_fail: Callable[..., list[Any]], body: str, where: str) -> None:
    after = "self.a = nn.ModuleList([nn.ReLU() for _ in L])"
    if where == "module":
        assert claims_that_fail(after, HEADER + body) == []
    else:
        assert claims_that_fail(f"{body}\n{after}", HEADER) == []


@pytest.mark.parametrize("last", ["del x", "pass"])
def test_what_is_left_of_it_may_register(claims_that_fail: Callable[..., list[Any]], last: str) -> None:
    header = """
def g(module):
    try:
        yield 1
    finally:
        module.add_module("late", nn.ReLU())
"""
    assert claims_that_fail(f"x = g(self)\nnext(x)\n{last}\nself.a = nn.ReLU()", header) == []


def test_one_that_is_held_goes_on(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        MADE = []
        def g():
            with torch.no_grad():
                yield 1
                MADE.append(1)
                yield 2
                yield 3
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                x = g()
                next(x)
                self.a = nn.ReLU()
                next(x)
                self.b = nn.ModuleList([nn.ReLU() for _ in MADE])
                for i in x:
                    MADE.append(i)
                for i, k in enumerate(g()):
                    MADE.append(k)
                for i in map(str, g()):
                    MADE.append(i)
                    MADE.append(i)
                self.c = nn.ModuleList([nn.ReLU() for _ in MADE])
        """
    )
