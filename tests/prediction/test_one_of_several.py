"""What is given one of several objects is run for each of them; what changes an object in place leaves it the same."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

RESULTS = {
    "x = y = [1]\nx *= 2\nRESULT = (y, x is y)": ([1, 1], True),
    "x = y = [1]\nx += (2,)\nRESULT = (y, x is y)": ([1, 2], True),
    "class Tagged(list): pass\nx = y = Tagged([1])\nx += [2]\nRESULT = (list(y), x is y)": ([1, 2], True),
    "class Tagged(list): pass\nx = y = Tagged([1])\nx *= 2\nRESULT = (list(y), x is y)": ([1, 1], True),
    "x = y = {1, 2}\nx ^= {2, 3}\nRESULT = (sorted(y), x is y)": ([1, 3], True),
    "x = y = (1,)\nx *= 2\nRESULT = (x, y)": ((1, 1), (1,)),
    "class A:\n    def __iadd__(self, other): return NotImplemented\n    def __add__(self, other): return 5\n"
    "x = A()\nx += 1\nRESULT = x": 5,
}


@pytest.mark.parametrize("text", RESULTS)
def test_what_is_done_in_place_changes_the_object_itself(text: str, evaluated: Callable[[str], Any]) -> None:
    body = textwrap.indent(text.replace("RESULT =", "return"), "    ")
    assert evaluated(f"def run():\n{body}\nRESULT = run()") == RESULTS[text]


NEIGHBOURS = {
    "a loop that is left": """
        a, b = iter([2, 3]), iter([2, 3])
        for each in a if flag else b:
            break
        self.c = nn.Linear(2, next(a))
        self.d = nn.Linear(2, next(b))
    """,
    "a generator that reads one of two": """
        def some(x):
            yield from x
        a, b = iter([2, 3]), iter([2, 3])
        next(some(a if flag else b))
        self.c = nn.Linear(2, next(a))
        self.d = nn.Linear(2, next(b))
    """,
    "a method called by its class": """
        a, b = [2], [2]
        list.append(a if flag else b, 3)
        self.c = nn.Linear(2, len(a))
        self.d = nn.Linear(2, len(b))
    """,
    "a heap": """
        import heapq
        a, b = [2], [2]
        heapq.heappush(a if flag else b, 1)
        self.c = nn.Linear(len(a), a[0])
        self.d = nn.Linear(len(b), b[0])
    """,
    "a property or a value": """
        class Local:
            width = property(lambda self: 3) if flag else 4
        x = Local()
        x.__dict__["width"] = 5
        self.c = nn.Linear(2, x.width)
    """,
    "an instance with an iterator of its own": """
        class Local:
            turns = 2
            def __iter__(self):
                self.turns += 1
                return iter([1])
        a, b = Local(), Local()
        list(a if flag else b)
        self.c = nn.Linear(2, a.turns)
        self.d = nn.Linear(2, b.turns)
    """,
    "how often a list is repeated": """
        x = y = [nn.ReLU()]
        x *= 2 if flag else 3
        self.c = nn.ModuleList(y)
    """,
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in NEIGHBOURS.items()])
def test_what_is_claimed_holds_on_both_paths(body: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    assert claims_that_fail(body) == []
