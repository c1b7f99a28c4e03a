"""A test of `while` is made behind the turn, on what that has made: each way of data is one of runs of torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch
NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.ReLU(), nn.Linear(8, 8), nn.Tanhshrink()

    def forward(self, x):
        x = x + self.c(x)
        {body}
"""
BODIES = {
    "operations": "while x.sum() < 200:\n x = self.b(x).abs() + 10\nreturn x.exp()",
    "a call": "while self.a(x).abs().sum() < 200:\n x = self.b(x).abs() + 10\nreturn x.exp()",
    "continue": "while x.sum() < 200:\n x = self.b(x).abs() + 10\n if x.shape[0] == 2:\n  continue\n x = x - 1\nreturn x.exp()",
}


@pytest.mark.parametrize("name", BODIES)
def test_ways_are_those_of_runs(tmp_path: Path, name: str) -> None:
    import torch

    path = tmp_path / "net.py"
    path.write_text(NET.format(body=BODIES[name].replace("\n", "\n        ")), encoding="utf-8")
    names: dict[str, Any] = {"__name__": "net"}
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), names)
    model = names["Net"]()
    torch.nn.init.eye_(model.b.weight)
    torch.nn.init.zeros_(model.b.bias)
    runs = [modgraph.trace(model, (torch.full((2, 8), value),)) for value in (100.0, 1.0)]  # none and two turns
    predicted = modgraph.predict(f"{path}:Net", inputs=["2x8"])
    assert ways(predicted) <= ways(runs[0]) | ways(runs[1])
    into = [{way for way in each if way[1].endswith((" 11", "a"))} for each in map(ways, (predicted, runs[1]))]
    assert into[0] == into[1]  # of the test


def ways(graph: Graph) -> set[tuple[str, str]]:
    words = {f"call:{call.index}": call.module for call in graph.calls}
    words.update((each.id, f"{each.name} {each.source and each.source.line}") for each in graph.operations)
    return {
        (words.get(one, one), words.get(edge.consumer, edge.consumer))
        for edge in graph.edges
        for one in (edge.producer, *edge.or_from)
    }
