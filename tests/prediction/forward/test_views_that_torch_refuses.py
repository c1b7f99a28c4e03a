"""`view` needs the elements where they are: after dimensions have changed places torch may refuse it, and after `contiguous`
it does not.
"""

from __future__ import annotations

import itertools
import types
from pathlib import Path

import pytest

import modgraph
from tests.prediction.forward.judged import is_whole, predicted, wrong

pytestmark = pytest.mark.needs_torch

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.runs, self.refused = nn.Linear(8, 8), nn.ReLU(), nn.Tanh()
        self.lstm, self.mha = nn.LSTM(8, 4, batch_first=True), nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        q = self.q(x)
        try:
            y = %s
        except RuntimeError:
            return self.refused(q)
        return self.runs(q)
"""
VIEWS = (
    *("x.transpose(1, 2).view(2, 24)", "x.transpose(1, 2).view(2, 8, 3)", "x.transpose(1, 2).view(2, 2, 4, 3)"),
    *("x.permute(2, 0, 1).view(-1)", "x.permute(2, 0, 1).contiguous().view(-1)", "x.permute(2, 0, 1).reshape(-1)"),
    *("q.view(2, 3, 2, 4).transpose(1, 2).view(2, 6, 4)", "q.view(2, 3, 2, 4).transpose(1, 2).transpose(1, 2).view(2, 24)"),
    *("(q @ q.transpose(1, 2)).view(2, 9)", "(q @ q.transpose(1, 2)).transpose(0, 1).view(18)"),
    *("x[:1].expand(4, 3, 8).view(4, 24)", "x.expand(2, 3, 8).view(48)"),
    *("x.transpose(1, 2).clone().view(2, 24)", "x.transpose(1, 2).detach().view(2, 24)", "x.clone().view(2, 24)"),
    *("F.dropout(x, 0.5, False).view(48)", "torch.matmul(torch.ones(5, 3), x).view(2, 40)", "x[:, :2].view(2, 2, 2, 4)"),
    *("q.transpose(0, 1)[:, :1].view(3, 8)", "torch.zeros(1, 4).transpose(0, 1).view(4)", "(x.transpose(1, 2) + 1).view(2, 8, 3)"),
    # what layers give, parts, and what is computed of tensors whose dimensions have changed places
    *("self.lstm(x)[0].view(2, -1)", "self.lstm(x[:1])[0].view(1, -1)", "self.lstm(x)[1][0].view(-1)", "self.lstm(x[0])[0].view(-1)"),
    *("self.mha(x, x, x)[0].view(2, 24)", "self.mha(x, x, x)[1].view(-1)", "self.lstm(x)[0].contiguous().view(2, 12)"),
    *("q.chunk(2, -1)[0].view(2, 12)", "q.split(4, -1)[1].view(6, 4)", "q[:, :2].view(4, 8)", "q[:, :, :4].view(2, -1)", "q.unbind(1)[0].view(-1)"),
    *("self.runs(q.transpose(1, 2)).view(-1)", "(q.transpose(1, 2) * self.q.bias[:3]).view(-1)", "(q.transpose(1, 2) + q.new_ones(2, 8, 3)).view(-1)"),
    *("torch.where(q.mT > 0, q.mT, 0.0).view(-1)", "q.mT.softmax(1).view(-1)", "(q.new_ones(2, 8, 3) + q.mT).view(-1)", "self.q(q).softmax(1).mT.view(-1)"),
    *("q.mT.index_select(0, torch.zeros(1).long()).view(-1)", "q.mT.flip(0).view(-1)", "q.mT[[0]].view(-1)", "q.mT[:, [0]].view(-1)"),
    *("F.interpolate(q.mT[..., None], scale_factor=2).view(-1)", "F.max_pool2d(q.permute(0, 2, 1)[..., None], 1).view(-1)"),
    *("F.scaled_dot_product_attention(q[None], q[None], q[None]).transpose(1, 2).view(-1)", "x.relu_().mT.view(-1)", "q.mT.view_as(torch.ones(48))"),
)  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
def test_it_is_known_whether_it_runs(view: str, tmp_path: Path):
    assert wrong(tmp_path, NET % view, ["2x3x8"]) == []
    assert is_whole(predicted(tmp_path, NET % view, ["2x3x8"]))


def test_where_it_is_not_known_how_a_tensor_lies_it_is_open_whether_it_runs(tmp_path: Path):
    text = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(9, 9)\n\n"
        "    def forward(self, x):\n        return self.a(torch.einsum('%s', x, x).view(2, 9))\n"
    )

    assert is_whole(predicted(tmp_path, text % "bij,bkj->bik", ["2x3x8"]))
    graph = predicted(tmp_path, text % "bij,bkj->bki", ["2x3x8"])
    assert not graph.complete
    assert "how the tensor lies in memory" in graph.problems[0].message


def test_what_lies_row_by_row_is_not_copied(tmp_path: Path):
    """`contiguous` of it is no operation; of what a recurrent layer gives it is one."""
    import torch

    text = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.GRU(8, 4, batch_first=True)\n\n    def forward(self, x):\n"
        "        v = x.view(2, 3, 2, 4).transpose(1, 2)\n"
        "        y = F.scaled_dot_product_attention(v, v, v).transpose(1, 2).contiguous()\n"
        "        return self.a(y.view(2, 3, 8))[0].contiguous()\n"
    )

    graph = predicted(tmp_path, text, ["2x3x8"])
    module = types.ModuleType("net")
    exec((tmp_path / "net.py").read_text("utf-8"), vars(module))
    real = modgraph.trace(module.Net().eval(), (torch.zeros(2, 3, 8),))

    assert [each.name for each in graph.operations] == [each.name for each in real.operations]
    assert [each.name for each in graph.operations].count("torch.Tensor.contiguous") == 1


def test_open_sizes_have_no_condition_where_it_runs(tmp_path: Path):
    text = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(8, 8)\n\n"
        "    def forward(self, x):\n        b, h, w, c = x.shape\n"
        "        x = self.a(x).view(b, h * w, c).transpose(1, 2).view(b, c, h, w)\n"
        "        return x.flatten(2).transpose(1, 2).contiguous().view(b, -1)\n"
    )

    graph = predicted(tmp_path, text, ["x=batch x h x w x 8"])

    assert is_whole(graph)
    assert graph.model.inputs[0].constraints == ()
    assert graph.calls[0].outputs[0].shape == ("batch", "8*h*w")


OF_OPEN_SIZES = (
    *(
        "x.transpose(1, 2).view(-1)",
        "x.transpose(1, 2).view(x.shape[0], -1)",
        "x.transpose(0, 1).view(-1, 4)",
        "x[..., 0].t().view(-1)",
    ),
    *(
        "torch.einsum('bnk,bk->bkn', x, torch.ones(x.shape[0], 4)).view(-1)",
        "torch.einsum('bnk,bmk->bnm', x, x).transpose(1, 2).view(-1)",
    ),
    *(
        "x[:, :3].view(-1)",
        "x[..., 0][:, ::2].view(-1)",
        "x[:1].expand(x.shape[0], -1, -1).view(-1, 4)",
        "x.view(-1, 2)",
        "x[:, 0].view(-1)",
    ),
    *(
        "x.view(x.shape[0], x.shape[1], 2, 2).transpose(1, 2).view(x.shape[0], 2, -1)",
        "(x.mT + 1).contiguous().view(-1)",
    ),
)


@pytest.mark.parametrize("view", OF_OPEN_SIZES)
def test_of_sizes_that_are_open_it_is_told_with_which_it_runs(view: str, tmp_path: Path):
    import torch

    text = f"class Net(nn.Module):\n    def forward(self, x):\n        return {view}\n"
    graph = predicted(tmp_path, text, ["x=b x n x 4"])
    (given,) = graph.model.inputs
    wrongly = []
    for b, n in itertools.product((1, 2, 3), (1, 2, 3, 4, 5)):
        space = {"x": torch.ones(b, n, 4), "torch": torch, "b": b, "n": n}
        if all(eval(each, dict(space)) for each in (*given.constraints, *given.followed)):
            try:
                eval(view, space)
            except RuntimeError:
                wrongly.append((b, n))
    assert wrongly == [] or not is_whole(graph)
