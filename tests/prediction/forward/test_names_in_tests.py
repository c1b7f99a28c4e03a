"""A name in a test is the one that stands there: what a comprehension, a lambda or a pattern binds is no argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import modgraph

pytestmark = pytest.mark.needs_torch
NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, deep=False):
        if not deep:
            return self.c(x)
        BODY
"""
BODIES = {
    "list": "return [self.a(x) if deep else self.b(x) for deep in x.sum(1)]",
    "list, decided where it ends": "return [self.a(x) for deep in [x.sum() > 0] if not deep]",
    "set": "k = {1 for deep in (x.sum() > 0,) if not deep}\n        return self.a(x) if k else self.b(x)",
    "dict": "return {1: self.a(x) for deep in [x.sum() > 0] if not deep}",
    "dict, of a pair": "return {1: self.a(x) if deep else self.b(x) for _, deep in [(1, x.sum() > 0)]}",
    "generator": "return sum(self.a(x) if deep else self.b(x) for deep in x.sum(1))",
    "two loops": "return [self.a(x) if deep else self.b(x) for y in [x] for deep in [y.sum() > 0]]",
    "one inside another": "return [[self.a(x) if deep else self.b(x) for _ in 'a'] for deep in [x.sum() > 0]]",
    "both": "return [self.a(x) for deep in [x.sum() > 0] if deep or self.b(x) is None]",
    "walrus": "return [self.a(x) if deep else self.b(x) for y in [x] if (deep := y.sum() > 0) or True]",
    "lambda": "return (lambda deep: self.a(x) if deep else self.b(x))(x.sum() > 0)",
    "function": ("def f(deep):\n            return self.a(x) if deep else self.b(x)\n        return f(x.sum() > 0)"),
    "capture": (
        "match x.sum() > 0:\n            case deep if deep:\n                return self.a(x)\n        return self.b(x)"
    ),
    "of what was chosen": (
        "m = self.a if deep else None\n        return [self.b(x) if m else self.a(x) for m in (x.sum() > 0,)]"
    ),
}


def _called(file: Path) -> set[str]:
    """The layers that torch calls in some run."""
    import torch

    names: dict[str, Any] = {}
    exec(compile(file.read_text("utf-8"), "net.py", "exec"), names)
    net = names["Net"]()
    found: set[str] = set()
    for name, layer in net.named_children():
        layer.register_forward_hook(lambda *_, name=name: found.add(name))
    for deep in (False, True):
        for value in (1.0, -1.0, 0.0):
            net(torch.full((3, 2), value), deep)
    return found


@pytest.mark.parametrize("name", BODIES)
def test_calls_behind_a_test_of_a_name_that_is_bound_again(name: str, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.replace("BODY", BODIES[name]), "utf-8")
    graph = modgraph.predict(f"{file}:Net", inputs=["x=3x2"])
    called = {each.module for each in graph.calls if each.module}
    assert called == _called(file) or not graph.complete


def test_an_argument_is_itself_in_a_comprehension(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.replace("BODY", "return [self.a(x) if deep else self.b(x) for _ in 'ab']"), "utf-8")
    graph = modgraph.predict(f"{file}:Net", inputs=["x=3x2"])
    assert {each.module for each in graph.calls if each.module} >= _called(file) == {"a", "c"}
