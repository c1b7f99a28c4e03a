"""Functions of torch, each in a model of its own: the operations that are predicted are those of a trace, in their order
and with their inputs, and what they give has the shapes that torch gives."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

from tests.prediction.forward.traced import both, differences, expression, wrong_shapes  # noqa: E402 needs torch

OF_SEVERAL = [
    "torch.where(y > 0), (y > 0).nonzero(as_tuple=True)[1], torch.nonzero(y > 0, as_tuple=True)",
    "y.where(y > 0, x), torch.where(y > 0, y, 0.0)",
    "self.l(y - torch.aminmax(y).min), y.aminmax(dim=1, keepdim=True).max, torch.aminmax(y, dim=0)",
    "torch.hsplit(y, 2)[0], y.vsplit(2)[1], torch.hsplit(y, (1,)), y[None].dsplit(4)[3], torch.dsplit(y[None], (2,))",
    "self.l(torch.gradient(y)[1]), torch.gradient(y, dim=1), torch.gradient(y, dim=(0, 1))[0]",
    "self.l(torch.frexp(y).mantissa), y.frexp()[1]",
    "torch.histogram(y.detach(), 5)",
    "torch.native_layer_norm(y, (4,), None, None, 1e-5)",
    "torch.geqrf(y)",
    "torch.linalg.lu(y)[1], torch.linalg.lu_factor(y).pivots, torch.linalg.lstsq(y, x).solution",
    "torch.linalg.solve_ex(y @ y.mT + torch.eye(4), y).result",
]
OF_ONE = [
    "self.l(torch.tensordot(self.w, y, dims=([0], [1]))), torch.tensordot(y, self.w, 1)",
    "torch.as_strided(y, (2, 2), (1, 2)), y.as_strided((2,), (1,))",
    "torch.atleast_1d(y), torch.atleast_2d(y[0]), torch.atleast_3d(y), torch.atleast_2d(y, x[0])[1]",
    "self.l(y.mH.mH), y.adjoint(), torch.adjoint(y)",
    "torch.linalg.matrix_norm(y), torch.linalg.matrix_norm(y, keepdim=True), torch.linalg.norm(y)",
    "torch.linalg.multi_dot([y, x, y]), torch.linalg.multi_dot([y[0], x, y]), torch.chain_matmul(y, x)",
    "torch.linalg.vecdot(y, x), torch.linalg.vecdot(y, x, dim=0), torch.linalg.cross(y[:, :3], x[:, :3])",
    "self.l(torch.linalg.diagonal(y)), torch.linalg.inv(y @ y.mT + torch.eye(4))",
    "self.l(torch.special.logit(y.sigmoid())), torch.special.expit(y), torch.special.xlogy(y, x), torch.special.erf(y)",
    "self.l(torch.special.softmax(y, -1)), torch.special.logsumexp(y, -1), torch.special.log_softmax(y, 1)",
    "self.l(nn.utils.rnn.pad_sequence([y, y[:2]], batch_first=True)), nn.utils.rnn.pad_sequence([y[:1], y])",
    "torch.diff(y, dim=1, prepend=y[:, :1]), y.diff(n=2), torch.diff(y, dim=0, prepend=y, append=y[:2]), y.diff(0)",
    "torch.range(0, 3), torch.range(0, 3, 0.5), torch.range(1, 4, dtype=torch.long), torch.range(5, 1, -2)",
]
GIVEN_BACK = [
    ["torch.flatten(y, 1)", "y.flatten(1)", "y[0].flatten()", "y.flatten(0, 0)", "y.ravel()", "y.flatten()"],
    ["torch.positive(y)", "y.conj()", "torch.conj(y)", "y.conj_physical()", "y.resolve_conj()", "torch.resolve_neg(y)"],
    ["torch.asarray(y)", "torch.asarray(y, dtype=torch.float64)", "torch.asarray(y, copy=True)", "torch.as_tensor(y)"],
    ["torch.dropout(y, 0.1, False)", "torch.alpha_dropout(y, 0.1, False)", "torch.feature_dropout(y, 0.1, False)"],
    ["torch.broadcast_tensors(y, x)[0]", "torch.broadcast_tensors(y, x[0])[0]"],
    ["y.sum_to_size(4, 4)", "y.sum_to_size(1, 4)", "torch.complex(y, x).conj().resolve_conj()", "y.positive()"],
]
POOLS = [
    "F.max_unpool2d(*F.max_pool2d(y, 2, return_indices=True), 2), nn.MaxUnpool1d(2)(*nn.MaxPool1d(2, None, 0, 1, True)(y[0]))",
    "F.max_unpool2d(*F.max_pool2d(y, 3, 2, 1, return_indices=True), 3, 2, 1, y.shape), y.diagonal(0, 2, 3)",
    "nn.MaxUnpool3d(2)(*nn.MaxPool3d(2, return_indices=True)(y[:, :2])), torch.diagonal(y, 1), y.diagonal(-2, -1, 0)",
    "F.max_pool1d(y[0], 2, return_indices=True), F.max_pool2d(y, 2, 2, 0, 1, False, True), F.max_pool2d(y, 2)",
    "F.adaptive_max_pool2d(y, (2, None), True), F.adaptive_max_pool1d(y[0], 3, return_indices=True)",
    "F.fractional_max_pool2d(y, 2, 3, None, True)[1], F.fractional_max_pool2d(y, 2, output_ratio=(0.5, 0.6))",
    "F.max_pool3d(y, 2, return_indices=True), F.max_pool2d_with_indices(y, 3)",
    "nn.AdaptiveMaxPool2d((2, None), return_indices=True)(y), nn.AdaptiveMaxPool1d(3, True)(y[0])",
    "nn.AdaptiveMaxPool3d(2, return_indices=True)(y), nn.MaxPool2d(2, return_indices=True)(y)[1]",
    "nn.FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True)(y), nn.FractionalMaxPool3d(2, (1, 2, 2))(y)",
]


@pytest.mark.parametrize("text", [*OF_SEVERAL, *OF_ONE])
def test_what_it_gives_and_how_it_is_called(tmp_path: Path, text: str) -> None:
    predicted, real = expression(tmp_path, text, "4x4")
    assert predicted.problems == ()
    assert differences(predicted, real) == []


@pytest.mark.parametrize("texts", GIVEN_BACK, ids=lambda texts: texts[0])
def test_what_has_nothing_to_do_gives_its_input_back(tmp_path: Path, texts: list[str]) -> None:
    predicted, real = expression(tmp_path, ", ".join(f"({text}) * 1" for text in texts), "4x4")
    assert predicted.problems == ()
    assert differences(predicted, real) == []


@pytest.mark.parametrize("text", POOLS)
def test_a_pool_gives_indices_where_they_are_asked_for(tmp_path: Path, text: str) -> None:
    predicted, real = expression(tmp_path, text, "2x3x8x8")
    assert predicted.problems == ()
    assert differences(predicted, real) == []


@pytest.mark.parametrize(
    "text", ["torch.stft(y, 16, return_complex=True), torch.stft(y, 16, 8, 12, return_complex=True, center=False)"]
)
def test_spectra_of_windows(tmp_path: Path, text: str) -> None:
    predicted, real = expression(tmp_path, text, "2x64")
    assert differences(predicted, real) == []
    assert [each.shape for each in predicted.calls[0].outputs or ()] == [
        each.shape for each in real.calls[0].outputs or ()
    ]


NOT_KNOWN = [
    "torch.ops.aten.relu(y), self.l(torch.ops.aten.add.Tensor(y, x))",
    "torch.lu_unpack(*torch.linalg.lu_factor(y))",
    "self.l(torch.sparse.addmm(y, torch.eye(4).to_sparse(), y))",
    "torch.native_dropout(y, 0.5, False)",
    "torch.native_group_norm(y[None], None, None, 1, 4, 4, 2, 1e-5)[0].abs()",
]


@pytest.mark.parametrize("text", NOT_KNOWN)
def test_a_function_of_which_nothing_is_known_is_an_operation_and_said_to_be_unknown(tmp_path: Path, text: str) -> None:
    predicted, real = expression(tmp_path, text, "4x4")
    assert differences(predicted, real) == []
    assert not predicted.complete
    assert predicted.problems
    assert {each.name for each in predicted.operations} & {each.name for each in real.operations}
    producers = {each.producer for each in predicted.edges}
    assert "call:1" in producers  # what the layer gives goes into it


ATTENTION = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(4, 2, add_zero_attn=True)
        self.b = nn.MultiheadAttention(4, 2, add_zero_attn=True, add_bias_kv=True, batch_first=True)
        self.c = nn.MultiheadAttention(4, 2, add_bias_kv=True)
        self.l, self.o = nn.Linear(4, 12), nn.Linear(4, 4)
        self.k = nn.Parameter(torch.zeros(1, 1, 4))
    def forward(self, x):
        given = (x, x, x, 4, 2, self.l.weight, self.l.bias)
        of_function = F.multi_head_attention_forward(*given, self.k, self.k, True, 0.0, self.o.weight, self.o.bias)
        parts = self.a(x, x, x)[1], self.b(x, x, x)[1], self.c(x[0], x[0], x[0], average_attn_weights=False)[1]
        return parts, of_function
"""


