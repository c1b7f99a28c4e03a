"""In which order operations run, and in which call, where Python's own functions and methods run what they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

from tests.prediction.forward.traced import both, differences  # noqa: E402 needs torch

MODEL = """
class Doubling(nn.Linear):
    def __call__(self, x):
        return super().__call__(x) * 2

class Own(nn.Linear):
    def __call__(self, x):
        return F.linear(x, self.weight) * 2

class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
    def __call__(self, x):
        return super().__call__(x + 1).relu()
    def forward(self, x):
        return self.a(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.doubling, self.own, self.around = Doubling(4, 4), Own(4, 4), Around()
    def __call__(self, x):
        return super().__call__(x * 2)
    def forward(self, x):
        d = {"a": self.a(x), "b": x}
        return %s
"""
TEXTS = [
    "sum(v.sum(-1) for v in d.values())",
    "sum((layer(x) for layer in (self.a, self.b)), start=x)",
    "sum([v.sum(-1) for v in d.values()])",
    "sum(map(torch.relu, d.values()))",
    "self.around(self.doubling(x))",
    "self.around(self.own(x))",
]


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_that_of_a_trace(tmp_path: Path, text: str) -> None:
    predicted, real = both(tmp_path, MODEL % text, "2x4")
    assert predicted.problems == ()
    assert differences(predicted, real) == []
