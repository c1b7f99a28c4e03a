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
        try:
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

    assert set(graph.model.inputs[0].constraints) == {"b == 11", "n == 26"}
