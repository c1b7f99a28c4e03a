"""Inputs that nobody gives: where torch takes whole numbers alone of one, it is told to be of these. Torch is the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import PRELUDE, predicted

torch = pytest.importorskip("torch")

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.e = nn.Embedding(9, 4)
        self.r = nn.GRU(4, 4, batch_first=True)

    def forward(self, x, y):
        h = self.a(x) if {is_changed} else x
        return {body}
"""
PROVING = [
    "h.gather(1, y)", "torch.gather(h, 1, index=y)", "h.gather(-1, y.unsqueeze(-1))", "h.index_select(0, y)", "F.one_hot(y)",
    "h.scatter(1, y, 1.0)", "torch.zeros(3, 4).index_add(0, y, h)", "torch.zeros(3, 4).scatter_add(0, y[:, None].expand(-1, 4), h)",
    "F.nll_loss(h, y)", "F.embedding(y.view(-1), h)", "torch.bincount(y)", "torch.take(h, y.cpu())", "self.e(y.t())",
]  # fmt: skip
SILENT = [
    "h + self.e(y.argmax(-1))",
    "h * y",
    "h[y]",
    "h[y > 0]",
    "F.one_hot(y.argmax(1))",
    "h.gather(1, y.sort(1)[1])",
]


def dtype_of(tmp_path: Path, body: str) -> str | None:
    graph = predicted(tmp_path, NET.format(body=body, is_changed="pack" not in body), [])
    (given,) = (each for each in graph.model.inputs if each.name == "y")
    return given.tensors[0].dtype


def takes(body: str, y: object) -> bool:
    scope: dict[str, object] = {}
    exec(PRELUDE + NET.format(body=body, is_changed="pack" not in body), scope)
    try:
        scope["Net"]()(torch.ones(3, 4), y)
    except (RuntimeError, IndexError, TypeError):
        return False
    return True


@pytest.mark.parametrize("body", PROVING)
def test_it_is_told_to_be_of_whole_numbers(body: str, tmp_path: Path) -> None:
    shapes = ((3,), (3, 1), (3, 4))
    assert any(takes(body, torch.zeros(shape, dtype=torch.int64)) for shape in shapes)
    assert not any(takes(body, torch.zeros(shape)) for shape in shapes)
    assert dtype_of(tmp_path, body) == "int64"


@pytest.mark.parametrize("body", SILENT)
def test_nothing_is_proven_of_what_is_made_of_others(body: str, tmp_path: Path) -> None:
    assert dtype_of(tmp_path, body) != "int64"


CAST = [
    "h.gather(1, {y}.long())", "F.one_hot({y}.long(), 9)", "h.index_select(0, {y}.int()[:, 0])", "self.e({y}.long())",
    "h.gather(1, {y}.to(torch.int64))", "h.gather(1, {y}.type(torch.long))", "torch.take(h, {y}.long())",
]  # fmt: skip


@pytest.mark.parametrize("body", CAST)
def test_a_cast_says_what_nothing_else_does(body: str, tmp_path: Path) -> None:
    body = body.format(y="y")
    assert takes(body, torch.zeros(3, 4))
    assert takes(body, torch.zeros(3, 4, dtype=torch.int64))
    assert dtype_of(tmp_path, body) == "int64"


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("body", CAST)
def test_a_cast_proves_nothing_of_what_a_layer_computes_with(body: str, is_first: bool, tmp_path: Path) -> None:
    """The layer takes no whole numbers."""
    parts = ("self.a(y)", body.format(y="y"))
    body = "({}, {})".format(*(parts if is_first else parts[::-1]))
    text = NET.format(body=body, is_changed=True)
    graph = predicted(tmp_path, text, [])
    (given,) = (each for each in graph.model.inputs if each.name == "y")
    assert (given.tensors[0].shape, given.tensors[0].dtype) == (("batch", 4), "float32")
    assert takes(body, torch.zeros(3, 4))
    assert not takes(body, torch.zeros(3, 4, dtype=torch.int64))


def test_where_a_cast_is_of_numbers_with_fractions_shapes_stay(tmp_path: Path) -> None:
    body = "F.binary_cross_entropy(h.sigmoid(), y), h.gather(1, y.long())"
    assert takes(body, torch.zeros(3, 4))
    assert not takes(body, torch.zeros(3, 4, dtype=torch.int64))
    graph = predicted(tmp_path, NET.format(body=body, is_changed=True), [])
    assert {each.name: each.tensors[0].shape for each in graph.model.inputs}["x"] == ("batch", 4)
    assert not graph.problems


def test_lengths_are_whole_numbers(tmp_path: Path) -> None:
    body = "self.r(nn.utils.rnn.pack_padded_sequence(x, y.cpu(), True, enforce_sorted=False))[1]"
    assert dtype_of(tmp_path, body) == "int64"
