"""What depends on a condition is marked in a picture: operations as well as calls of modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import modgraph
from modgraph.export import render
from modgraph.export.text.summary import summary

NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x, scale=None):
        x = self.first(x)
        if scale is not None:
            STEPS
        return self.second(x)
"""
STEPS = {
    "x = torch.tanh(x)": ["tanh"],
    "x = torch.tanh(torch.sigmoid(x))": ["sigmoid", "tanh"],
    "x = x * scale": ["mul"],
    "x = x * self.first.weight.sum() + x": ["sum", "mul", "add"],
}


@pytest.mark.parametrize(("steps", "words"), STEPS.items())
def test_each_operation_stands_in_a_card_that_says_so(tmp_path: Path, steps: str, words: list[str]) -> None:
    path = tmp_path / "net.py"
    path.write_text(NET.replace("STEPS", steps), encoding="utf-8")
    drawn = render(modgraph.predict(f"{path}:Net", inputs=["2x4"]), "dot")
    cards = [line for line in drawn.splitlines() if "->" not in line and "<b>" in line]
    for word in words:
        (card,) = [line for line in cards if f"<b>{word}</b>" in line]
        assert re.search(r"filled,dotted.*depends on.*scale is not None", card)
        assert card.count("scale is not None") == 1
    assert not any("depends on" in line for line in cards if "<b>Linear</b>" in line)


@pytest.mark.needs_torch
def test_what_a_run_did_not_take_says_that_too(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(NET.replace("STEPS", "x = torch.tanh(x)"), encoding="utf-8")
    drawn = render(modgraph.analyze(f"{path}:Net", inputs=["2x4"]), "dot")
    (card,) = [line for line in drawn.splitlines() if "<b>tanh</b>" in line]
    assert "scale is not None; not taken" in card
    # The main path passes beside it, and its label is given room there.
    (arrow,) = [line for line in drawn.splitlines() if line.startswith("  first -> second ")]
    assert "label=" in arrow
    assert "fixedsize" not in arrow


PART = """

class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.high = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.high(torch.relu(self.low(x)))

class Whole(Net):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x, scale=None):
        x = self.first(x)
        if scale is not None:
            x = self.part(x)
        return self.second(x)
"""


@pytest.mark.parametrize("format", ["dot", "mermaid"])
def test_the_title_of_a_container_says_on_what_it_depends(tmp_path: Path, format: str) -> None:
    path = tmp_path / "net.py"
    path.write_text(NET.replace("STEPS", "pass") + PART, encoding="utf-8")
    drawn = render(modgraph.predict(f"{path}:Whole", inputs=["2x4"]), format)
    assert re.search(r"depends on</b>(</font>)?\W+(<font[^>]*>)?scale is not None", drawn)


LOOP = """

class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(4))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
            if x.max() > 3:
                break
        return x
"""


def test_a_block_that_is_surely_called_is_not_folded_with_those_that_may_be(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(f"from torch import nn\n{LOOP}", encoding="utf-8")
    graph = modgraph.predict(f"{path}:Loop", inputs=["2x4"])
    blocks = [node for node in graph.modules if node.path.startswith("blocks.") and node.path.count(".") == 1]
    repeats = {node.path: node.repeat and node.repeat.count for node in blocks}
    assert repeats == {"blocks.0": None, "blocks.1": 3, "blocks.2": 3, "blocks.3": 3}
    drawn = render(graph, "mermaid")
    assert "×3" in drawn
    assert "depends on" in drawn


CHOSEN = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        out = torch.zeros_like(x)
        for place, expert in enumerate(self.experts):
            rows = x[:, 0] > place - 10
            if rows.any():
                out[rows] = expert(x[rows]).tanh()
        return out
"""


@pytest.mark.needs_torch
def test_what_ran_on_a_condition_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(CHOSEN, encoding="utf-8")
    graph = modgraph.analyze(f"{path}:Net", inputs=["5x4"])
    calls = [call for call in graph.calls if call.module.startswith("experts.")]
    assert [(call.certain, call.observed) for call in calls] == [(True, True)] * 3
    operations = [each for each in graph.operations if each.name == "torch.Tensor.tanh"]
    for part in (*calls, *operations):
        assert part.condition is None  # it is certain: it ran
        assert part.held is not None
        assert part.held.text == "rows.any()"
        assert "if rows.any():" in CHOSEN.splitlines()[(part.held.line or 0) - 1]
    assert all(each.held is None for each in graph.operations if each.name == "torch.zeros_like")
    drawn = str(render(graph, "dot"))
    assert re.search(r"only if.*rows\.any\(\)", drawn)
    assert "depends on" not in drawn
    assert "only if rows.any()" in summary(graph)
