"""Layers and parameters that `forward` makes, changes or puts in the place of others; layers called by their class."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

from tests.prediction.forward.traced import both, differences  # noqa: E402 needs torch

INNER = """
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
    def forward(self, x):
        return self.l(x) * 2

class Derived(nn.Linear):
    def forward(self, x):
        return nn.Linear.forward(self, x) + 1

class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.ModuleList()
    def forward(self, x):
        self.kept.append(nn.Linear(4, 4))
        return self.kept[-1](x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.inner, self.derived, self.growing = Inner(), Derived(4, 4), Growing()
        self.s = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.late = None
    def forward(self, x):
"""
CALLED_BY_CLASS = [
    "return self.b(nn.Linear.forward(self.a, x))",
    "return self.b(Inner.forward(self.inner, x))",
    "return nn.Sequential.forward(self.s, self.derived(x))",
]
MADE = [
    "if not hasattr(self, 'new'):\n            self.new = nn.Linear(4, 8)\n        return self.new(self.a(x))",
    "if self.late is None:\n            self.late = nn.Sequential(nn.Linear(4, 8), nn.ReLU())\n        return self.late(x)",
    "p = nn.Linear(4, 8)\n        y = p(x)\n        self.new = p\n        return self.new(x) + y",
    "return self.growing(self.growing(x))",
    "return nn.LayerNorm(4)(self.a(x)), nn.PReLU()(x)",
    "return nn.LSTM(4, 4)(self.a(x)[None])[0], nn.GRUCell(4, 4)(x), nn.BatchNorm1d(4).eval()(x)",
    "return nn.init.xavier_uniform_(torch.empty(4, 4)) @ x, nn.init.zeros_(torch.empty(4)) + x",
]
PARAMETERS = [
    "return torch.func.functional_call(self.a, {k: v * 2 for k, v in self.a.named_parameters()}, (x,))",
    "p = {k: v * 2 for k, v in self.s.named_parameters()}\n        return self.s(torch.func.functional_call(self.s, p, (x,)))",
    "return nn.Parameter(self.a(x).detach()) * 2, nn.Parameter(x * 2) + 1",
    "return nn.Buffer(self.a(x)) * 2",
    "y = self.a(x)\n        self.q = nn.Parameter(y * 2)\n        return y * self.q",
    "self.b.weight = nn.Parameter(self.a(x).detach().clone())\n        return self.b(x)",
    "self.b.weight.data = self.a(x).detach()\n        return self.b(x)",
    "with torch.no_grad():\n            self.b.weight.mul_(2)\n        return self.b(x)",
]


@pytest.mark.parametrize("text", [*CALLED_BY_CLASS, *MADE, *PARAMETERS])
def test_it_is_told_as_a_trace_tells_it(tmp_path: Path, text: str) -> None:
    predicted, real = both(tmp_path, f"{INNER}        {text}\n", "4x4")
    assert predicted.problems == ()
    assert differences(predicted, real) == []
