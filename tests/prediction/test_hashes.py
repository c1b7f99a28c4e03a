"""`hash(x)` runs `__hash__` of the object once, and never its `__eq__`; Python is the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

HEADER = """
LOG = []
class Config:
    def __init__(self, width): self.width, self.part = width, []
    def __hash__(self):
        LOG.append(1)
        self.part.append(self.width)
        return 7 * self.width
    def __eq__(self, other):
        LOG.append(2)
        self.part.clear()
        return True
class Derived(Config): pass
class Without(Config): __hash__ = None
class Plain:
    part = []
def tried(call):
    try: return call()
    except TypeError: return "TypeError"
c, d = Config(4), Derived(5)
"""
ASKED = (
    *("hash(c)", "hash(d)", "hash(c) == hash(d)", "(hash(c), hash(c))", "tried(lambda: hash(Without(3)))"),
    *("setattr(c, 'kept', hash(c))", "tried(lambda: hash([c]))", "hash(Plain()) and None"),
)


@pytest.mark.parametrize("asked", ASKED)
def test_a_hash_is_asked_for_once(evaluated: Callable[[str], Any], asked: str) -> None:
    text = f"{HEADER}x = {asked}\nRESULT = LOG, c.part, d.part, c.width"
    names: dict[str, Any] = {}
    exec(text, names)
    assert evaluated(text) == names["RESULT"]


@pytest.mark.parametrize("asked", ASKED[:5])
def test_it_gives_what_the_method_says(evaluated: Callable[[str], Any], asked: str) -> None:
    text = f"{HEADER}RESULT = {asked}"
    names: dict[str, Any] = {}
    exec(text, names)
    assert evaluated(text) == names["RESULT"]
