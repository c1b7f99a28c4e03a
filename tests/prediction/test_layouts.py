"""How tensors lie in memory, where torch is the judge: the steps that are predicted are its strides."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.values import Address
from modgraph.prediction.entry import predict_target
from modgraph.prediction.forward.running import follow
from modgraph.prediction.knowledge.tensors.layout import steps_of
from modgraph.source.inputs import parse_input
from modgraph.source.targets import parse_target

pytestmark = pytest.mark.needs_torch

NET = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(8, 8))
        self.lstm, self.both = nn.LSTM(8, 4, batch_first=True), nn.GRU(8, 4, 2, batch_first=True, bidirectional=True)
        self.rnn, self.mha = nn.RNN(8, 4), nn.MultiheadAttention(8, 2, batch_first=True)
        self.heads, self.c = nn.MultiheadAttention(8, 2), nn.Conv2d(8, 6, 1)
        self.c1, self.b, self.d = nn.Conv1d(8, 6, 1), nn.BatchNorm2d(8), nn.ConvTranspose2d(8, 6, 2, 2)

    def forward(self, x):
        y = x.transpose(1, 2)
        p = x.view(2, 3, 8, 1, 1).expand(2, 3, 8, 4, 6).contiguous().permute(0, 1, 3, 4, 2)[:, 0].permute(0, 3, 1, 2)
        v = x.view(2, 3, 2, 4).transpose(1, 2)
        return %s
"""
KNOWN = """
    x; y; p; v; self.w; self.w.t(); x.clone(); y.clone(); y.contiguous(); y.detach(); y.data; p.float(); p.double(); y.to(torch.float16)
    y + 1; 1 - y; y * y; y + x.mT; x + y.mT; x + y.contiguous().mT; y + torch.ones(3); y.relu(); nn.ReLU()(y); F.gelu(y); -y; ~(y > 0); y > 0; y ** 2
    2 ** y; torch.pow(2, y); torch.tensor(y); y.pow(y); torch.where(y > 0, y, 0.0); torch.where(y > 0, 0.0, y.contiguous()); y.clamp(0, 1); y.masked_fill(y > 0, 0.0); y.softmax(-1); y.cumsum(1)
    torch.maximum(y, y.contiguous()); y.max(y); y.max(1)[0]; y.sum(1); y.mean(0); y.argmax(0); y.std(-1); y.amax(1, keepdim=True); y.exp().log()
    y.flip(1); y.roll(1, 1); y.sort(1)[0]; y.sort(1)[1]; y.topk(2, 1)[0]; torch.zeros_like(y); torch.empty_like(p); y.new_zeros(3, 4); y.tril()
    y @ x; x @ y; self.w @ y; y.mT @ self.w; F.linear(x, self.w); F.layer_norm(y, (3,)); nn.Softmax(1)(y); F.dropout(y, 0.5, True); F.normalize(y, dim=1)
    x[:, 0]; x[:, :2]; x[..., ::2]; x[:, None]; x[0]; x[-1, 1:]; y[:, 1:3]; y[..., None]; y[None, :, 0]; x[0, ..., 1]; x[:, :, None, :2]
    torch.addmm(self.w[0], y[0].mT, self.w.t()); torch.addmm(self.w.t(), self.w.t(), self.w.t()); torch.addmv(self.w[0], self.w.t(), self.w[0]); torch.baddbmm(y.mT, x, self.w.t().expand(2, 8, 8))
    self.w.addmm(self.w.t(), self.w.t()); torch.baddbmm(self.w[0], x, self.w.t().expand(2, 8, 8)); x.baddbmm(x, self.w.expand(2, 8, 8), beta=0)
    y[[0]]; y[:, [0, 2]]; x[:, [0, 1]]; y[[1, 0]]; y[torch.tensor([0, 1])]; y[:, torch.tensor([[0, 1], [2, 3]])]; p[:, [0]]; y[..., :2][[0]]
    x.chunk(2, -1)[0]; x.split(3, -1)[1]; x.unbind(1)[0]; y.unbind(0)[1]; x.select(1, 2); x.narrow(2, 1, 3); x.split([1, 2], 1)[1]; x.tensor_split(2, 1)[0]
    x.unsqueeze(1); y.unsqueeze(-1); y.unsqueeze(0); x[:1].squeeze(0); x[:, :1].squeeze(1); x[:, :1].squeeze(); y.flatten(1); x.flatten(1); y.reshape(2, -1)
    x[:, :2].flatten(1); y.view(2, 2, 4, 3); y.unflatten(1, (2, 4)); x.view_as(torch.ones(6, 8)); y.expand(5, 2, 8, 3); x[:1].expand(4, -1, -1)
    x.movedim(1, 0); y.unfold(1, 2, 2); torch.meshgrid(torch.arange(3), torch.arange(4), indexing='ij')[0]; torch.meshgrid(torch.arange(3), torch.arange(4), indexing='xy')[1]
    self.lstm(x)[0]; self.lstm(x)[1][0]; self.both(x)[0]; self.both(x)[1]; self.rnn(x)[0]; self.rnn(x)[1]; self.lstm(x[0])[0]; self.lstm(x[:1])[0]
    self.mha(x, x, x)[0]; self.mha(x, x, x)[1]; self.heads(x, x, x)[0]; self.mha(x, x, x, need_weights=False)[0]; self.mha(x[0], x[0], x[0])[0]
    F.scaled_dot_product_attention(v, v, v); F.scaled_dot_product_attention(v, v, v).transpose(1, 2); F.scaled_dot_product_attention(v, v, v, torch.ones(3, 3).bool())
    F.scaled_dot_product_attention(v, v, v, is_causal=True); F.scaled_dot_product_attention(x[None], x[None], x[None]); F.scaled_dot_product_attention(v.contiguous(), v, v); F.scaled_dot_product_attention(v, v, v, torch.zeros(1, 1, 3, 3))
    self.c(p); self.c(p.contiguous()); self.c1(y); self.b(p); self.b(p.contiguous()); self.d(p); nn.ReLU()(p); F.max_pool2d(p, 2); F.avg_pool2d(p, 2); p.cumsum(1)
    F.adaptive_avg_pool2d(p, 2); F.adaptive_avg_pool2d(p, 1); F.interpolate(p, scale_factor=2); F.interpolate(p, (3, 3), mode='bilinear'); F.pad(p, (1, 1)); F.pad(p, (1, 1, 1, 1), 'reflect')
    F.pixel_shuffle(p, 2); nn.GroupNorm(2, 8)(p); nn.InstanceNorm2d(8)(p); F.grid_sample(p, torch.zeros(2, 3, 3, 2)); F.unfold(p, 2); nn.MaxPool2d(2)(p); nn.Upsample(scale_factor=2)(p)
    torch.cat([p, p], 1); torch.cat([p, p.contiguous()], 1); torch.cat([y, y]); torch.stack([y, y]); torch.stack([x, x], -1); p.relu_(); nn.ReLU(True)(p); p * p.contiguous(); p + torch.ones(8, 1, 1)
    x.clone().add_(1); y.clone().mul_(2); x.clone().transpose_(1, 2); F.embedding(x.long(), self.w)
    torch.einsum('bij,bkj->bik', x, x); torch.einsum('bij,kj->bik', x, self.w); torch.einsum('bij, bjk -> ikb', x, y); torch.einsum('aij,bjk->abik', x, y); torch.einsum('aij,bij->ab', x, x)
    torch.einsum('bij,bkj->bik', [x, x]); torch.einsum('bij,kj', x, self.w); torch.einsum('...ij,kj->...ik', x, self.w); torch.einsum(x, [0, 1, 2], self.w, [3, 2], [0, 1, 3]); torch.einsum('i,j->ij', self.w[0], x[0, 0, :3])
    torch.einsum('bij,bkj->bik', x[:, :1], x); torch.einsum('bij,bkj->bki', x, x[:1]); torch.einsum('bi,bij->bji', x[..., 0], x); torch.einsum('hnij,rjnhd->rinhd', p, torch.ones(3, 6, 8, 2, 5))
    x.transpose(1, 2).expand(2, 8, 3)[:, :, None].contiguous(); torch.einsum('bij,bkj->kib', x, x).contiguous(); torch.einsum('bij,bkj->kib', x, x).permute(2, 1, 0).contiguous().view(2, 9)
    p[:, :1] * 2; p[:1] * 2; p[..., :1, :1].relu(); p[:, :1].relu(); x[:, :1].transpose(1, 2) + 1; x[:1, :1].relu() + y[:1, :1].mT[..., :1]; self.c(p[..., :1, :1]); self.c(p[:1]); p[:, :, :1].mean((2, 3), keepdim=True)
"""


