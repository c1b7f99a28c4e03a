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
PLAIN = {
    "configurations": "self.cfg = vars(flag)\nself.names = [flag, str(flag), flag.name]\nself.n = [c.width for c in flag]",
    "functions": "self.f = F.relu if flag else torch.tanh\nself.all = [F.relu if flag else F.gelu]",
    "classes": "self.layer_type = [nn.ReLU if flag else nn.Tanh]",
    "numbers": "self.sizes = [n * 2 for n in range(flag)]\nself.table = {'a': 1, flag: 2}",
    "what is registered": "self.a, self.b = nn.ReLU(), nn.Tanh()\nself.pair = [self.a if flag else self.b]",
    "an attribute of the name of a local": "layer = nn.ReLU()\nself.f = lambda x: F.relu(x.layer, layer=1)",
}


@pytest.mark.parametrize("body", PERHAPS.values(), ids=PERHAPS.keys())
def test_what_may_be_held_is_told(body: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    assert claims_that_fail(body) == []


@pytest.mark.parametrize("body", PLAIN.values(), ids=PLAIN.keys())
def test_nothing_is_told_of_what_holds_no_module(body: str, predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(CLASS + "".join(f"        {line}\n" for line in body.splitlines()))
    assert not [each for each in graph.problems if "may hold" in each.message]
    assert not [each for each in graph.modules if not each.registered]


def test_the_problem_stands_at_the_holder_with_place_and_line(predict_source: Callable[..., Graph]) -> None:
    body = "        self.a = nn.Sequential()\n        if flag:\n            self.a.extra = [nn.ReLU()]\n"
    graph = predict_source(CLASS + body)
    (problem,) = (each for each in graph.problems if "may hold" in each.message)
    assert (problem.module, problem.line) == ("a", 8)
    assert problem.message.startswith("'a' may hold further modules in 'extra': depends on `flag`")
