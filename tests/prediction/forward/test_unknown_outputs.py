"""A part of what a model gives back of which nothing is known is said to be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph import load, predict
from modgraph.export import render
from modgraph.export.text.summary import summary
from modgraph.graph.outputs import output_end
from tests.prediction.forward.judged import PRELUDE

NET = """
import not_installed
from dataclasses import dataclass
from typing import Any, NamedTuple

@dataclass
class Record:
    y: Any
    loss: Any

class Named(NamedTuple):
    y: Any
    loss: Any

class Inner(nn.Module):
    def forward(self, y):
        return y, not_installed.f(y)

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
        ("{'y': y, 'more': [y, not_installed.f(y)]}", "output['more'][1]"),
        ("[y, not_installed.f(y)]", "output[1]"),
        ("Record(y, not_installed.f(y))", "output.loss"),
        ("Named(y, not_installed.f(y))", "output.loss"),
        ("y, Record(y, (not_installed.f(y), y))", "output[1].loss[0]"),
        ("Inner()(y)", "output[1]"),
        ("not_installed.f(y)", "output"),
    ],
)
def test_a_part_of_which_nothing_is_known_is_told(tmp_path: Path, given: str, place: str) -> None:
    (tmp_path / "net.py").write_text(PRELUDE + NET % given)
    graph = predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=3x4"])
    assert graph.model.open_shapes is not None
    assert f"what {place} is" in graph.model.open_shapes.message
    assert f"what {place} is" in " ".join(summary(graph).split())
    unknown = [each for each in graph.calls[0].outputs if each.unknown is not None]
    assert [(each.name, each.shape, each.dtype) for each in unknown] == [(place, None, None)]
    end = output_end(place)
    assert not [each for each in graph.edges if each.consumer == end]
    shown = [line for line in render(graph, "dot").splitlines() if line.startswith('  "output:') and "label=<" in line]
    assert len([line for line in shown if "which is not known: No module named" in line]) == 1
    assert len(shown) == len({each.consumer for each in graph.edges if each.consumer.startswith("output:")}) + 1
    file = tmp_path / "net.json"
    graph.save(file)
    assert load(file) == graph


@pytest.mark.parametrize("given", ["Inner()(y)[0]", "Inner()(y)[1]"])
def test_of_a_call_inside_it_is_told_too(tmp_path: Path, given: str) -> None:
    (tmp_path / "net.py").write_text(PRELUDE + NET % given)
    graph = predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=3x4"])
    assert [(each.name, each.unknown is None) for each in graph.calls[2].outputs] == [
        ("output[0]", True),
        ("output[1]", False),
    ]


@pytest.mark.parametrize("given", ["y", "y, None", "y, len(not_installed.names)", "{'y': y, 'n': 3}"])
def test_nothing_is_told_where_no_tensor_is_missing(tmp_path: Path, given: str) -> None:
    (tmp_path / "net.py").write_text(PRELUDE + NET % given)
    graph = predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=3x4"])
    assert graph.model.open_shapes is None