def test_the_weights_of_an_attention_are_as_many_as_it_attends_to(tmp_path: Path) -> None:
    predicted, real = both(tmp_path, ATTENTION, "2x3x4")
    assert predicted.problems == ()
    assert wrong_shapes(predicted, real) == []
    assert all(each.shape is not None for each in predicted.calls[0].outputs or ())


TREES = """
from torch.utils._pytree import tree_map, tree_leaves
import torch.utils._pytree as pytree

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.l = nn.Linear(4, 4), nn.Linear(4, 2)
    def forward(self, x):
        tree = {"a": self.a(x), "b": [x, (x * 2, None)], "n": 3}
        more = tree_map(lambda leaf: None if leaf is None else leaf + 1, tree)
        only = pytree.tree_map_only(torch.Tensor, self.l, more)
        return only, tree_leaves(only)[0].relu()
"""


def test_what_is_called_for_each_leaf_of_a_tree(tmp_path: Path) -> None:
    predicted, real = both(tmp_path, TREES, "3x4")
    assert predicted.problems == ()
    assert differences(predicted, real) == []


def test_a_tree_that_is_not_followed_is_said_not_to_be(tmp_path: Path) -> None:
    text = TREES.replace("tree_leaves(only)[0].relu()", "pytree.tree_map_(self.l, [x])")
    predicted, real = both(tmp_path, text, "3x4")
    assert not predicted.complete
    assert differences(predicted, real) == []


ARRAYS = """
import numpy as np

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
    def forward(self, x):
        y = self.a(x)
        n = y.detach().numpy()
        means, turned, several = n.mean(0), n.T, np.stack([n, n])
        for row in n:
            row.sum()
        return y * 2, torch.from_numpy(turned.copy()), torch.as_tensor(several), n
"""


def test_what_numpy_computes_is_no_operation_of_torch(tmp_path: Path) -> None:
    predicted, real = both(tmp_path, ARRAYS, "2x4")
    assert [each.name for each in predicted.operations] == [each.name for each in real.operations]
    assert "torch.stack" not in {each.name for each in predicted.operations}
