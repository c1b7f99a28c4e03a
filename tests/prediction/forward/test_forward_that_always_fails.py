"""A `forward` that fails whatever it is given ends there in the graph of a prediction, also where nobody gave inputs. Torch
is the judge of whether it does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import modgraph
from tests.prediction.forward.judged import PRELUDE

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = %s

    def forward(self, x):
        x = self.a(x)
        x = %s
        return self.c(x)
"""
LINEAR = "nn.Linear(16, 32), nn.Linear(16, 8), nn.Linear(8, 2)"
FAILS = {
    "features": (LINEAR, "self.b(x)", (2, 16)),
    "features behind a function": (LINEAR, "self.b(x.relu() * 2)", (2, 16)),
    "channels": ("nn.Conv2d(1, 10, 3), nn.Conv2d(20, 20, 3), nn.Conv2d(20, 1, 1)", "self.b(x)", (2, 1, 9, 9)),
    "arguments": ("nn.Linear(4, 4), nn.MultiheadAttention(4, 2), nn.Linear(4, 4)", "self.b(x)", (2, 3, 4)),
    "a name": (LINEAR, "self.d(x)", (2, 16)),
}
FITS = ("nn.Linear(16, 32), nn.Linear(32, 8), nn.Linear(8, 2)", "self.b(x)", (2, 16))


def net(tmp_path: Path, layers: str, step: str) -> tuple[modgraph.Graph, torch.nn.Module]:
    text = PRELUDE + NET % (layers, step)
    (tmp_path / "net.py").write_text(text)
    space: dict[str, type[torch.nn.Module]] = {}
    exec(text, space)
    return modgraph.predict(f"{tmp_path / 'net.py'}:Net"), space["Net"]()


@pytest.mark.parametrize("kind", FAILS)
def test_what_is_never_reached_is_not_told(tmp_path: Path, kind: str) -> None:
    layers, step, size = FAILS[kind]
    graph, model = net(tmp_path, layers, step)
    with pytest.raises(Exception) as raised:  # noqa: PT011
        model(torch.ones(size))
    assert not graph.complete
    assert [call.module for call in graph.calls if call.module == "c"] == []
    assert (graph.calls[0].error or "").startswith(raised.type.__name__)
    assert any(problem.stage == "forward" and problem.line for problem in graph.problems)


def test_what_runs_does_not_fail(tmp_path: Path) -> None:
    layers, step, size = FITS
    graph, model = net(tmp_path, layers, step)
    model(torch.ones(size))
    assert graph.complete
    assert all(call.error is None for call in graph.calls)


def test_what_is_not_modelled_is_not_taken_to_fail(tmp_path: Path) -> None:
    """`vmap` is not followed; what comes of it may be anything."""
    (tmp_path / "net.py").write_text(
        PRELUDE
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.r = nn.Embedding(9, 4), nn.GRU(4, 4, batch_first=True)

    def forward(self, x, n):
        return self.r(torch.vmap(torch.neg)(self.e(x)))[1]
"""
    )
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net")
    assert all(call.error is None for call in graph.calls)
    assert graph.model.no_calls is not None
    assert "vmap" in graph.model.no_calls.message
