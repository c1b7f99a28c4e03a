"""collections.UserDict and UserList, and classes derived from them; Python is the judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

HEADER = """
import copy
from collections import UserDict, UserList
from collections.abc import Mapping, MutableMapping, MutableSequence
class Kept(UserDict):
    def __init__(self, given=None, **further):
        super().__init__(given, **further)
        self.asked = 0
    def __missing__(self, key):
        self.asked += 1
        return key * 2
class Doubled(UserDict):
    def __setitem__(self, key, value): super().__setitem__(key, value * 2)
class Fields(UserDict):
    def __getattr__(self, name):
        try: return self.data[name]
        except KeyError: raise AttributeError(name)
class Rows(UserList):
    def append(self, row): super().append(row * 10)
def tried(call):
    try: return call()
    except Exception as error: return type(error).__name__
d, k, t, f = UserDict({'a': 1}, b=2), Kept({'a': 1}, b=2), Doubled({'a': 1}, b=2), Fields(width=8)
l, r = UserList([3, 1, 2]), Rows((3, 1, 2))
"""
OF_DICTS = (
    *("x['a'], len(x), list(x), 'a' in x, 'z' in x", "dict(x)", "{**x}", "x.get('a'), x.get('z', 7)", "bool(x)"),
    *("list(x.items()), list(x.keys()), list(x.values())", "tried(lambda: x['zz'])", "x == {'a': 1, 'b': 2}"),
    *("isinstance(x, UserDict), isinstance(x, dict), isinstance(x, MutableMapping)", "x.data", "sorted(x)"),
    *(
        "x.pop('a'), dict(x)",
        "tried(lambda: x.pop('z', 5)), dict(x)",
        "tried(lambda: x.pop('z'))",
        "x.setdefault('a', 3), dict(x)",
    ),
    *("x.setdefault('q', 3), dict(x)", "x.update({'c': 3}), dict(x)", "x.update([('c', 3)], d=4), dict(x)"),
    *("x.__setitem__('a', 9), dict(x)", "x.__delitem__('a'), dict(x)", "x.popitem(), dict(x)", "x.clear(), dict(x)"),
    *("dict(x | {'c': 3}), dict(x)", "dict({'c': 3} | x)", "x.__ior__({'c': 3}), dict(x)", "dict(x.copy()), dict(x)"),
    *("dict(copy.copy(x))", "type(x | {}).__name__", "dict(copy.deepcopy(x))", "max(x.values())", "UserDict(x) == x"),
)
OF_LISTS = (
    *("x[0], x[-1], len(x), list(x), 3 in x, 9 in x", "[*x]", "list(x[1:])", "type(x[1:]).__name__", "x == [3, 1, 2]"),
    *("x.append(4), list(x)", "x.extend([4, 5]), list(x)", "x.insert(1, 9), list(x)", "x.pop(), list(x)"),
    *(
        "x.remove(1), list(x)",
        "x.reverse(), list(x)",
        "x.sort(), list(x)",
        "x.index(1), x.count(1)",
        "x.clear(), list(x)",
    ),
    *("list(x + [7])", "list([7] + x)", "list(x * 2)", "x.__iadd__([7]), list(x)", "list(x.copy())", "x < [9]"),
    *("isinstance(x, list), isinstance(x, MutableSequence)", "tried(lambda: x[9])", "sum(x), max(x), sorted(x)"),
    *("x.__setitem__(0, 8), list(x)", "x.__delitem__(0), list(x)", "list(reversed(x))", "list(enumerate(x))"),
)
FURTHER = (
    "k['zz'], k.asked, len(k)",
    "f.width, tried(lambda: f.depth)",
    "list(t.items())",
    "k.asked, list(k.__dict__)",
)
PROGRAMS = (
    *(f"x = {name}\nRESULT = {each}" for each in OF_DICTS for name in "dkt"),
    *(f"x = {name}\nRESULT = {each}" for each in OF_LISTS for name in "lr"),
    *(f"RESULT = {each}" for each in FURTHER),
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_they_do_what_python_says(evaluated: Callable[[str], Any], program: str) -> None:
    text = f"{textwrap.dedent(HEADER)}{program}\n"
    if "__i" in program:
        text = text.replace("), dict(x)", ") is x, dict(x)").replace("), list(x)", ") is x, list(x)")
    names: dict[str, Any] = {}
    exec(text, names)
    assert evaluated(text) == names["RESULT"]