def _predicted(folder: Path, line: str, number: int) -> list[list[int] | None]:
    """Of each of so many tensors that it gives, the steps."""
    file = folder / "net.py"
    file.write_text(NET % line, encoding="utf-8")
    prediction = predict_target(parse_target(f"{file}:Net"))
    followed = follow(prediction, [parse_input("2x3x8")])
    assert followed is not None
    assert followed.failure is None
    tensors = [followed.state.read(Address(seen.indices[0])) for seen in followed.outputs]
    assert [type(tensor) for tensor in tensors] == [TensorObject] * number
    return [steps_of(tensor) for tensor in tensors if isinstance(tensor, TensorObject)]


@pytest.mark.parametrize("line", KNOWN.strip().splitlines())
def test_steps_are_torchs_strides(line: str, tmp_path: Path) -> None:
    import torch

    expressions = list(map(str.strip, line.split(";")))
    line = f"({', '.join(expressions)},)"
    module = types.ModuleType("net")
    exec(NET % line, vars(module))
    each = list(zip(expressions, module.Net().eval()(torch.rand(2, 3, 8)), strict=True))
    wrong = []
    for (expression, real), steps in zip(each, _predicted(tmp_path, line, len(each)), strict=True):
        pairs = zip(real.shape, real.stride(), steps or (), strict=bool(steps))
        if steps is None or any(size != 1 and step != other for size, step, other in pairs):
            wrong.append(f"{expression}: {steps}, and is {real.stride()} of {tuple(real.shape)}")
    assert wrong == []


