"""Generators and iterators run as they are consumed; loops walk what is there when they come to it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

LIKE_TORCH = {
    "what is never consumed never runs": """
        g = (self.add_module(k, nn.Linear(2, 2)) for k in "ab")
        h = map(lambda k: self.add_module(k, nn.ReLU()), "cd")
        def late():
            self.e = nn.ReLU()
            yield
        late()
        next(g)
    """,
    "a generator and its loop take turns": """
        def numbers():
            for i in range(3):
                self.add_module(f"in{i}", nn.ReLU())
                yield i
        for i in numbers():
            self.add_module(f"out{i}", nn.Tanh())
            if i == 1:
                break
    """,
    "names are looked up when the body runs": """
        n = [1]
        g = (nn.Linear(n[0], 1) for _ in range(2))
        n[0] = 5
        self.a = nn.ModuleList(g)
        k = 3
        def one():
            yield nn.Linear(k, 1)
        it = one()
        k = 9
        self.b = next(it)
    """,
    "an iterator that is shared": """
        it = iter([1, 2, 3, 4])
        self.a = nn.ModuleList([nn.Linear(a, b) for a, b in zip(it, it)])
        self.b = nn.ModuleList([nn.Linear(a, b) for a, b in zip(*[iter([1, 2, 3, 4])] * 2)])
        g = (x for x in range(1, 7))
        self.c = nn.Linear(len(list(itertools.islice(g, 1, 4, 2))), next(g))
        self.d = nn.ModuleList(nn.Linear(x, 1) for x in g)
        s = iter("abcd")
        self.e = nn.Linear(1 + ("b" in s), 1)
        self.add_module(next(s), nn.ReLU())
    """,
    "any and all stop early": """
        def put(k):
            self.add_module(k, nn.ReLU())
            return k in "by"
        any(put(k) for k in "abc")
        all(map(put, "xyz"))
    """,
    "generators in generators, try and with": """
        def inner():
            yield nn.ReLU()
            self.x = nn.Tanh()
            yield nn.GELU()
        def outer():
            yield from inner()
            try:
                with torch.no_grad():
                    yield nn.SiLU()
                raise ValueError
            except ValueError:
                self.y = nn.Tanh()
                yield nn.ELU()
            finally:
                self.z = nn.Tanh()
            while True:
                yield nn.Mish()
                break
        self.s = nn.Sequential(*outer())
        it = outer()
        next(it)
        self.t = next(it)
    """,
    "a generator that is left": """
        def make(name):
            try:
                yield 1
                yield 2
            except Exception:
                self.no = nn.ReLU()
            finally:
                self.add_module(name, nn.ReLU())
        for _ in make("a"):
            break
        self.b = nn.Tanh()
        held = make("c")
        held.send(None)
        held.close()
        self.d = nn.Tanh()
    """,
    "a constructor that takes from what it is given": """
        given = (i for i in itertools.count(1))
        self.a = nn.ModuleList(Taker(given) for _ in range(4))
    """,
    "a list that changes under its loop": """
        l = [1, 2, 3]
        for x in l:
            l.remove(x)
            self.add_module(f"m{x}", nn.ReLU())
        for i, x in enumerate(l):
            if x < 6:
                l.append(x + 3)
            self.add_module(f"n{i}{x}", nn.ReLU())
    """,
    "a dict that grows under its loop": """
        d = {"a": 1}
        try:
            for k in d:
                d[k + "b"] = 2
        except RuntimeError:
            self.q = nn.ReLU()
        try:
            for k, v in d.items():
                d.pop(k)
        except RuntimeError:
            self.r = nn.ReLU()
    """,
    "iterators written as classes": """
        for i in Count(3):
            self.add_module(f"a{i}", nn.ReLU())
        for i, (a, b) in enumerate(zip(Count(9), Pairs())):
            self.add_module(f"c{i}", nn.Linear(a, b))
    """,
    "a set, where its order does not matter": """
        s = {"aa", "b", "cccc"}
        if any(k in "xb" for k in s):
            self.t = nn.ReLU()
        for n in sorted([k + "q" for k in list(s)]):
            self.add_module(n, nn.ReLU())
        total = 0
        for k in s:
            total += len(k)
        self.a = nn.Linear(total, max(len(k) for k in s))
        self.b = nn.Linear({k: len(k) for k in s}["cccc"], len(list(s)))
        for n in {3, 1, 2}:
            self.add_module(f"i{n}", nn.ReLU())
    """,
}

HEAD = """
import itertools

class Count:
    def __init__(self, n):
        self.n, self.i = n, 0
    def __iter__(self):
        return self
    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return self.i

class Pairs:
    def __iter__(self):
        for i in range(2):
            yield i + 4

class Taker(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.a = nn.Linear(next(sizes), 1)
        self.b = nn.ModuleList(nn.Linear(a, b) for a, b in zip([1, 2], [3, 4]))

class Net(nn.Module):
    def __init__(self, n=0):
        super().__init__()
"""


def _net(body: str) -> str:
    return HEAD + textwrap.indent(textwrap.dedent(body), " " * 8)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", LIKE_TORCH)
def test_runs_as_it_is_consumed(name: str, agrees: Callable[[str], Graph]) -> None:
    agrees(_net(LIKE_TORCH[name]))


NOT_KNOWN = {
    "an undecided condition of a comprehension": (
        '[self.add_module(k, nn.ReLU()) for k in "ab" if UNKNOWN]',
        {"a", "b"},
    ),
    "the order of a set": (
        'for i, k in enumerate({"a", "b", "c"}): self.add_module(f"{k}{i}", nn.ReLU())',
        {"a0", "b0", "c0"},
    ),
    "an undecided yield": (
        """
        def make():
            yield "a"
            if UNKNOWN:
                yield "b"
            yield "c"
        for k in make(): self.add_module(k, nn.ReLU())
        """,
        {"b", "c"},
    ),
    "a generator that both paths have taken from": (
        """
        def make():
            while True:
                self.add_module(f"k{len(self._modules)}", nn.ReLU())
                yield
        it = make()
        next(it)
        if UNKNOWN:
            next(it)
            next(it)
        else:
            next(it)
        next(it)
        """,
        {"k1", "k2", "k3"},
    ),
    "an iterator written as a class without a known end": (
        'for i in Count(int(UNKNOWN)): self.add_module(f"k{i}", nn.ReLU())',
        {"k1", "k2"},
    ),
}


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_what_depends_on_something_unknown_is_not_claimed(name: str, predict_source: Callable[..., Any]) -> None:
    body, open_names = NOT_KNOWN[name]
    graph = predict_source("import os\nUNKNOWN = os.environ.get('N')\n" + _net(body))
    certain = {node.path for node in graph.modules if node.class_name is not None}
    assert not certain & open_names
    assert graph.problems
