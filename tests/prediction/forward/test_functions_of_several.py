"""Functions of torch that give several tensors: each part by its name, and in its shape."""

from __future__ import annotations

import types
import warnings
from pathlib import Path

import pytest

import modgraph

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

PRELUDE = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
PARTS = [
    "torch.linalg.qr(x).Q",
    "torch.linalg.qr(x, mode='complete').R",
    "torch.linalg.svd(x).U",
    "torch.linalg.svd(x, full_matrices=False).Vh",
    "torch.svd(x).V",
    "torch.svd(x, some=False).U",
    "x.svd()[1]",
    "torch.qr(x, some=False)[0]",
    "torch.linalg.eigh(x @ x.mT).eigenvectors",
    "torch.linalg.eig(x @ x.mT).eigenvalues.real",
    "torch.linalg.slogdet(x @ x.mT).logabsdet",
    "(x @ x.mT).slogdet()[0]",
    "torch.linalg.inv(x @ x.mT + torch.eye(5))",
    "torch.linalg.inv_ex(x @ x.mT + torch.eye(5)).inverse",
    "(x @ x.mT + torch.eye(5)).inverse()",
    "torch.linalg.cholesky(x @ x.mT + torch.eye(5))",
    "torch.linalg.solve(x @ x.mT + torch.eye(5), x)",
    "torch.linalg.pinv(x)",
    "torch.linalg.svdvals(x)",
    "torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True)",
    "torch.linalg.norm(x, dim=-1)",
    "torch.det(x @ x.mT)",
    "torch.linalg.matrix_power(x @ x.mT, 2)",
]


def _last_shapes(tmp_path: Path, text: str, shape: str) -> tuple[object, object]:
    """Of the last call: predicted, and real."""
    module = types.ModuleType("net")
    exec(PRELUDE + text, vars(module))
    given = torch.rand(tuple(map(int, shape.split("x"))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real = modgraph.trace(module.Net().eval(), given)
    (tmp_path / "net.py").write_text(PRELUDE + text, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path}/net.py:Net", inputs=[shape])
    assert graph.problems == ()
    return tuple(
        [[(each.shape, each.dtype) for each in call.outputs] for call in side.calls if call.module == "a"]
        for side in (graph, real)
    )  # type: ignore[return-value]


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_matrices(tmp_path: Path, part: str) -> None:
    text = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Identity()
    def forward(self, x):
        return self.a({part})
"""
    predicted, real = _last_shapes(tmp_path, text, "2x5x3")
    assert predicted == real


@pytest.mark.parametrize("more", ["need_weights=False", "", "average_attn_weights=False"])
@pytest.mark.parametrize("part", [0, 1])
def test_attention_of_heads(tmp_path: Path, more: str, part: int) -> None:
    if part and more.startswith("need"):
        pytest.skip("there is no second part")
    text = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.c = (nn.Linear(8, 8) for _ in range(4))
        self.a = nn.Identity()
    def forward(self, x):
        found = F.multi_head_attention_forward(
            query=x[:1], key=x, value=x, embed_dim_to_check=8, num_heads=2, q_proj_weight=self.q.weight,
            k_proj_weight=self.k.weight, v_proj_weight=self.v.weight, in_proj_weight=None, bias_k=None, bias_v=None,
            in_proj_bias=torch.cat([self.q.bias, self.k.bias, self.v.bias]), add_zero_attn=False, dropout_p=0,
            out_proj_weight=self.c.weight, out_proj_bias=self.c.bias, use_separate_proj_weight=True,
            training=self.training, {more})
        return self.a(found[{part}])
"""
    predicted, real = _last_shapes(tmp_path, text, "4x2x8")
    assert predicted == real
