"""A part of what a model gives back of which nothing is known is said to be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph import predict
from modgraph.export.text.summary import summary
from tests.prediction.forward.judged import PRELUDE

NET = """
import not_installed

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        y = self.body(x)
        return %s
"""


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("y, not_installed.f(y)", "output[1]"),
        ("not_installed.f(y), y", "output[0]"),
        ("y, (y, not_installed.f(y))", "output[1][1]"),
        ("{'y': y, 'loss': not_installed.f(y)}", "output['loss']"),
    ],
)
def test_a_part_of_which_nothing_is_known_is_told(tmp_path: Path, given: str, place: str) -> None:
    (tmp_path / "net.py").write_text(PRELUDE + NET % given)
    graph = predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=3x4"])
    assert graph.model.open_shapes is not None
    assert f"what {place} is" in graph.model.open_shapes.message
    assert f"what {place} is" in " ".join(summary(graph).split())


@pytest.mark.parametrize("given", ["y", "y, None", "y, len(not_installed.names)", "{'y': y, 'n': 3}"])
def test_nothing_is_told_where_no_tensor_is_missing(tmp_path: Path, given: str) -> None:
    (tmp_path / "net.py").write_text(PRELUDE + NET % given)
    graph = predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=3x4"])
    assert graph.model.open_shapes is None
