"""Constructors that a limit ends: what stands behind it may change what was there, and then that is not claimed."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from modgraph.graph.model import Graph
from modgraph.prediction.domain import budget

pytestmark = pytest.mark.needs_torch
HARNESS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("undecided.py"))))
BEFORE = "self.a = nn.Sequential(nn.ReLU())\nself.b = nn.Linear(2, 2)\nalias = self.a\nfor _ in range(500):\n    pass\n"
MAX_STEPS = 400
"""They end in the loop."""
HEADER = """
def change(module):
    module[0] = nn.Tanh()


class Base(nn.Module):
    def finish(self):
        self.b = nn.Tanh()

    def __getattr__(self, name):
        return super().__getattr__(name)


def freeze(module):
    for parameter in module.parameters():
        parameter.requires_grad = False
"""
BEHIND = {
    "a child is deleted": "del self.b",
    "a child is replaced": "self.b = nn.Tanh()",
    "one of several targets": "x, (self.b, y) = 1, (nn.Tanh(), 2)",
    "what a child holds": "self.a[0] = nn.Tanh()",
    "the same by its other name": "alias[0] = nn.Tanh()",
    "by a name that is bound later": "x = self.a\nx[0] = nn.Tanh()",
    "in a loop over children": "for m in self.children():\n    if isinstance(m, nn.Sequential):\n        m[0] = nn.Tanh()",
    "a function of the file": "change(self.a)",
    "a function of the file, of all": "freeze(self)",
    "a function that is applied": "self.apply(lambda m: setattr(m, 'inplace', m.register_buffer('n', torch.ones(1))))",
    "setattr": "setattr(self, 'b', nn.Tanh())",
    "setattr of any name": "setattr(self, 'ab'[1], nn.Tanh())",
    "delattr of a part": "delattr(self.b, 'bias')",
    "add_module": "self.add_module('b', nn.Tanh())",
    "the store": "self._modules['b'] = nn.Tanh()",
    "an attribute of a part": "self.b.weight = nn.Parameter(torch.ones(3, 2))",
    "requires_grad": "self.b.weight.requires_grad = False",
    "requires_grad_": "self.b.requires_grad_(False)",
    "dtypes": "self.half()",
    "insert": "self.a.insert(0, nn.Tanh())",
    "a closure": "def later():\n    self.b = nn.Tanh()\nlater()",
    "a method": "Base.finish(self)",
    "in a branch": "if flag:\n    del self.b",
    "weight norm": "nn.utils.parametrizations.weight_norm(self.b)",
}


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND.keys())
def test_what_stands_behind_a_limit_may_change_what_was_there(
    behind: str, predict_source: Callable[..., Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HARNESS.source(BEFORE + behind, HEADER)
    monkeypatch.setattr(budget, "MAX_STEPS", MAX_STEPS)
    graph = predict_source(text)
    assert any(f"more than {MAX_STEPS} steps" in each.message for each in graph.problems)
    assert HARNESS.contradicted(graph, text) == []


HARMLESS = {
    "others are registered": "self.c = nn.Linear(self.b.in_features, 3)\nself.d = nn.Sequential(self.a, nn.ReLU())",
    "modules are added": "self.a.append(nn.Tanh())",
    "weights are initialized": "for m in self.modules():\n    if isinstance(m, nn.Linear):\n"
    "        nn.init.normal_(m.weight)\n        m.bias.data.zero_()",
    "numbers are stored": "self.n = sum(p.numel() for p in self.parameters())\nself.n += 1",
}


@pytest.mark.parametrize("behind", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_nothing_behind_it_can_touch_stays(
    behind: str, predict_source: Callable[..., Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HARNESS.source(BEFORE + behind, HEADER)
    monkeypatch.setattr(budget, "MAX_STEPS", MAX_STEPS)
    graph = predict_source(text)
    assert HARNESS.contradicted(graph, text) == []
    known = {node.path for node in graph.modules if node.class_name is not None}
    assert {"sure", "a", "a.0", "b"} <= known


def test_what_is_claimed_of_undecided_models_holds_under_a_limit() -> None:
    sweep: Any = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "oracle/limit_sweep.py")))
    assert list(sweep.undecided_faults(every=60, steps=(40, 50, 60))) == []
