"""A class with a `__call__` of its own: each call of that of `nn.Module` in it is told as in a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph
from tests.prediction.forward.judged import PRELUDE

LAYER = """
class Own(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)
        self.e = nn.Linear(4, 4)

    def __call__(self, x):
        %s


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.t, self.b = Own(), nn.Linear(4, 2)

    def forward(self, x):
        return self.b(self.t(x))
"""
ROOT = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x, n=2):
        return self.a(x) if n == 0 else self.a(super().__call__(x, n - 1))

    def __call__(self, *given):
        %s
"""
CASES = {
    "once": LAYER % "return super().__call__(x * 2)",
    "twice": LAYER % "return super().__call__(super().__call__(x))",
    "in a loop": LAYER % "for _ in range(3): x = super().__call__(x)\n        return x",
    "not at all": LAYER % "return x + 1",
    "forward": LAYER % "return self.forward(x)",
    "another before": LAYER % "return super().__call__(self.e(x))",
    "another behind": LAYER % "return self.e(super().__call__(x))",
    "another between": LAYER % "return super().__call__(self.e(super().__call__(x)))",
    "by the name of the class": LAYER % "return nn.Module.__call__(self, nn.Linear.__call__(self, x))",
    "root, once": ROOT % "return super().__call__(*given)",
    "root, twice": ROOT % "return super().__call__(super().__call__(*given), 1)",
}
OPEN = {
    "on one path": LAYER % "if x.sum() > 0: x = super().__call__(x)\n        return super().__call__(x)",
    "any number of turns": LAYER % "while x.norm() > 1: x = super().__call__(x) / 9\n        return x",
}


def _calls(graph: Graph) -> list[tuple[str, int | None]]:
    return [(call.module, call.parent) for call in graph.calls]


def _both(folder: Path, text: str) -> tuple[Graph, Graph]:
    import torch

    file = folder / "net.py"
    file.write_text(PRELUDE + text, "utf-8")
    scope: dict[str, Any] = {}
    exec(compile(PRELUDE + text, str(file), "exec"), scope)
    return modgraph.predict(f"{file}:Net", inputs=["3x4"]), modgraph.trace(scope["Net"]().eval(), torch.ones(3, 4))


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", CASES)
def test_it_is_told_as_in_a_trace(name: str, tmp_path: Path) -> None:
    predicted, run = _both(tmp_path, CASES[name])
    assert _calls(predicted) == _calls(run)
    assert [each.name for each in predicted.operations] == [each.name for each in run.operations]
    ends = [{(each.producer, each.consumer) for each in graph.edges} for graph in (predicted, run)]
    assert ends[0] == ends[1]
    assert all(call.certain for call in predicted.calls)
    assert not predicted.problems


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", OPEN)
def test_what_cannot_be_counted_is_said_to_be_unknown(name: str, tmp_path: Path) -> None:
    predicted, run = _both(tmp_path, OPEN[name])
    assert {call.module for call in run.calls} <= {call.module for call in predicted.calls}
    assert any("__call__" in each.message for each in predicted.problems)


def test_either_path_may_make_the_first_of_them(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    body = "return super().__call__(x) if x.sum() > 0 else super().__call__(-x)"
    file.write_text(PRELUDE + LAYER % body, "utf-8")
    graph = modgraph.predict(f"{file}:Net", inputs=["3x4"])
    assert _calls(graph) == [("", None), ("t", 0), ("b", 0)]
    assert not graph.problems
