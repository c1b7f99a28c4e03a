"""Modules that are below themselves: torch's walks without a memory end with RecursionError, and ours end."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import modgraph
from modgraph.graph.model import Graph

CIRCLES = {
    "itself": "self.a = nn.Linear(1, 1)\nself.me = self",
    "a container": "self.a = nn.Sequential(nn.ReLU())\nself.a.add_module('me', self.a)\nself.b = self.a",
    "by way of a list": "self.a = nn.ModuleList([nn.Identity()])\nself.a.append(self)",
}
ENDING = ("self.zero_grad()", "list(self.named_parameters())", "list(self.modules())", "self.requires_grad_(False)")
ENDLESS = ("self.train()", "self.eval()", "self.apply(lambda module: None)")


def _net(circle: str, call: str) -> str:
    body = textwrap.indent(f"{circle}\n{call}\nself.z = nn.Linear(2, 2)", " " * 8)
    head = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    return f"{head}{body}\n    def forward(self, x):\n        return self.z(x)\n"


@pytest.mark.parametrize("call", ENDING)
@pytest.mark.parametrize("circle", CIRCLES.values(), ids=CIRCLES)
@pytest.mark.needs_torch
def test_walks_with_a_memory_are_predicted(agrees: Callable[[str], Graph], circle: str, call: str) -> None:
    agrees(_net(circle, call))


@pytest.mark.parametrize("call", ENDLESS)
@pytest.mark.parametrize("circle", CIRCLES.values(), ids=CIRCLES)
@pytest.mark.needs_torch
def test_walks_without_one_raise(predict_source: Callable[..., Graph], circle: str, call: str) -> None:
    nn = pytest.importorskip("torch.nn")
    namespace = {"nn": nn}
    exec(_net(circle, call), namespace)
    with pytest.raises(RecursionError):
        namespace["Net"]()  # type: ignore[operator]
    problems = [each.message for each in predict_source(_net(circle, call)).problems]
    assert any("RecursionError" in each for each in problems)


@pytest.mark.parametrize("circle", CIRCLES.values(), ids=CIRCLES)
def test_forward_of_one_ends(tmp_path: Path, circle: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(f"from torch import nn\n{_net(circle, '')}", encoding="utf-8")
    graph = modgraph.predict(f"{file}:Net", inputs=["1x2"])
    assert graph.calls == ()  # `eval()` of it has no end
    assert any("RecursionError" in each.message for each in graph.problems if each.stage == "forward")
    assert "z" in {each.path for each in modgraph.predict(f"{file}:Net").modules}
