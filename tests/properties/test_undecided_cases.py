"""Reduced programs of `test_undecided_flow.py` that were claimed to give what not every run of them gives."""

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch

_runs = runpy.run_path(str(Path(__file__).with_name("undecided_runs.py")))

HEADER = '''
class Odd:
    """Tells in a list how often it is asked."""

    def __init__(self, log, value):
        self.log = log
        self.value = value

    def __eq__(self, other):
        self.log.append(2)
        return self.value == other

    def __lt__(self, other):
        self.log.append(2)
        return self.value < other

    def __add__(self, other):
        self.log.append(2)
        return self.value + other

    __radd__ = __add__

    def __index__(self):
        self.log.append(2)
        return 1

    def __bool__(self):
        self.log.append(2)
        return True


class Quiet(Odd):
    def __bool__(self):
        return True


class Failing:
    def __init__(self, fails):
        self.fails = fails

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        if self.fails:
            raise ValueError(2)


@contextlib.contextmanager
def managed(log, swallow):
    log.append(1)
    try:
        yield len(log)
    except ValueError:
        if not swallow:
            raise
        log.append(3)
    finally:
        log.append(2)
'''


def _tried(expression: str) -> str:
    """A handler is run where it raises."""
    return f"try:\n    {expression}\nexcept Exception:\n    y = 7"


ASKED = (
    "odd in items",
    "odd in [x, number, 5]",
    "odd in [0, *items]",
    "(0, odd) == (number, 1)",
    "(0, odd) == (1, 1)",
    "[odd] == items",
    "odd in range(3)",
    "number == odd",
    "number > odd",
    "sorted([number, odd])",
    "sum(items, odd)",
    "items[odd]",
    "any([number, odd])",
    "all([number, odd])",
    "odd if (odd if flag else Quiet(acc, 1)) else 1",
    "0 <= number > odd",
    "0 <= number < (acc.append(1) or 3)",
    "items.count(odd)",
    "[5, number].remove(odd)",
)
"""What asks an object, or may."""

REFUSED = (
    "del acc[number]",
    "del d[number]",
    "acc.remove(number)",
    "acc[::number]",
    "[1, 2, 3][0:2:number]",
    "int('1' if flag else 'x')",
    "float('x' if flag else '1')",
    "int(str(flag))",
    "'abc'.split('' if flag else 'b')",
)
"""What raises in some runs."""

CASES = {
    **{f"asked by {each}": _tried(each) for each in ASKED},
    **{f"refused: {each}": _tried(each) for each in REFUSED},
    "a generated manager in a stack": """
        with contextlib.ExitStack() as stack:
            y = stack.enter_context(managed(acc, flag))
        """,
    "a generated manager in a stack whose block raises": """
        with contextlib.ExitStack() as stack:
            y = stack.enter_context(managed(acc, flag))
            raise ValueError
        """,
    "a stack whose block may raise": """
        with contextlib.ExitStack() as stack:
            y = stack.enter_context(managed(acc, True))
            if flag:
                raise ValueError
            x = 3
        """,
    "a stack of which one manager may raise when it is left": """
        with contextlib.ExitStack() as stack:
            y = stack.enter_context(managed(acc, True))
            stack.callback(acc.append, 3)
            stack.enter_context(Failing(flag))
            x = 3
        """,
    "an attribute that a stack keeps for itself": """
        try:
            x = len(contextlib.ExitStack()._exit_callbacks)
        except AttributeError:
            y = 7
        """,
    "a block that returns, inside a manager that may raise then": """
        def g():
            with managed(acc, True) as x:
                with Failing(flag):
                    return 1
            return 2
        x = g()
        """,
    "a block that returns or raises what the manager swallows": """
        def g():
            with managed(acc, True):
                if flag:
                    raise ValueError
                return 1
        x = g() or 5
        """,
    "a block that ends the loop or raises what the manager swallows": """
        for x in [4, 5]:
            with managed(acc, True):
                if flag:
                    raise ValueError
                break
        """,
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in CASES.items()])
def test_what_is_claimed_holds_in_every_run(body: str, tmp_path: Path) -> None:
    lines = ["x, y, acc, d, odd = 1, 2, [5], {}, None", "odd = Odd(acc, 1)", *textwrap.dedent(body).strip().split("\n")]
    text = _runs["source"]([*lines, "return x, y, len(acc), len(d)"], HEADER)
    assert _runs["outcomes"](text)
    assert _runs["false_claims"](text, tmp_path) == []
