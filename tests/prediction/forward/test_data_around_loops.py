"""What a loop may have changed goes on under no test of a turn: it may have had no turn."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph

NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        r = x
        BODY
        return self.c(r)
"""
BODIES = {
    "while": "while x.max() > 1:\n            x = x / 2\n            r = self.a(x) if x.sum() > 0 else self.b(x)",
    "one arm": "while x.max() > 1:\n            x = x / 2\n            if x.sum() > 0: r = self.a(x)",
    "for": (
        "for y in x.nonzero():\n            if y.sum() > 0: r = self.a(y.float())\n            else: r = self.b(y.float())"
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_test_inside_of_a_loop_says_nothing_of_data_around_it(name: str, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.replace("BODY", BODIES[name]), "utf-8")
    graph = modgraph.predict(f"{file}:Net", inputs=["x=3x2"])
    (last,) = (each.index for each in graph.calls if each.module == "c")
    into = [each for each in graph.edges if each.consumer == f"call:{last}"]
    assert "input:x" in {each.producer for each in into}
    assert not any(each.certain for each in into)
    assert not any(each.condition and "sum()" in each.condition.text for each in into)
