"""Which dtypes an autocast around the model may change, where torch is the judge: what it changes is never said to stay."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

from modgraph.prediction.domain.assumed import CAST as CAST_ASKED
from modgraph.prediction.entry import predict_target
from modgraph.prediction.forward.running import Followed, follow
from modgraph.source.inputs import parse_input
from modgraph.source.targets import parse_target
from tests.prediction.test_layouts import KNOWN, NET

pytestmark = pytest.mark.needs_torch

PLAIN = """
    x; x + 1; x[:1]; x.relu(); x.softmax(-1); F.layer_norm(x, (8,)); self.w.t(); torch.zeros(2, 4); torch.zeros(2, dtype=torch.float64); torch.arange(4.)
    x.double(); (x @ x.mT).double(); (x @ x.mT).to(torch.float64); torch.stack([x, x]); torch.cat([x, y.mT]); nn.ReLU()(x); nn.Dropout()(x); F.mse_loss(x, x)
    x.sum(); x.mean(1); x.exp().log(); x.clamp(0, 1); F.gelu(x); torch.where(x > 0, x, 0.0); x.new_zeros(3); torch.ones_like(x); x * self.w[0]; x.norm(); x.cumsum(1)
    nn.LayerNorm(8)(x); x.long().float(); (x > 0).float(); F.one_hot(x.long(), 3).float(); x.masked_fill(x > 0, 0.0); (x + 1j).real
"""
CAST = """
    self.w @ self.w; self.w.matmul(self.w); self.w.__rmatmul__(self.w); torch.mm(self.w, self.w); x.bmm(x.mT); F.linear(x, self.w); torch.addmm(self.w, self.w, self.w)
    self.c1(y) + 1; self.c(p).relu()[0]; nn.Linear(8, 4)(x); nn.Sequential(nn.Linear(8, 4), nn.ReLU())(x); F.conv1d(y, torch.ones(6, 8, 1)); torch.einsum('bij,kj->bik', x, self.w); [self.w @ self.w, x][0]
    torch.baddbmm(x @ x.mT, x, x.mT); torch.addbmm(self.w[:3, :3], x, x.mT); torch.linalg.multi_dot([self.w, self.w]); torch.stack([self.w @ self.w]); (self.w @ self.w)[None].mean(0).t(); self.mha(x, x, x)[0]
    F.scaled_dot_product_attention(v, v, v); torch.chain_matmul(self.w, self.w); torch.linalg.matrix_power(self.w, 2); torch.inner(self.w, self.w); torch.tensordot(self.w, self.w, 1); self.d(p); F.relu(self.c(p)) * 2
    torch.zeros_like(self.w @ self.w); (self.w @ self.w).new_zeros(3); torch.zeros(2, dtype=(self.w @ self.w).dtype); x.to(self.w @ self.w); x.type_as(self.w @ self.w); torch.utils.checkpoint.checkpoint(self.c1, y, use_reentrant=False)
"""


def _followed(folder: Path, line: str) -> tuple[Followed, set[int]]:
    """And the tensors whose dtype is said to stay, where there is an autocast."""
    file = folder / "net.py"
    file.write_text(NET % line, encoding="utf-8")
    prediction = predict_target(parse_target(f"{file}:Net"))
    followed = follow(prediction, [parse_input("2x3x8")], elsewhere=frozenset({CAST_ASKED}))
    assert followed is not None
    assert followed.failure is None
    return followed, prediction.machine.base.uncast - prediction.machine.base.kept | set(
        range(followed.began)
    ) - prediction.machine.base.kept


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", [*PLAIN.strip().splitlines(), *CAST.strip().splitlines(), *KNOWN.strip().splitlines()])
def test_what_torch_casts_is_not_said_to_stay(line: str, tmp_path: Path) -> None:
    import torch

    expressions = list(map(str.strip, line.split(";")))
    text = f"({', '.join(expressions)},)"
    module = types.ModuleType("net")
    exec("import torch.utils.checkpoint\n" + NET % text, vars(module))
    model, given = module.Net().eval(), torch.rand(2, 3, 8)
    without = model(given)
    with torch.autocast("cpu"):
        within = model(given)
    followed, stay = _followed(tmp_path, text)
    wrong = []
    told = {each.name: each for each in followed.outputs}
    for place, (expression, one, other) in enumerate(zip(expressions, without, within, strict=True)):
        seen = told.get(f"output[{place}]")
        is_kept = seen is not None and (stay.issuperset(seen.indices) or seen.dtype == "float64")
        if one.dtype != other.dtype and is_kept:
            wrong.append(f"{expression}: stays, and is {other.dtype}")
        if line in PLAIN and not is_kept:
            wrong.append(f"{expression}: may change, and is {other.dtype}")
        if line in CAST and one.dtype == other.dtype:
            wrong.append(f"{expression}: nothing is asked by it")
    assert wrong == []
