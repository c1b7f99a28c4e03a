"""`del` of names and attributes: of functions, modules, classes; Python is the judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

DELETIONS = {
    "in the body of a class": """
        n = 3
        class C:
            n = 5
            def tmp(k): return k * 2
            v = tmp(n)
            del tmp, n
            m = n
            calls = [1]
            calls.append(2)
        RESULT = [C.v, C.m, hasattr(C, "n"), hasattr(C, "tmp"), C().calls, "tmp" in vars(C)]
        """,
    "of all attributes": """
        class C:
            def __init__(self): self.a = 1
        class S:
            __slots__ = ("q",)
        one, other, third = C(), C(), C()
        del one.__dict__
        found = [hasattr(one, "a"), vars(one) == {}]
        one.b = 2
        found += [one.b, list(vars(one))]
        delattr(other, "__dict__")
        found.append(hasattr(other, "a"))
        try:
            del S().__dict__
        except AttributeError:
            found.append("none")
        RESULT = found
        """,
    "of a class": """
        class Base:
            w = 1
        class C(Base):
            w = 5
            def method(self): return 2
        def run():
            found = [C.w]
            del C.w
            found += [C.w, C().w]
            delattr(C, "method")
            found.append(hasattr(C(), "method"))
            try:
                del C.nothing
            except AttributeError:
                found.append("missing")
            C.w = 7
            return [*found, C.w]
        RESULT = run()
        """,
    "of a global name": """
        W = 3
        def drop():
            global W
            del W
        def run():
            drop()
            try:
                found = [W]
            except NameError as error:
                found = [str(error)]
            try:
                drop()
            except NameError:
                found.append("again")
            globals()["V"] = 1
            return found
        RESULT = run()
        """,
    "of an enclosing function": """
        def outer():
            n = 1
            def inner():
                nonlocal n
                del n
            inner()
            try:
                return n
            except UnboundLocalError:
                return "gone"
        RESULT = outer()
        """,
}


@pytest.mark.parametrize("text", DELETIONS.values(), ids=DELETIONS)
def test_what_is_deleted_is_gone(evaluated: Callable[[str], Any], text: str):
    space: dict[str, Any] = {"__name__": "code"}
    exec(compile(textwrap.dedent(text), "code.py", "exec", dont_inherit=True), space)
    assert evaluated(text) == space["RESULT"]


def test_what_is_deleted_on_some_paths_is_not_known(evaluated: Callable[[str], Any]):
    text = """
        import os
        class C:
            w = 5
        def run():
            if os.environ.get("SOMETHING"):
                del C.w
            return hasattr(C, "w")
        RESULT = run()
        """
    assert evaluated(text) is evaluated.UNKNOWN  # type: ignore[attr-defined]
