"""`match`: what a pattern binds, and when; Python is the judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

MATCHES = {
    "a pattern that fails binds nothing": """
        def run(subject):
            a = b = rest = "old"
            match subject:
                case [a, 2]: pass
                case {"k": a, "l": 3, **rest}: pass
                case [a, b] if b > 5: pass
                case (1, a) | (a, 3): pass
                case _: pass
            return [a, b, rest]
        RESULT = [run([1, 3]), run([1, 2]), run({"k": 1, "l": 2}), run([7, 9]), run([4, 3]), run([4, 4]), run(3)]
        """,
    "a guard that fails leaves what was bound": """
        def run(subject):
            match subject:
                case [a, *rest] if len(rest) > 3: return "long"
                case _: return [a, rest]
        RESULT = run([1, 2])
        """,
    "the first alternative that matches": """
        def run(subject):
            match subject:
                case [1, x] | [x, 2]: return x
                case {"a": x} | {"b": x}: return x
                case int() | str() as x: return x
                case range(): return "range"
        RESULT = [run([1, 2]), run([5, 2]), run({"b": 4}), run({"a": 1, "b": 2}), run(3), run("s"), run(range(3))]
        """,
    "ranges are sequences, and text is none": """
        def run(subject):
            match subject:
                case [a, b]: return a + b
                case _: return None
        RESULT = [run(range(2)), run("ab"), run((1, 2)), run([1])]
        """,
}


@pytest.mark.parametrize("text", MATCHES.values(), ids=MATCHES)
def test_what_a_pattern_binds(evaluated: Callable[[str], Any], text: str):
    space: dict[str, Any] = {}
    exec(compile(textwrap.dedent(text), "code.py", "exec", dont_inherit=True), space)
    assert evaluated(text) == space["RESULT"]


@pytest.mark.parametrize("guard", ["", " if known(first)"])
def test_what_may_match_may_bind(evaluated: Callable[[str], Any], guard: str):
    text = f"""
        import os
        def known(value):
            return bool(os.environ.get("KNOWN"))
        def run(subject):
            first = "old"
            match subject:
                case [first, *others]{guard}: return others
                case _: return first
        RESULT = run(os.environ.get("SOMETHING"))
        """
    assert evaluated(text) is evaluated.UNKNOWN  # type: ignore[attr-defined]
