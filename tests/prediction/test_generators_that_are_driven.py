"""Generators that are sent things, groups that are over, iterables that are asked at once; Python is the judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

PROGRAMS = {
    "send": """
        LOG = []
        def gen():
            while True:
                n = yield len(LOG)
                LOG.append(n)
        a = gen()
        RESULT = [next(a), a.send(4), a.send(5), next(a), LOG]
        """,
    "throw": """
        LOG = []
        def gen():
            try:
                x = yield 1
            except ValueError as error:
                LOG.append(str(error))
                x = yield 7
            finally:
                LOG.append("end")
            LOG.append(x)
            yield 8
        a, b = gen(), gen()
        RESULT = [next(a), a.throw(ValueError("x")), a.send(3)]
        try:
            b.throw(ValueError("new"))
        except ValueError as error:
            RESULT.append(str(error))
        try:
            next(b)
        except StopIteration:
            RESULT.append("over")
        c = gen()
        next(c)
        try:
            c.throw(KeyError)
        except KeyError:
            RESULT.append("let through")
        RESULT.append(LOG)
        """,
    "before it has begun": """
        def gen(): yield 1
        a = gen()
        RESULT = []
        try:
            a.send(3)
        except TypeError:
            RESULT.append("refused")
        RESULT.append(next(a))
        """,
    "groups are over with the next one": """
        import itertools
        listed = [list(g) for _, g in list(itertools.groupby([64, 64, 128]))]
        asked = [(k, list(g)) for k, g in itertools.groupby([64, 64, 128, 64])]
        it = itertools.groupby([1, 1, 2, 2, 3])
        _, g = next(it)
        first = next(g)
        k, g2 = next(it)
        RESULT = [listed, asked, first, list(g), k, list(g2), [k for k, _ in it], list(itertools.groupby([]))]
        """,
    "groups by a key that is called once for each item": """
        import itertools
        CALLS = []
        def key(n):
            CALLS.append(n)
            return n % 2
        groups = itertools.groupby([1, 3, 2, 4, 5], key)
        RESULT = [list(CALLS), next(groups)[0], list(CALLS), next(groups)[0], list(CALLS)]
        RESULT += [[(k, list(g)) for k, g in groups], CALLS]
        """,
    "what a generator expression iterates": """
        RESULT = []
        for made in (lambda: (x for x in None), lambda: (x for x in 3), lambda: (x for x in [1])):
            try:
                RESULT.append(list(made()))
            except TypeError:
                RESULT.append("refused")
        try:
            lazy = (x for x in None)
        except TypeError:
            RESULT.append("at once")
        class Asked:
            def __iter__(self):
                RESULT.append("asked")
                return iter([1, 2])
        lazy = (x for x in Asked())
        RESULT.append("made")
        RESULT.append(list(lazy))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_it_does_what_python_does(evaluated: Callable[[str], Any], program: str) -> None:
    body = textwrap.indent(textwrap.dedent(program), "    ")
    text = f"def run():{body}\n    return RESULT\nRESULT = run()\n"
    namespace: dict[str, Any] = {"__name__": "code"}
    exec(text, namespace)
    assert evaluated(text) == namespace["RESULT"]


UNSURE = {
    "a context manager that is entered by hand": (
        "c = cm()\nk = c.__enter__()\nc.__exit__(None, None, None)\nself.l = nn.ModuleList(nn.ReLU() for _ in LOG)",
        "LOG = []\n@contextlib.contextmanager\ndef cm():\n    LOG.append(1)\n    yield 3\n    LOG.append(2)",
    ),
    "what is sent goes on to an inner generator": (
        "a = outer(log := [])\nnext(a)\na.send(3)\na.send(4)\nself.l = nn.ModuleList(nn.Linear(k, k) for k in log)",
        "def inner(log):\n    while True:\n        k = yield\n        log.append(k or 9)\n"
        "def outer(log):\n    yield from inner(log)",
    ),
    "what is sent stands inside an expression": (
        "a = gen(log := [])\nnext(a)\na.send(3)\na.send(4)\nself.l = nn.ModuleList(nn.Linear(k, k) for k in log)",
        "def gen(log):\n    while True:\n        log.append((yield) or 9)",
    ),
    "paths that send different things": (
        "a = gen(log := [])\nnext(a)\na.send(2 if flag else 3)\nif flag: a.send(4)\nelse: a.send(5)\na.send(6)\n"
        "self.l = nn.ModuleList(nn.Linear(k, k) for k in log)",
        "def gen(log):\n    while True:\n        x = yield\n        log.append(x)",
    ),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize(("body", "header"), UNSURE.values(), ids=UNSURE)
def test_nothing_false_is_claimed(claims_that_fail: Callable[..., list[Any]], body: str, header: str) -> None:
    assert claims_that_fail(body, header) == []
