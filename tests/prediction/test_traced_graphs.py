"""What torch.fx traces is not followed: it costs next to nothing, and nothing else is lost by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.prediction.entry import predict_target
from modgraph.source.targets import parse_target
from tests.prediction.forward.judged import predicted, wrong

pytestmark = pytest.mark.needs_torch

MADE = """
import torch.fx

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.traced = %s

    def forward(self, x):
        return self.traced(self.a(x))
"""
CALLED = """
import torch.fx

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.b(torch.fx.symbolic_trace(self.a)(x))
"""


@pytest.mark.parametrize(
    "made", ["torch.fx.symbolic_trace(nn.Linear(3, 3))", "torch.fx.symbolic_trace(nn.Linear(3, 4))"]
)
def test_what_is_beside_it_stays_known(made: str, tmp_path: Path):
    graph = predicted(tmp_path, MADE % made, ["2x3"])

    assert wrong(tmp_path, MADE % made) == []
    assert not graph.complete
    assert [(call.module, call.certain) for call in graph.calls[:2]] == [("", True), ("a", True)]
    assert graph.calls[1].outputs[0].shape == (2, 3)


def test_it_may_be_traced_where_the_model_runs(tmp_path: Path):
    assert wrong(tmp_path, CALLED) == []
    assert any(
        "what torch.fx traces is not followed" in each.message for each in predicted(tmp_path, CALLED, ["2x3"]).problems
    )


def test_it_takes_a_part_of_the_work_of_its_source(tmp_path: Path):
    text = MADE % "torch.fx.symbolic_trace(nn.Linear(3, 3))"
    predicted(tmp_path, text, ["2x3"])

    assert predict_target(parse_target(f"{tmp_path / 'net.py'}:Net")).machine.work < 500_000
