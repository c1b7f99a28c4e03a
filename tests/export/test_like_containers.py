"""What is said of containers that are one row because they are like an open one: of other sizes only where they have some."""

from __future__ import annotations

import pytest

import modgraph
from modgraph.export.look.folding import Cut
from modgraph.export.look.options import PictureOptions
from modgraph.export.picture.choosing import _Choice

NET = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, p=0.1):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 8)
        self.d, self.e = nn.Tanh(), nn.Dropout(p)

    def forward(self, x):
        y = self.e(self.d(self.c(self.b(self.a(x)))))
        return y + x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(BLOCKS)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
CASES = {
    "[Block(8, p=0.1 + i / 10) for i in range(2)]": "1 container collapsed (▸): same structure",
    "[Block(8 * (i + 1)) for i in range(3)]": "2 containers collapsed (▸): same structure, other sizes",
    "[Block(8), Block(16), Block(8, p=0.5)]": ("2 containers collapsed (▸): same structure, some with other sizes"),
}


@pytest.mark.parametrize(("blocks", "words"), CASES.items())
def test_what_the_note_says(tmp_path, blocks, words):
    (tmp_path / "net.py").write_text(NET.replace("BLOCKS", blocks), encoding="utf-8")
    choice = _Choice(modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["2x8"]), PictureOptions(), None)
    picture = choice.made(Cut(depth=3, fold=True, like_once=True))
    assert [note for note in picture.notes if "collapsed" in note] == [words]
