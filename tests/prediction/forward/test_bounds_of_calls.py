"""How often a module is called: at most so many times only where no loop of any number of turns is around the call. The
model itself, called with other arguments, is the judge."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import torch
from torch import nn

from modgraph import Graph, predict
from modgraph.export import PictureOptions, render
from modgraph.export.text.summary import summary
from modgraph.graph.serial import schema
from tests.prediction.forward.judged import PRELUDE

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.act = nn.Linear(8, 8), nn.Tanh()

    def step(self, x):
        return self.act(self.cell(x))

    def go(self, x, n):
        return x if n == 0 else self.go(self.step(x), n - 1)

    def forward(self, x%s):
%s
"""

OPEN = {
    "while on data": (
        ", tol=1e9",
        "while x.norm() < tol and x.norm() < 100:\n    x = self.step(x) + 100\nreturn x",
        {},
    ),
    "range of an argument": (", n=2", "for _ in range(n):\n    x = self.step(x)\nreturn x", {"n": 5}),
    "range of data": ("", "for _ in range(int(x.abs().max()) + 3):\n    x = self.step(x)\nreturn x", {}),
    "comprehension": (", n=2", "return torch.stack([self.step(x) for _ in range(n)])", {"n": 5}),
    "map": (", n=2", "return torch.stack(list(map(lambda _: self.step(x), range(n))))", {"n": 5}),
    "recursion": (", n=2", "return self.go(x, n)", {"n": 5}),
    "test in a loop": (
        ", n=2",
        "for _ in range(n):\n    if x.norm() < 1e9:\n        x = self.step(x)\nreturn x",
        {"n": 5},
    ),
    "items of an argument": (", more=()", "x = self.step(x)\nfor y in more:\n    x = x + self.step(y)\nreturn x", None),
    "while on an argument": (", n=1", "while n > 0:\n    x = self.step(x)\n    n -= 1\nreturn x", {"n": 5}),
    "loop in a loop": (
        ", n=2",
        "for _ in range(n):\n    for _ in range(2):\n        x = self.step(x)\nreturn x",
        {"n": 5},
    ),
}
CLOSED = {
    "break": ("", "for _ in range(3):\n    x = self.step(x)\n    if x.sum() > 0:\n        break\nreturn x", "≤ 3"),
    "flag": (", twice=False", "x = self.step(x)\nif twice:\n    x = self.step(x)\nreturn x", "≤ 2"),
    "known": ("", "for _ in range(3):\n    x = self.step(x)\nreturn x", "3"),
}


def told(tmp_path: Path, arguments: str, body: str) -> tuple[str, Graph]:
    text = NET % (arguments, "\n".join("        " + line for line in body.splitlines()))
    (tmp_path / "net.py").write_text(PRELUDE + text)
    graph = predict(f"{tmp_path / 'net.py'}:Net")
    row = next(line for line in summary(graph, columns=["calls"]).splitlines() if line.startswith("├─ cell"))
    found = re.search(r"[≤≥]? ?\d+", row.removeprefix("├─ cell"))
    assert found is not None
    return found[0].strip(), graph


@pytest.mark.parametrize("kind", OPEN)
def test_no_bound_is_told_of_a_loop_that_is_open(tmp_path: Path, kind: str) -> None:
    arguments, body, given = OPEN[kind]
    bound, graph = told(tmp_path, arguments, body)
    assert bound.startswith("≥ ")
    assert any(call.may_repeat for call in graph.calls)
    jsonschema.validate(json.loads(graph.to_json()), schema())
    calls = 0
    space: dict[str, type[nn.Module]] = {}
    exec((tmp_path / "net.py").read_text(), space)
    model = space["Net"]()

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    model.cell.register_forward_hook(count)
    with torch.no_grad():
        x = torch.ones(5, 8)
        model(x, more=[x, x, x]) if given is None else model(x, **given)
    assert calls >= int(bound.removeprefix("≥ "))


@pytest.mark.parametrize("kind", CLOSED)
def test_a_bound_is_told_where_there_is_one(tmp_path: Path, kind: str) -> None:
    arguments, body, bound = CLOSED[kind]
    assert told(tmp_path, arguments, body)[0] == bound


@pytest.mark.parametrize(
    ("kind", "says"), [("range of an argument", False), ("loop in a loop", False), ("known", True)]
)
def test_pictures_say_of_how_many_where_that_is_known(tmp_path: Path, kind: str, says: bool) -> None:
    _, graph = told(tmp_path, *(OPEN | CLOSED)[kind][:2])
    content = render(graph, "dot", PictureOptions())
    text = content if isinstance(content, str) else content.decode()
    assert bool(re.search(r"2 of \d", text)) is says
