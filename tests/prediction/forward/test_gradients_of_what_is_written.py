"""Whether a tensor needs a gradient, once something was written into a part of it, or into what shares its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import is_whole, predicted, wrong

pytestmark = pytest.mark.needs_torch
NET = """
class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(8))
    def forward(self, x):
        return x * self.w

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.e = Own(), Own(), Own()
    def forward(self, x):
        x = x.detach()  # whether an input needs a gradient, and one is recorded, is for its caller to say
        with torch.inference_mode(False):
            w = x * 1
            {body}
        w = self.b(w) if w.requires_grad else w
        return self.e(w)
"""
NEEDED = [
    "w[0] = self.a(x)[0]",
    "w[0] += self.a(x)[0]",
    "w[:, 1:3] = self.a(x)[:, 1:3]",
    "w[..., None][0] = self.a(x)[0, :, None]",
    "w.view(16).add_(self.a(x).view(16))",
    "u = w.view(16); u += self.a(x).view(16)",
    "w.t().copy_(self.a(x).t())",
    "w.mT.copy_(self.a(x).mT)",
    "u = w.expand(2, 8); u += self.a(x)",
    "u = w.unsqueeze(0); u *= self.a(x)",
    "w.diagonal().add_(self.a(x)[0, :2])",
    "w.narrow(0, 0, 1).add_(self.a(x)[:1])",
    "w.select(0, 0).add_(self.a(x)[0])",
    "w.permute(1, 0).copy_(self.a(x).t())",
    "w.unflatten(1, (2, 4)).add_(self.a(x).view(2, 2, 4))",
    "w.as_strided((2, 8), (8, 1)).add_(self.a(x))",
    "w[0][1:3].view(1, 2).add_(self.a(x)[:1, :2])",
    "w.fill_(self.a(x).sum())",
    "w.index_put_((torch.tensor([0]),), self.a(x)[:1])",
    "w.masked_fill_(x > 0, self.a(x).sum())",
    "w.scatter_(0, torch.zeros(1, 8).long(), self.a(x))",
    "v = w[1]; w[0] = self.a(x)[0]; w = v",
]
NOT_NEEDED = [
    "w[0] = x[0]",
    "w[0] = self.a(x).detach()[0]",
    "u = w.detach(); u.add_(self.a(x))",
    "w.data.add_(self.a(x))",
    "u = w.view(16).detach(); u[0] = self.a(x)[0, 0]",
    "u = w.clone(); u[0] = self.a(x)[0]",
    "with torch.no_grad(): w[0] = self.a(x)[0]",
    "n = w.long(); n[0] = self.a(x)[0].long(); w = n.float()",
    "w[0] = self.a(x).sum().item()",
    "w = self.a(x).argmax(1, keepdim=True) * w",
    "w = torch.zeros_like(self.a(x)); w[0] = 3",
    "w = torch.utils.checkpoint.checkpoint(self.a, x, use_reentrant=True)",
]
PERHAPS = [
    "w[x > 0] = self.a(x)[x > 0]",
    "u = w.reshape(4, 4); u += self.a(x).view(4, 4)",
    "u = w.flatten(); u += self.a(x).flatten()",
    "u = w.contiguous(); u += self.a(x)",
    "u = w[[0, 1]]; u += self.a(x)",
    "u = w.view(torch.float32); u += self.a(x)",
    "y = self.a(x) if x.sum() > 0 else x; w[0] = y[0]",
]


@pytest.mark.parametrize("body", [*NEEDED, *NOT_NEEDED, *PERHAPS])
def test_what_is_said_is_so(body: str, tmp_path: Path):
    assert wrong(tmp_path, NET.format(body=body), ["2x8"]) == []


@pytest.mark.parametrize("body", [*NEEDED[:-1], *NOT_NEEDED[:-1]])
def test_what_is_written_to_a_view_or_a_copy_is_told_apart(body: str, tmp_path: Path):
    assert is_whole(predicted(tmp_path, NET.format(body=body), ["2x8"]))
