"""What is said to have held in a run has held there, and what is said not to have been taken was not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph
from modgraph.merge import merge

pytestmark = pytest.mark.needs_torch
NET = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return self.inner(x).relu()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.e = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 4), Block()

    def step(self, module, x):
        return module(x)

    def forward(self, x, y):
        {body}
"""
BODIES = {
    "other data": "return self.c(self.a(x) if x.sum() > 5 else self.a(y))",
    "other data of a block": "return self.c(self.e(x) if x.sum() > 5 else self.e(y))",
    "other data in a helper": """if x.sum() > 5:
            z = self.step(self.a, x)
        else:
            z = self.step(self.a, y)
        return self.c(z)""",
    "data goes elsewhere": """if x.sum() > 5:
            return self.c(self.step(self.a, x))
        return self.b(self.step(self.a, x))""",
    "the same": """if x.sum() > 5:
            z = self.step(self.a, x)
        else:
            z = self.step(self.a, x)
        return self.c(z)""",
    "the same of a block": """if x.sum() > 5:
            z = self.step(self.e, x)
        else:
            z = self.step(self.e, x)
        return self.c(z)""",
    "of three": """if x.sum() > 5:
            z = self.step(self.a, x)
        elif x.sum() < -5:
            z = self.step(self.a, x)
        else:
            z = self.step(self.a, y)
        return self.c(z)""",
    "two that do not exclude each other": """z = y
        if x.sum() > 5:
            z = self.step(self.a, z)
        if x.sum() < 5:
            z = self.step(self.a, z)
        return self.c(z)""",
    "operations": "return self.c(x.abs() if x.sum() > 5 else y.abs())",
}
TOLD = ("other data", "other data of a block", "other data in a helper", "data goes elsewhere", "operations")


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Graph, Any]]:
    """What is predicted, and the model."""

    @cache
    def made(name: str) -> tuple[Graph, Any]:
        path = tmp_path_factory.mktemp("net") / "net.py"
        path.write_text(NET.format(body=BODIES[name]), encoding="utf-8")
        names: dict[str, Any] = {"__name__": "net"}
        exec(compile(path.read_text(encoding="utf-8"), path, "exec"), names)
        return modgraph.predict(f"{path}:Net", inputs=["2x8", "2x8"]), names["Net"]()

    return made


@pytest.mark.parametrize("value", [1.0, -1.0, 0.1])
@pytest.mark.parametrize("name", BODIES)
def test_what_held_has_held(halves: Callable[[str], tuple[Graph, Any]], name: str, value: float) -> None:
    import torch

    predicted, model = halves(name)
    x = torch.full((2, 8), value)
    graph = merge(predicted, modgraph.trace(model, (x, torch.ones(2, 8))))
    parts = (*graph.calls, *graph.operations)
    assert all((part.condition is None) == part.certain for part in parts)
    assert all(part.predicted for part in parts)
    for part in parts:
        if part.held is not None:
            assert part.observed
            assert eval(part.held.text, {"x": x})
        elif part.observed is False and part.condition and not part.condition.text.startswith("depends on which of"):
            assert not eval(part.condition.text, {"x": x})
    if name in TOLD:
        assert any(part.held for part in parts)
