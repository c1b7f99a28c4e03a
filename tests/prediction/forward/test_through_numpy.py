"""What goes through numpy: a tensor that is made of an array is no constant where the array comes of a tensor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph
from tests.prediction.forward.judged import PRELUDE

NET = """
import numpy as np


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        y = self.a(x).detach()
        %s
        return self.b(torch.from_numpy(n))
"""
CASES = {
    "as it is": "n = y.numpy()",
    "another name": "m = y.numpy(); n = m",
    "a row": "n = y[0].numpy()",
    "a view": "n = y.numpy().reshape(4, 3)[:, :1].reshape(1, 4)",
    "the other way round": "n = y.numpy().T.T",
    "computed": "n = np.abs(y.numpy()) + 1",
    "with another": "n = y.numpy() + x.numpy()",
    "with a constant": "n = np.ones((3, 4), dtype=np.float32) * y.numpy()",
    "joined": "n = np.concatenate([x.numpy(), y.numpy()])",
    "a copy": "n = y.numpy().copy()",
    "written": "n = np.zeros((3, 4), dtype=np.float32); n[:] = y.numpy()",
    "added in place": "n = np.zeros((3, 4), dtype=np.float32); n += y.numpy()",
    "one of two": "n = y.numpy() if x.sum() > 0 else np.zeros((3, 4), dtype=np.float32)",
    "one of two tensors": "if x.sum() > 0: n = y.numpy()\n        else: n = x.numpy()",
    "of the input alone": "n = x.numpy()",
    "constant": "n = np.ones((3, 4), dtype=np.float32)",
    "of constants": "n = np.ones((3, 4), dtype=np.float32) * 2",
}


def _ends(graph: Graph, certain: bool = False) -> set[tuple[str, str]]:
    """The edges into the last call, by what makes what goes there; constants are one."""
    last = f"call:{graph.calls[-1].index}"
    edges = (each for each in graph.edges if each.consumer == last and (each.certain or not certain))
    return {(each.producer.partition(":")[0] if "const" in each.producer else each.producer, last) for each in edges}


def _is_of(net: Any, name: str, x: Any) -> bool:
    """Whether what goes into the last layer is another where that layer gives another."""
    taken: list[Any] = []
    net.b.register_forward_pre_hook(lambda _, given: taken.append(given[0].clone()))
    net(x)
    getattr(net, name).register_forward_hook(lambda *given: given[-1] + 1)
    net(x)
    return not taken[0].equal(taken[1])


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", CASES)
def test_an_array_keeps_where_it_comes_from(name: str, tmp_path: Path) -> None:
    import torch

    pytest.importorskip("numpy")
    file = tmp_path / "net.py"
    file.write_text(PRELUDE + NET % CASES[name], "utf-8")
    scope: dict[str, Any] = {}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), scope)
    graph = modgraph.predict(f"{file}:Net", inputs=["3x4"])
    producers = {producer for producer, _ in _ends(graph)}
    certain = {producer for producer, _ in _ends(graph, certain=True)}
    for fill in (1.0, -1.0):
        net, x = scope["Net"]().eval(), torch.full((3, 4), fill)
        run = modgraph.trace(scope["Net"]().eval(), x)
        assert _ends(run) <= _ends(graph)
        assert _ends(graph, certain=True) <= _ends(run)
        if _is_of(net, "a", x):
            assert "call:1" in producers
            assert "const" not in certain


@pytest.mark.parametrize("name", ["constant", "of constants"])
def test_what_is_made_of_numbers_is_constant(name: str, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(PRELUDE + NET % CASES[name], "utf-8")
    graph = modgraph.predict(f"{file}:Net", inputs=["3x4"])
    assert _ends(graph, certain=True) == _ends(graph) == {("const", "call:2")}


def test_a_tensor_that_is_copied_of_an_array_may_come_of_it(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    body = NET.replace("torch.from_numpy(n)", "torch.tensor(n)") % "n = y.numpy()"
    file.write_text(PRELUDE + body, "utf-8")
    graph = modgraph.predict(f"{file}:Net", inputs=["3x4"])
    (made,) = (each.id for each in graph.operations if each.name == "torch.tensor")
    assert {(each.producer, each.certain) for each in graph.edges if each.consumer == made} == {("call:1", False)}
