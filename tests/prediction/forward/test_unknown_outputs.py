"""A part of what a model gives back of which nothing is known is said to be there."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

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


WAYS = """
import not_installed

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        if x.sum() > 0:
            return {first}
        return {other}
"""
UNKNOWN = "not_installed.f(x)"


@pytest.mark.needs_torch
@pytest.mark.parametrize("first", ["self.a(x), {u}", "{u}, x", "x, self.b(x), {u}", "x[0], x + 1"])
@pytest.mark.parametrize("other", ["self.b(x), x", "x, self.b(x)", "self.a(x), {u}", "self.b(x)[0], x"])
def test_each_place_of_two_ways_is_told_as_both_have_it(tmp_path: Path, first: str, other: str) -> None:
    """Torch says what each way gives, with a tensor in the place of what is not known."""
    import torch

    ways = [each.format(u=UNKNOWN) for each in (first, other)]
    (tmp_path / "net.py").write_text(PRELUDE + WAYS.format(first=ways[0], other=ways[1]))
    told = predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=2x4"]).calls[0].outputs
    space = {"x": torch.zeros(2, 4), "self": SimpleNamespace(a=torch.nn.Linear(4, 4), b=torch.nn.Linear(4, 3))}
    real = [eval(each.replace(UNKNOWN, "None"), dict(space)) for each in ways]
    if len(real[0]) != len(real[1]):
        assert all(each.unknown for each in told[len(real[1]) :])  # "or nothing"
        return
    assert [each.name for each in told] == [f"output[{place}]" for place in range(len(real[0]))]
    for each, *both in zip(told, *real, strict=True):
        assert (each.unknown is not None) == any(one is None for one in both)
        assert each.unknown is None or "may be no tensor" in each.unknown
        shapes = [one.shape for one in both if one is not None]
        if each.shape is not None:
            assert each.unknown is None
            assert all(len(each.shape) == len(shape) for shape in shapes)
            assert all(size in (None, got) for shape in shapes for size, got in zip(each.shape, shape, strict=True))
        elif UNKNOWN not in ways[0] + ways[1]:  # which may change what it is given
            assert len(set(shapes)) > 1
