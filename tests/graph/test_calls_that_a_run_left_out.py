"""A call in which a run called nothing, and may have: what is told of the ways inside is what torch does there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph
from modgraph.graph.untaken import as_run
from modgraph.merge import merge

pytestmark = pytest.mark.needs_torch
NET = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.e, self.w = nn.Linear(8, 8), nn.Linear(8, 8), nn.Parameter(torch.ones(8))

    def forward(self, x, y=None):
        pass{extra}
        {body}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.block, self.last = nn.Linear(8, 8), Block(), nn.Linear(8, 8)

    def forward(self, x):
        return self.last(self.block(self.first(x)))
"""
BODIES = {
    "in training": "x = self.a(x) if self.training else x; return x",
    "in training, computed after": "x = self.a(x) if self.training else x; return x + 1",
    "in training, computed before": "x = x.relu() * self.w; x = self.a(x) if self.training else x; return x",
    "by data": "x = self.a(x).relu() if x.sum() > 1e9 else x; return x",
    "by data, of what is computed": "z = x.abs(); z = self.a(z) if z.sum() > 1e9 else z; return z + x",
    "by another argument": "x = self.a(y) if y is not None else x; return x",
    "by two tests": "x = self.a(x) if x.sum() > 1e9 else self.a(x + 1) if x.max() > 1e9 else x; return x * 2",
    "one of several that are computed": "p, q = x.chunk(2, 1); q = self.a(x)[:, :4] if self.training else q; "
    "return torch.cat([p, q], 1)",
}


@pytest.mark.parametrize(
    ("name", "where"),
    [(name, where) for name in BODIES for where in ("Block", "Net") if (name, where) != ("by another argument", "Net")],
)
def test_ways_inside_are_those_of_torch(tmp_path: Path, name: str, where: str) -> None:
    path = tmp_path / "net.py"
    path.write_text(NET.format(body=BODIES[name], extra=""), encoding="utf-8")
    graph = merge(modgraph.predict(f"{path}:{where}", inputs=["2x8"]), traced(path, where, name, ""))
    (call,) = [each for each in graph.calls if each.observed is False][:1]
    assert call.module.endswith("a")
    assert call.condition is not None
    assert graph.model.open_ways is None
    holding = {f"call:{each.parent}" for each in graph.calls}
    assert all(holding.isdisjoint((edge.producer, edge.consumer)) for edge in graph.edges)
    # The same block, with a call beside it of which nothing is used: torch's own ways are told there.
    assert ways(as_run(graph)) == {
        way
        for way in ways(traced(path, where, name, "; self.e(torch.ones(1, 8))"))
        if not any(".e" in f".{end}" for end in way)
    }


def traced(path: Path, where: str, name: str, extra: str) -> Graph:
    import torch

    names: dict[str, Any] = {"__name__": "net"}
    exec(compile(NET.format(body=BODIES[name], extra=extra), path, "exec"), names)
    return modgraph.trace(names[where]().eval(), (torch.ones(2, 8),))


def ways(graph: Graph) -> set[tuple[str, str]]:
    """By the modules, and by names of operations with their numbers among those of that name."""
    words = {f"call:{call.index}": call.module or "net" for call in graph.calls}
    seen: dict[str, int] = {}
    for each in graph.operations:
        if each.name != "torch.ones":
            seen[each.name] = seen.get(each.name, 0) + 1
            words[each.id] = f"{each.name} {seen[each.name]}"
    return {
        (words.get(edge.producer, edge.producer), words.get(edge.consumer, edge.consumer))
        for edge in graph.edges
        if not edge.producer.startswith("op:") or edge.producer in words
    }
