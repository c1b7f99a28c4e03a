"""What is put into parts of tensors fits there, or torch refuses it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import modgraph

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

KEYS = ("0", ":", ":2", "..., 0", "0, 1:", "None", ":, 1", "1:1", "-1, ..., :2")
SHAPES = (
    "()",
    "(1,)",
    "(3,)",
    "(4,)",
    "(2, 3)",
    "(1, 3)",
    "(1, 1, 3)",
    "(2, 1)",
    "(1, 2, 3, 4)",
    "(2, 3, 4)",
    "(3, 1)",
)
NET = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        y = torch.zeros(2, 3, 4)
        y[{key}] = torch.ones({shape})
        return x + y.sum()
"""


@pytest.mark.parametrize(("key", "shape"), list(itertools.product(KEYS, SHAPES)))
def test_it_is_taken_where_torch_takes_it(key: str, shape: str, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.format(key=key, shape=shape), encoding="utf-8")
    names: dict[str, object] = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    try:
        names["Net"]()(torch.zeros(2))  # type: ignore[operator]
    except RuntimeError:
        is_taken = False
    else:
        is_taken = True
    graph = modgraph.predict(f"{file}:Net", inputs=["2"])
    assert graph.complete is is_taken
    assert any("raises RuntimeError" in each.message for each in graph.problems) is not is_taken


@pytest.mark.parametrize("size", [1, 4])
def test_a_cache_of_one_sample_takes_one(size: int, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(8, 8)\n        self.register_buffer('kept', torch.zeros(1, 16, 8))\n\n"
        "    def forward(self, x):\n        n, t = x.shape[:2]\n        self.kept[:n, :t] = self.a(x)\n"
        "        return self.kept[:n, :t]\n",
        encoding="utf-8",
    )
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=[f"{size}x5x8"])
    assert graph.complete is (size == 1)
