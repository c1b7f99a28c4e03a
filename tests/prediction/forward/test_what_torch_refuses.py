"""What torch refuses is not predicted to run, where `forward` goes on with what it does then; and what it takes is not refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import is_whole, predicted, wrong

pytestmark = pytest.mark.needs_torch

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.runs, self.refused = nn.ReLU(), nn.Tanh()

    def forward(self, x):
        x = x.detach()  # whether an input needs a gradient, and one is recorded, is for its caller to say
        try:
            with torch.enable_grad():
                y = %s
        except (RuntimeError, TypeError, IndexError, ValueError, AssertionError):
            return self.refused(x)
        return self.runs(x)
"""
TRIED = (
    # into the tensor itself
    *("x.clone().add_(torch.ones(3))", "x.clone().add_(torch.ones(4, 2, 3))", "x.clone().mul_(torch.ones(2, 1, 3))"),
    *("x.long().mul_(0.5)", "x.long().div_(2)", "x.bool().add_(1)", "x.long().mul_(2)", "x.long().__iadd__(1.5)"),
    # sizes
    *("x.expand(3, 3)", "x.expand(4, 2, 3)", "x.expand(-1, 2, 3)", "x.expand_as(torch.ones(4, 2, 3))"),
    *("x.expand_as(torch.ones(3, 3))", "x.view_as(torch.ones(5))", "x.permute(1, 0, 0)", "x.permute(0)", "x.permute(-1, 0)"),
    *("x.split([1, 1], 1)", "x.split([1, 2], 1)", "torch.zeros(0, 3).reshape(0, -1)", "torch.zeros(0, 3).reshape(-1, 3)"),
    # of nothing
    *("torch.zeros(0, 3).max()", "torch.zeros(0, 3).argmax(0)", "torch.zeros(0, 3).argmax(1)", "torch.zeros(0, 3).sum(0)"),
    "torch.zeros(0, 3).chunk(3)[2]",
    # kinds of numbers
    *("x.long().mean()", "x.long().std()", "x.long().norm()", "x.long().sum()", "x.long().float().mean()"),
    *("x @ x.T.double()", "x @ x.T", "x.to(torch.complex64).mean()"),
    # equality
    *("x in [x]", "x.clone() in [x]", "[1, x].index(x)", "[x.clone(), 1].index(1)", "x.sum() in [x.sum()]", "[x] == [x]"),
    *("x.clone() in {x: 1}", "x in {x: 1}", "x.clone() in {x}", "{x: 1}.get(x.clone(), 2)", "[x.clone()].count(x)"),
    *("2 in x", "3 in torch.tensor([[1, 2], [3, 4]])", "5 in torch.tensor([[1, 2], [3, 4]])", "x.sum() in x"),
    # gradients
    *("x.sum().backward()", "torch.ones(2, requires_grad=True).backward()", "torch.ones(1, requires_grad=True).backward()"),
    # parts
    *("x.narrow(1, 2, 2)", "x.narrow(1, 1, 2)", "x.topk(4)", "x.topk(3)", "x.repeat(2)", "x.tile(2)", "x.view(2, -1, -1)"),
    *("x + None", "x + 'a'", "x == None", "x.new().numel() == 0"),
    # layers
    *("nn.AdaptiveAvgPool2d((1, 2, 3))(x[None])", "nn.AdaptiveAvgPool2d((1, None))(x[None])", "nn.MaxPool1d(2, padding=2)(x)"),
    *("nn.MaxPool2d(1)(x)", "nn.AvgPool1d(2)(x)", "nn.AdaptiveMaxPool1d(2)(x[None, None])", "nn.LSTM(8, 3)(x)"),
    *("nn.LSTM(3, 3)(x[None, None])", "nn.LSTM(3, 3)(x)", "nn.GRUCell(8, 2)(x)", "nn.GRUCell(3, 2)(x)", "nn.CrossMapLRN2d(2)(x[None, None])"),
    # losses
    *("F.cross_entropy(x, torch.zeros(2))", "F.cross_entropy(x, torch.zeros(2).long())", "F.cross_entropy(x, torch.zeros(3).long())"),
    *("F.cross_entropy(x, torch.zeros(2, 3))", "F.cross_entropy(x, torch.zeros(2, 3).long())", "F.nll_loss(x, torch.zeros(2, 3).long())"),
    *("nn.CrossEntropyLoss(torch.ones(4))(x, torch.zeros(2).long())", "nn.NLLLoss()(x, torch.zeros(2).long())"),
    *("F.mse_loss(x, torch.zeros(4, 3))", "F.mse_loss(x, torch.zeros(2, 1))", "F.l1_loss(x, x, reduction='most')"),
    *("nn.BCELoss()(x.sigmoid(), torch.zeros(2, 1))", "nn.BCEWithLogitsLoss()(x, torch.zeros(3))", "F.kl_div(x, torch.zeros(4, 3))"),
    "F.huber_loss(x, x, delta=-1.0)",
    # normalisations
    *("nn.BatchNorm1d(3).train()(x[:1])", "nn.BatchNorm1d(3).train()(x)", "nn.BatchNorm1d(3)(x[:1])", "nn.BatchNorm1d(3)(x.double())"),
    *("nn.InstanceNorm1d(2)(x[:, :1])", "nn.InstanceNorm1d(2)(x)", "nn.GroupNorm(3, 3)(x[:1])", "nn.GroupNorm(1, 3)(x)"),
    *("nn.LayerNorm(3)(x.double())", "F.layer_norm(x, (3,), torch.ones(2))", "F.group_norm(x, 1, torch.ones(2))", "F.layer_norm(x, ())"),
    *("F.batch_norm(x, torch.ones(2), torch.ones(2))", "F.batch_norm(x, None, None)", "nn.LocalResponseNorm(2)(x)"),
    # padding and resolution
    *("F.pad(x, (1, 2, 3))", "F.pad(x, (1, 1) * 3)", "F.pad(x, (3, 0), 'reflect')", "F.pad(x, (2, 0), 'reflect')", "F.pad(x, (-4, 0))"),
    *("nn.ReflectionPad1d(3)(x)", "nn.ReflectionPad1d(2)(x)", "nn.CircularPad1d(4)(x)", "nn.CircularPad1d(3)(x)", "nn.ReplicationPad1d(-2)(x)"),
    *("nn.PixelShuffle(1)(x)", "nn.ChannelShuffle(2)(x[None])", "nn.ChannelShuffle(3)(x[None])", "nn.AdaptiveAvgPool1d(2)(x.long())"),
    *("F.interpolate(x[None])", "F.interpolate(x[None], 4, 2.0)", "F.interpolate(x, 4)", "F.interpolate(x[None], (4, 4))"),
    *("F.interpolate(x[None], 4, mode='bilinear')", "F.interpolate(x[None], 4)", "nn.Upsample(scale_factor=2)(x)"),
    *("nn.AdaptiveAvgPool2d(1)(x[None, None, None])", "nn.AdaptiveAvgPool2d(2)(x[None, None, None])"),
    # products
    *("F.linear(x, torch.ones(4, 3), torch.ones(3))", "F.linear(x, torch.ones(4, 3).double())", "nn.Bilinear(3, 3, 2)(x, x[:1])"),
    *("torch.addmm(torch.ones(3), x, torch.ones(3, 2))", "torch.addmm(torch.ones(2), x, torch.ones(3, 2).double())"),
    *("F.conv1d(x, torch.ones(4, 2, 1), torch.ones(3))", "F.conv1d(x, torch.ones(4, 2, 1), torch.ones(4).double())", "nn.Conv1d(2, 2, 1)(x.long())"),
    # dtypes
    *("x.long().softmax(1)", "x.softmax(2)", "nn.Softmax(1)(x.long())", "nn.GELU()(x.long())", "x.long().softmax(1, torch.float32)"),
    *("nn.PReLU(2)(x)", "nn.PReLU(3)(x)", "nn.PReLU()(x.double())", "F.embedding(x, torch.ones(3, 3))", "F.one_hot(x)"),
    *("torch.where(x)", "torch.where(x.long())[0]", "torch.where(x, x, x)", "torch.where(x > 0, x, x)", "x.masked_fill(x, 0)", "x.masked_fill(x > 0, torch.ones(1))", "x & x", "x.long() & 1"),
    *("x.long().exp_()", "x.clone().exp_()", "x.long().clamp_(torch.ones(2, 3))", "x.clone().addcmul_(torch.ones(4, 2, 3), x)"),
    *("torch.maximum(x, 2)", "torch.lerp(x, x.double(), 0.5)", "torch.std_mean(x.long())", "torch.cdist(x.long(), x.long())"),
    # indices and what is written by them
    *("x.gather(1, x)", "x.gather(1, torch.zeros(2, 3).long())", "x.gather(0, torch.zeros(4, 3).long())", "x.gather(1, torch.zeros(4, 3).long())"),
    *("x.scatter(1, torch.zeros(2).long(), x)", "x.scatter(1, torch.zeros(2, 1).long(), x.double())", "x.scatter(1, torch.zeros(2, 1).long(), x)"),
    *("x.index_select(0, torch.zeros(1, 1).long())", "x.index_select(0, torch.zeros(4).long())", "x.index_select(0, torch.zeros(2))"),
    *("x.index_add(0, torch.zeros(1).long(), x)", "x.index_add(0, torch.zeros(2).long(), x)", "x.index_copy(0, torch.zeros(2).long(), x.double())"),
    *("torch.select_scatter(x, torch.ones(2), 0, 0)", "torch.select_scatter(x, torch.ones(3), 0, 0)", "torch.slice_scatter(x, x, 0, 1)"),
    # dimensions
    *("x.flip(0, 0)", "x.flip(2)", "x.roll((1, 2), (0,))", "x.roll(1, 2)", "x.select(1, 3)", "x.sort(2)", "x[0].tril()", "x[None].t()"),
    *("x.diagonal(0, 1, 1)", "x.diagonal()", "torch.diag_embed(x, 0, 1, 1)", "x.kthvalue(4)", "x.kthvalue(3)", "x.repeat(-1, 2)"),
    *("torch.outer(x, x)", "torch.fft.fft(x, norm='most')", "torch.fft.fft(x, 0)"),
    # sequences
    *("nn.MultiheadAttention(4, 2)(*[torch.ones(5, 4)] * 3, attn_mask=torch.ones(4, 5).bool())", "nn.LSTM(3, 3)(x, (torch.ones(1, 3),))"),
    *("nn.MultiheadAttention(4, 2)(*[torch.ones(5, 4)] * 3, attn_mask=torch.zeros(5, 5))", "nn.LSTMCell(3, 3)(x, (x[0], x[0]))"),
    *("nn.MultiheadAttention(4, 2)(torch.ones(5, 4), torch.ones(6, 4), torch.ones(5, 4))", "nn.GRU(3, 3)(x.double())", "nn.GRUCell(3, 3)(x, x)"),
    *("nn.MultiheadAttention(4, 2)(*[torch.ones(5, 3, 4)] * 3, key_padding_mask=torch.ones(5, 3).bool())", "nn.LSTM(3, 3)(x[:0])"),
    "nn.TransformerDecoderLayer(4, 2)(torch.ones(5, 3, 4), torch.ones(6, 2, 4))",
    # several things in the place of one
    *("nn.Linear(3, 3)([x])", "nn.ReLU()((x,))", "nn.Sequential(nn.ReLU())((x, x))"),
)  # fmt: skip


@pytest.mark.parametrize("tried", TRIED)
def test_it_is_known_whether_it_runs(tried: str, tmp_path: Path):
    assert wrong(tmp_path, NET % tried) == []
    graph = predicted(tmp_path, NET % tried, ["2x3"])
    assert not graph.problems
    if tried not in ("x.sum() in [x.sum()]", "2 in x", "x.sum() in x"):  # that is for the numbers to say
        assert is_whole(graph)


def test_an_open_size_is_expanded_to_what_is_there(tmp_path: Path):
    text = "class Net(nn.Module):\n    def forward(self, x):\n        return x.expand(11, 26), x.expand(3, *x.shape)\n"

    graph = predicted(tmp_path, text, ["x=b x n"])

    # Of size one it is expanded, too.
    assert set(graph.model.inputs[0].followed) == {"b == 11", "n == 26"}
    assert not graph.model.inputs[0].constraints
