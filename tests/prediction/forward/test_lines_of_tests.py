"""What a test computes stands in the line of the test, as in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import modgraph

pytestmark = pytest.mark.needs_torch
NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        {body}

    def each(self, x):
        {other}
"""
ALONE = "yield x"
CASES = {
    "elif": ("if x.sum() > 500:\n return x\n\nelif x.max() > 900:\n return -x\nreturn x", ALONE),
    "elif of an elif": (
        "if x.sum() > 500:\n return x\nelif x.max() > 900:\n return -x\nelif x.min() * 2 > x.max():\n return x + 1\nreturn x",
        ALONE,
    ),
    "behind a test that is decided": ("if x is None:\n return x\nelif x.max() > 900:\n return -x\nreturn x", ALONE),
    "in a loop": ("for _ in range(2):\n if x is None:\n  x = x\n elif x.max() > 900:\n  x = -x\nreturn x", ALONE),
    "in a generator": (
        "for y in self.each(x): x = y\nreturn x",
        "if x is None:\n yield x\nelif x.shape[0] > 0 and x[0, 0] < 5:\n yield x + 1",
    ),
    "guard": ("match x.ndim:\n case 2 if x.sum() > 500:\n  return x\n case _:\n  return -x", ALONE),
    "guards of several cases": (
        "match x.ndim:\n case 1:\n  return x\n\n case 2 if x.sum() > 500:\n  return x\n case n if x.max() > n:\n  return -x\nreturn x",
        ALONE,
    ),
    "guard of several lines": (
        "match x.ndim:\n case 2 if x.sum(\n  ) > 500:\n  return x\n case 2 if x.max(\n ) > 900:\n  return -x\nreturn x + 1",
        ALONE,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_operations_of_tests_have_their_lines(tmp_path: Path, name: str) -> None:
    import torch

    path = tmp_path / "net.py"
    body, other = (each.replace("\n", "\n        ") for each in CASES[name])
    path.write_text(NET.format(body=body, other=other), encoding="utf-8")
    names: dict[str, Any] = {"__name__": "net"}
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), names)
    ran = modgraph.trace(names["Net"](), (torch.ones(2, 8),))
    predicted = modgraph.predict(f"{path}:Net", inputs=["2x8"])
    lines = {(each.name, each.source and each.source.line) for each in predicted.operations}
    seen = {(each.name, each.source and each.source.line) for each in ran.operations}
    assert len(seen) > 1
    assert seen <= lines