SINGLE = [
    "torch.einsum('bij,bkj->bik', x[:, :1], x)",
    "torch.einsum('bij,bkj->bki', x, x[:1])",
    "torch.einsum('bij,bkj->kib', x[:1], x[:1])",
    "torch.einsum('bij,bkj->ikb', x[:, :1], x)",
    "torch.einsum('bij,kj->bki', x[:1], self.w)",
    "torch.einsum('bij,kj->kbi', x[:, :1], self.w)",
    "torch.einsum('bij,kj->bik', x, self.w[:1])",
    "torch.einsum('bij,bj->bij', x[:1], x[:, 0])",
    "torch.einsum('bij,bj->jib', x[:, :1], x[:, 0])",
    "torch.einsum('bij,bij->bij', x[..., :1], x)",
    "torch.einsum('bij,bij->jbi', x[:, :1], x)",
    "torch.einsum('bij,bij->bi', x[..., :1], x)",
    "torch.einsum('bij,bij->bij', x[:1], x[:1])",
    "torch.einsum('i,j->ij', self.w[0, :1], self.w[0])",
    "torch.einsum('i,j->ji', self.w[0], self.w[0, :1])",
    "torch.einsum('bij,bkj->bki', x[..., :1], x[..., :1])",
    "torch.einsum('bij,kj->ikb', x[..., :1], self.w[:, :1])",
    "torch.einsum('bij,bkj->kib', x, x[:, :1])",
    "torch.einsum('aij,bjk->abik', x[:1], y)",
    "torch.einsum('aij,bjk->biak', x[:, :1], y[:1])",
    "torch.einsum('bi,bij->bji', x[..., 0], x[:, :, :1])",
    "torch.einsum('bi,bij->ijb', x[:1, :, 0], x[:1])",
]
"""Sums of which a letter, or several, have one element."""
FURTHER = (
    "{}",
    "{}.relu()",
    "({}).mT + 1",
    "(lambda t: t * torch.ones(t.shape).mT.contiguous().mT)({})",
    "torch.stack([{0}, {0}]).relu()",
)
"""What compares the steps at sizes of 1 too, to find the order of the others."""


@pytest.mark.parametrize("further", FURTHER)
def test_steps_at_single_letters_mislead_nothing_that_is_computed_of_them(further: str, tmp_path: Path) -> None:
    import torch

    expressions = [further.format(each) for each in SINGLE]
    line = f"({', '.join(expressions)},)"
    module = types.ModuleType("net")
    exec(NET % line, vars(module))
    real = module.Net().eval()(torch.rand(2, 3, 8))
    wrong, known = [], 0
    for expression, made, steps in zip(expressions, real, _predicted(tmp_path, line, len(real)), strict=True):
        if steps is None:
            continue
        known += 1
        if any(size != 1 and step != other for size, step, other in zip(made.shape, made.stride(), steps, strict=True)):
            wrong.append(f"{expression}: {steps}, and is {made.stride()} of {tuple(made.shape)}")
    assert wrong == []
    assert known > len(SINGLE) // 2
