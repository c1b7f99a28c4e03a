"""The sweep over mistakes, on a model made up here: each kind finds its places, torch says that it is a mistake, and the
check finds it."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from modgraph.rules.names import Project

pytestmark = pytest.mark.needs_torch
pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))
try:
    import rule_mutations as sweep
finally:
    sys.path.pop(0)

TEXT = '''
import torch
from torch import nn


class Block(nn.Module):
    """One of some."""

    def __init__(self, width=8):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.norm = nn.LayerNorm(width)
        self.gamma = nn.Parameter(torch.ones(width))
        self.register_buffer("index", torch.arange(8))

    def forward(self, x):
        return self.drop(self.norm(x)) * self.gamma + self.index


class Net(nn.Module):
    def __init__(self, width: int = 8, depth: int = 2):
        super().__init__()
        self.stem = nn.Linear(8, 8)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
'''


@pytest.mark.parametrize("name", sweep.KINDS)
def test_each_kind_of_mistake_is_made_and_found(name: str, tmp_path: Path) -> None:
    codes, truth, find = sweep.KINDS[name]
    file = tmp_path / "net.py"
    model = sweep.Model("own", file, "Net", ())
    before = sweep.built(model, TEXT)
    assert not isinstance(before, str)
    places = sweep.changes(TEXT, sweep.lines_of_building(model, TEXT), find)
    assert places
    made = [sweep.changed(TEXT, each) for each in places]
    assert all(ast.parse(text) for text in made)
    mistaken = [
        (text, each)
        for text, each in zip(made, places, strict=True)
        if sweep.is_so(truth, before, sweep.built(model, text))
    ]
    assert mistaken
    assert all(sweep.is_found(model, text, each, codes, Project()) for text, each in mistaken)


def test_the_text_as_it_stands_has_none_of_them(tmp_path: Path) -> None:
    model = sweep.Model("own", tmp_path / "net.py", "Net", ())
    for codes, _, find in sweep.KINDS.values():
        for each in sweep.changes(TEXT, set(range(100)), find):
            assert not sweep.is_found(model, TEXT, each, codes, Project())


def test_torch_is_the_judge() -> None:
    before = frozenset(["a", "b"]), 2
    assert sweep.is_so(sweep.LOST, before, (frozenset(["a"]), 1))
    assert sweep.is_so(sweep.LOST, before, (frozenset(["a", "b"]), 1))
    assert not sweep.is_so(sweep.LOST, before, before)
    assert not sweep.is_so(sweep.LOST, before, "TypeError: no")
    assert sweep.is_so(sweep.RAISES, before, "TypeError: no")
    assert sweep.is_so(sweep.BUILDS, before, before)
    assert not sweep.is_so(sweep.BUILDS, before, "TypeError: no")
