"""Loops of unknown turns, predicted once and run several times: what is put beside the run goes on in its order."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import modgraph
from modgraph.graph.model import Graph
from modgraph.merge import merge

pytestmark = pytest.mark.needs_torch

TURNS = {
    "a number that is given": "for step in range(turns):",
    "while a number lasts": "left = turns\n    while left > 0:\n        left = left - 1",
}
BODIES = {
    "fed by the turn before": "x = self.cell(x)",
    "another way that is not taken": "y = self.cell(x)\nx = self.extra(y) if flag else y.relu()",
    "a way that begins with what was there before": "x = self.cell(first if flag else x)",
    "operations alone": "x = x.tanh() if flag else x.relu()",
    "turns that know nothing of one another": "kept.append(self.cell(first))",
    "a branch inside": "x = self.cell(x)\nif flag:\n    x = self.extra(x)\nx = self.last(x)",
    "a container": "x = self.block(x, flag)",
    "a loop in a loop": "for _ in range(turns):\n    x = self.cell(x)\n    if flag:\n        x = self.extra(x)\nkept.append(x)",
}
AFTER = {
    "the last": "return x",
    "all": "return torch.stack(kept or [x])",
    "another way": "return self.extra(x) if flag else x",
}
SOURCE = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, flag):
        x = self.one(x)
        return self.two(x.tanh()) if flag else x.relu()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.extra, self.last, self.block = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3), Block()

    def forward(self, x):
        turns, flag = int(x.sum()), x.norm() > 1e6
        first, kept = x.sigmoid(), []
"""


def both(folder: Path, head: str, body: str, after: str) -> Graph:
    lines = textwrap.indent(textwrap.dedent(head), "    ").splitlines()
    lines += textwrap.indent(body, "        ").splitlines()
    text = SOURCE + textwrap.indent("\n".join([*lines, "    " + after]), "    ")
    text = text.replace("\n            while", "\n        while").replace(
        "\n                left", "\n            left"
    )
    file = folder / "loops_net.py"
    file.write_text(text, encoding="utf-8")
    found = importlib.util.spec_from_file_location("loops_net", file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["loops_net"] = module
    try:
        found.loader.exec_module(module)
        import torch

        traced = modgraph.trace(module.Net(), torch.ones(2, 3))
    finally:
        del sys.modules["loops_net"]
    return merge(modgraph.predict(f"{file}:Net", inputs=["2x3"]), traced)


def in_order(graph: Graph) -> Iterator[str]:
    """Ends that nothing leads to but what came before; those in a circle are left out."""
    waiting: dict[str, set[str]] = {}
    for edge in graph.edges:
        waiting.setdefault(edge.producer, set())
        waiting.setdefault(edge.consumer, set()).add(edge.producer)
    while free := [end for end, before in waiting.items() if not before]:
        for end in free:
            del waiting[end]
            yield end
        for before in waiting.values():
            before.difference_update(free)


@pytest.mark.parametrize(("turns", "body", "after"), [*product(TURNS, BODIES, AFTER)])
def test_what_did_not_run_goes_on_in_the_order_of_the_run(turns: str, body: str, after: str, tmp_path: Path):
    graph = both(tmp_path, TURNS[turns], BODIES[body], AFTER[after])

    assert {*in_order(graph)} == {end for edge in graph.edges for end in (edge.producer, edge.consumer)}
    ran = {f"call:{call.index}" for call in graph.calls if call.observed} | {
        each.id for each in graph.operations if each.observed
    }
    beside = [edge for edge in graph.edges if not edge.observed]
    assert not [edge for edge in beside if edge.producer in ran and edge.consumer in ran and edge.certain]
    assert all(call.predicted for call in graph.calls if call.observed), "each turn is one that was predicted"
    assert all(each.predicted for each in graph.operations if each.observed)
