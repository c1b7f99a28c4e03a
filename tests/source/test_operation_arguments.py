"""Literals that are told with an operation, under the names of torch's own schemas, from traces and predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import modgraph
from modgraph.graph.model import Graph
from modgraph.graph.serial import from_json
from modgraph.merge import merge
from modgraph.source.operation_arguments import _KNOWN, key_text
from tests.prediction.forward import traced

NO_SCHEMA = {"key", "mode", "factor", "min", "max", "tau", "hard"}
"""Names that functions written in Python have, or several that torch calls by different names."""


def _schema_names(word: str) -> set[str]:
    packet = None if word.startswith("__") else getattr(torch.ops.aten, word, None)
    if packet is None:
        return set()
    return {each.name for name in packet.overloads() for each in getattr(packet, name)._schema.arguments}


@pytest.mark.parametrize("word", [word for word in _KNOWN if _schema_names(word)])
def test_names_are_those_of_torchs_schema(word: str) -> None:
    names = {name.removeprefix("*") for name in _KNOWN[word].names} - NO_SCHEMA - {"_"}
    also = {"split_size": {"split_sizes", "indices", "sections"}, "dim0": {"axis0"}, "dim1": {"axis1"}}
    known = _schema_names(word)
    assert [name for name in names if name not in known and not also.get(name, set()) & known] == []


CASES: list[tuple[str, dict[str, Any]]] = [
    ("y.softmax(-1)", {"dim": -1}),
    ("F.softmax(y, dim=1)", {"dim": 1}),
    ("torch.cat((y, y), 1)", {"dim": 1}),
    ("torch.cat((y, y), axis=1)", {"dim": 1}),
    ("torch.cat((y, y))", {}),
    ("y.permute(1, 0)", {"dims": [1, 0]}),
    ("y.permute((1, 0))", {"dims": [1, 0]}),
    ("y.topk(2)[0]", {"k": 2}),
    ("torch.topk(y, k=2, dim=0)[0]", {"k": 2, "dim": 0}),
    ("y.chunk(2, dim=-1)[0]", {"chunks": 2, "dim": -1}),
    ("torch.split(y, [1, 3], dim=1)[1]", {"split_size": [1, 3], "dim": 1}),
    ("y[..., ::2]", {"key": "..., ::2"}),
    ("y[:, None, -1:]", {"key": ":, None, -1:"}),
    ("y[torch.tensor([0])]", {}),
    ("2 - y", {"other": 2}),
    ("y * 0.5", {"other": 0.5}),
    ("y * y", {}),
    ("(y == 2).float()", {"other": 2}),
    ("y.mean(1, keepdim=True)", {"dim": 1, "keepdim": True}),
    ("torch.einsum('ij,ij->i', y, y)", {"equation": "ij,ij->i"}),
    ("F.scaled_dot_product_attention(y[None], y[None], y[None], is_causal=True)", {"is_causal": True}),
    ("y.clamp(min=0)", {"min": 0}),
    ("y * float('inf')", {}),
    ("F.interpolate(y[None], scale_factor=2)", {"scale_factor": 2}),
    ("F.interpolate(y[None], scale_factor=2, mode='linear')", {"scale_factor": 2, "mode": "linear"}),
]


@pytest.mark.parametrize(("text", "told"), CASES, ids=[text for text, _ in CASES])
def test_they_are_told_by_a_trace_and_predicted(tmp_path: Path, text: str, told: dict[str, Any]) -> None:
    predicted, real = traced.expression(tmp_path, text, "3x4")
    for graph in (real, predicted, merge(predicted, real)):
        assert told in [each.arguments for each in graph.operations]
    assert _all(predicted) == _all(real)


def _all(graph: Graph) -> list[dict[str, Any]]:
    return [dict(each.arguments) for each in graph.operations]


def test_an_open_size_is_its_text(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "from torch import nn\nclass Net(nn.Module):\n  def forward(self, x):\n    return x[:, : x.shape[1] - 1]\n"
    )
    (operation,) = modgraph.predict(f"{file}:Net", inputs=["bxnx4"]).operations
    assert operation.arguments == {"key": ":, :n - 1"}


def test_they_are_written_and_read() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.permute(1, 0).softmax(0).view(-1)

    graph = modgraph.trace(Net(), torch.ones(2, 3))
    assert [each.arguments for each in graph.operations] == [{"dims": [1, 0]}, {"dim": 0}, {}]
    assert from_json(graph.to_json()) == graph
    assert graph.to_json().count('"arguments": {"dim') == 2


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (slice(None), ":"),
        ((..., slice(0, 2)), "..., 0:2"),
        (None, "None"),
        (-1, "-1"),
        ([0, 1], None),
        ((slice(None), [0]), None),
        (True, None),
        (tuple([0] * 17), None),
        ((), None),
    ],
)
def test_a_key_is_told_where_it_gives_a_view(key: Any, text: str | None) -> None:
    assert key_text(key) == text


RESULTS = [
    ("sum(each * n for n, each in enumerate(y.chunk(2, 1)))", [0, 1]),
    ("torch.cat(y.split(1, dim=1)[::-1])", [3, 2, 1, 0]),
    ("y.topk(2)[1].float() + y.topk(2)[0]", [1, 0]),
    ("[each + 1 for each in y.unbind(0)]", [0, 1, 2]),
    ("y.max(1)[0] * 2, y.max(1).indices + 1", [0, 1]),
]


@pytest.mark.parametrize(("text", "outputs"), RESULTS, ids=[text for text, _ in RESULTS])
def test_which_of_several_results_goes_there_is_told(tmp_path: Path, text: str, outputs: list[int]) -> None:
    predicted, real = traced.expression(tmp_path, text, "3x4")
    for graph in (real, predicted, merge(predicted, real)):
        assert [each.output for each in graph.edges if each.output is not None] == outputs
        assert from_json(graph.to_json()) == graph


SEVERAL = """
class Angles(nn.Module):
    def forward(self, x):
        return x.cos(), x.sin()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.angles, self.l = Angles(), nn.Linear(4, 4)
    def forward(self, x):
        cos, sin = self.angles(x)
        return self.l(x * sin) - cos
"""


def test_what_made_each_result_of_a_call_is_told(tmp_path: Path) -> None:
    predicted, real = traced.both(tmp_path, SEVERAL, "3x4")
    for graph in (real, predicted, merge(predicted, real)):
        names = {each.id: each.name for each in graph.operations}
        makers = {names[each.consumer]: names[each.made_by] for each in graph.edges if each.made_by is not None}
        assert makers == {"torch.Tensor.mul": "torch.Tensor.sin", "torch.Tensor.sub": "torch.Tensor.cos"}
