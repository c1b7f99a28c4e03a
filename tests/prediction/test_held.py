"""Modules that are held without being registered, on some paths only: told where that may be, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

CLASS = "class Net(nn.Module):\n    def __init__(self, flag):\n        super().__init__()\n"
PERHAPS = {
    "a list of any length": "self.layers = [nn.Linear(1, 1) for _ in range(flag)]",
    "a list that a loop fills": "self.layers = []\nfor n in range(flag):\n    self.layers.append(nn.Linear(1, n + 1))",
    "a dict whose keys are not known": "self.layers = {k: nn.ReLU() for k in range(flag)}",
    "a part of a list": "self.layers = [nn.ReLU(), nn.Tanh()][:int(flag)]",
    "an item that is replaced": "self.layers = [nn.ReLU(), nn.ReLU()]\nself.layers[flag] = nn.Tanh()",
    "a list that is deleted": "self.layers = [nn.ReLU()]\nif flag:\n    del self.layers",
    "a set in which one more may come first": "self.layers = {nn.Tanh()}\nif flag:\n    self.layers.add(nn.ReLU())",
    "a key of a dict": "self.d = {}\nif flag:\n    self.d[nn.ReLU()] = 1\nself.d[nn.Tanh()] = 1",
    "a name that is bound on one path": "if flag:\n    layer = nn.ReLU()\nself.f = lambda x: layer(x)",
    "a class attribute": "if flag:\n    Net.shared = [nn.ReLU()]",
    "one that may be registered": "self.all = [nn.Linear(1, 1), nn.Linear(1, 1)]\nself.one = self.all[flag]",
}
ANYTHING = (
    "from types import SimpleNamespace\n\ndef some(n=1):\n    return getattr(nn, min(dir(nn), key='Tanh'.__ne__))()\n"
)
"""A function of which nobody knows what it gives."""
HOLDING_ANYTHING = {
    "a list": "self.h = [some()]",
    "a list of three": "self.h = [some() for _ in range(3)]",
    "a dict": "self.h = {'a': some()}",
    "a tuple": "self.h = (1, some())",
    "a set": "self.h = {some()}",
    "a list in a dict": "self.h = {'a': [some()]}",
    "a deque": "self.h = collections.deque([some()])",
    "a named tuple": "self.h = collections.namedtuple('Pair', 'a b')(some(), 1)",
    "a namespace": "self.h = SimpleNamespace(m=some())",
    "a namespace of what is known": "self.h = SimpleNamespace(m=nn.Tanh())",
    "a partial": "self.h = functools.partial(F.relu, some())",
    "a default": "self.h = lambda x, m=some(): m(x)",
    "a closure": "m = some()\nself.h = lambda x: m(x)",
    "a class": "Net.h = [some()]",
    "its own dict": "self.__dict__['h'] = some()",
    "a list of any length": "self.h = [some() for _ in range(1 + flag)]",
    "a list of any length, with a length that is a number": "self.h = [some() for _ in range(1 + int(flag))]",
    "a dict of any length": "self.h = {str(n): some() for n in range(1 + int(flag))}",
    "a list that a loop fills": "self.h = []\nfor _ in range(1 + int(flag)):\n    self.h.append(some())",
    "a generator": "self.h = list(some() for _ in range(1 + int(flag)))",
    "a generator of what is known": "self.h = list(nn.Tanh() for _ in range(1 + int(flag)))",
    "map": "self.h = list(map(some, range(1, 2 + int(flag))))",
    "zip": "self.h = list(zip(range(1 + int(flag)), [nn.Tanh(), nn.Tanh()]))",
    "on one path": "self.h = [1]\nif flag:\n    self.h.append(some())",
    "or a number": "self.h = (int(flag) if flag else some(),)",
}
PLAIN = {
    "configurations": "self.cfg = vars(flag)\nself.names = [str(flag), flag.n + 1]\nself.n = [int(c.width) for c in flag]",
    "functions": "self.f = F.relu if flag else torch.tanh\nself.all = [F.relu if flag else F.gelu]",
    "classes": "self.layer_type = [nn.ReLU if flag else nn.Tanh]",
    "numbers": "self.sizes = [n * 2 for n in range(flag)]\nself.table = {'a': 1, flag: 2}",
    "numbers of any number": "self.a = list(range(flag))\nself.b = [float(f) for f in flag if f]\nself.c = {str(f): 1 for f in flag}",
    "numbers that a generator gives": "self.a = list(float(f) for f in flag)\nself.b = list(zip(range(flag), 'abc'))",
    "numbers that a loop collects": "self.a = []\nfor n in range(flag):\n    self.a += [n, n + 1]",
    "numbers on one path": "self.d = {}\nif flag:\n    self.d['a'] = 3",
    "lists of numbers": "self.a = [[0] * int(flag) for _ in range(flag)]",
    "tensors": "self.a = [torch.zeros(int(f)) for f in flag]",
    "what is registered": "self.a, self.b = nn.ReLU(), nn.Tanh()\nself.pair = [self.a if flag else self.b]",
    "an attribute of the name of a local": "layer = nn.ReLU()\nself.f = lambda x: F.relu(x.layer, layer=1)",
}


@pytest.mark.parametrize("body", PERHAPS.values(), ids=PERHAPS.keys())
def test_what_may_be_held_is_told(body: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    assert claims_that_fail(body) == []


@pytest.mark.parametrize("body", HOLDING_ANYTHING.values(), ids=HOLDING_ANYTHING.keys())
def test_what_cannot_be_told_is_told_where_it_may_be_a_module(
    body: str, claims_that_fail: Callable[..., list[Any]]
) -> None:
    assert claims_that_fail(body, ANYTHING) == []


def test_what_an_import_that_is_not_there_gives_is_told_at_its_holder(predict_source: Callable[..., Graph]) -> None:
    body = "        self.a = nn.Sequential()\n        self.a.parts = [Small() for _ in range(3)]\n"
    graph = predict_source("from not_there import Small\n" + CLASS + body)
    (problem,) = graph.problems
    assert (problem.module, problem.line) == ("a", 9)
    assert problem.message == "'a' may hold further modules in 'parts[0]': No module named 'not_there'"


def test_an_attribute_that_the_class_of_an_object_computes_with_is_no_module(
    predict_source: Callable[..., Graph],
) -> None:
    header = "class Box:\n    def __init__(self, n):\n        self.n = n\n        self.m = n // 2\n\n"
    assert predict_source(header + CLASS + "        self.box = Box(flag)\n").complete


@pytest.mark.parametrize("body", PLAIN.values(), ids=PLAIN.keys())
def test_nothing_is_told_of_what_holds_no_module(body: str, predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(CLASS + "".join(f"        {line}\n" for line in body.splitlines()))
    assert not [each for each in graph.open_places if "may hold" in each.message]
    assert not [each for each in graph.modules if not each.registered]


def test_the_problem_stands_at_the_holder_with_place_and_line(predict_source: Callable[..., Graph]) -> None:
    body = "        self.a = nn.Sequential()\n        if flag:\n            self.a.extra = [nn.ReLU()]\n"
    graph = predict_source(CLASS + body)
    (problem,) = (each for each in graph.open_places if "may hold" in each.message)
    assert (problem.module, problem.line) == ("a", 8)
    assert problem.message.startswith("'a' may hold further modules in 'extra': depends on `flag`")
