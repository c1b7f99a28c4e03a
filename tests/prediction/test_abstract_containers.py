"""Classes that say how one item is read, set and deleted, and have all else from collections.abc; Python is the judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

HEADER = """
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
class Rows(Sequence):
    def __init__(self, rows): self.rows = list(rows)
    def __getitem__(self, place): return self.rows[place]
    def __len__(self): return len(self.rows)
class Row(MutableSequence, Rows):
    def __setitem__(self, place, value): self.rows[place] = value
    def __delitem__(self, place): del self.rows[place]
    def insert(self, place, value): self.rows.insert(place, value * 1)
class Table(MutableMapping):
    def __init__(self, **given): self.held = given
    def __getitem__(self, key): return self.held[key]
    def __setitem__(self, key, value): self.held[key] = (value, len(self.held))
    def __delitem__(self, key): del self.held[key]
    def __iter__(self): return iter(self.held)
    def __len__(self): return len(self.held)
class Short(Rows):
    def __len__(self): return 2
def tried(call):
    try: return call()
    except Exception as error: return type(error).__name__
r, w, t, s = Rows([3, 4, 5, 4]), Row([3, 4, 5, 4]), Table(a=1, b=2), Short([7, 8, 9])
"""
READ = (
    *(
        "[n for n in r]",
        "list(reversed(r))",
        "4 in r, 9 in r",
        "r.index(4), r.index(4, 2)",
        "tried(lambda: r.index(9))",
    ),
    *("r.count(4)", "list(zip(r, 'ab'))", "sorted(r)", "max(r), sum(r)", "[*r, *s]", "dict(enumerate(r))"),
    *("list(s)", "list(reversed(s))", "9 in s, s.index(9), s.count(9)", "next(iter(r))", "tuple(map(str, r))"),
    *("isinstance(r, Sequence), isinstance(w, Rows)", "t.get('a'), t.get('z', 3)", "list(t.items())", "'a' in t"),
)
CHANGED = (
    *("w.append(7)", "w.extend([1, 2])", "w += (8,)", "x = w.pop()", "x = w.pop(0)", "w.remove(4)", "w.reverse()"),
    *("w.clear()", "w.insert(1, 0)", "w.extend(w)", "tried(lambda: w.remove(99))", "tried(lambda: w.pop(99))"),
    *("t.update({'c': 3})", "t.update([('c', 3), ('a', 4)], d=5)", "x = t.pop('a')", "x = t.pop('z', 9)", "t.clear()"),
    *("x = t.setdefault('a', 9)", "x = t.setdefault('q', 9)", "x = t.popitem()", "x = tried(lambda: t.pop('z'))"),
    *("x = tried(lambda: t.update([(1, 2, 3)]))", "t.update(Table(z=1))", "x = tried(lambda: Table().popitem())"),
)
PROGRAMS = (
    *(f"RESULT = {each}" for each in READ),
    *(f"x = None\n{each}\nRESULT = list(w), list(t), list(t.values()), x" for each in CHANGED),
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_they_do_what_python_says(evaluated: Callable[[str], Any], program: str) -> None:
    text = f"{textwrap.dedent(HEADER)}{program}\n"
    names: dict[str, Any] = {}
    exec(text, names)
    assert evaluated(text) == names["RESULT"]
