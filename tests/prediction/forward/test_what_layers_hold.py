"""A layer gives what its weights, buffers and dtypes make of its input, not what the attributes say with which it was
made; and a test on identity of tensors has the answer that torch gives, or none.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import is_whole, predicted, wrong

pytestmark = pytest.mark.needs_torch

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.yes, self.no, self.drop = nn.ReLU(), nn.Tanh(), nn.Dropout()
        %s

    def forward(self, x):
        %s
"""
REPLACED = {
    "its data": ("self.a = nn.Linear(3, 3)", "self.a.weight.data = torch.zeros(7, 3)\n"
                 "self.a.bias.data = torch.zeros(7)\nreturn self.a(x)"),
    "another parameter": ("self.a = nn.Linear(3, 3, False)", "self.a.weight = nn.Parameter(torch.zeros(7, 3))\n"
                          "return self.a(x)"),
    "put into the dict": ("self.a = nn.Linear(3, 3)", "kept = self.a._parameters['weight']\n"
                          "self.a._parameters['weight'], self.a._parameters['bias'] = torch.zeros(8, 3), None\n"
                          "y = self.a(x)\nself.a._parameters['weight'] = kept\nreturn y, self.a(x)"),
    "sizes that nobody reads": (
        "self.a, self.b, self.c = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Embedding(5, 6)\n"
        "self.a.out_features, self.a.in_features, self.b.num_features, self.c.embedding_dim = 9, 12, 5, 8",
        "return self.b(self.a(x)), self.c(torch.zeros(2, dtype=torch.long))",
    ),
    "channels and kernel that nobody reads": (
        "self.a = nn.Conv1d(3, 4, 1)\nself.a.out_channels, self.a.kernel_size, self.a.stride = 17, (9,), (2,)",
        "return self.a(torch.ones(1, 3, 8))",
    ),
    "the weight is gone": (
        "self.a = nn.Linear(3, 3)\ndel self.a.bias",
        "try:\n    return self.a(x)\nexcept AttributeError:\n    return self.no(x)",
    ),
    "no weight": (
        "self.a = nn.Linear(3, 3)\nself.a.weight = None",
        "try:\n    return self.a(x)\nexcept TypeError:\n    return self.no(x)",
    ),
}  # fmt: skip
DTYPES = {
    "of another precision": (
        "self.a = nn.Linear(3, 3).half()",
        "try:\n    return self.a(x)\nexcept RuntimeError:\n    return self.a(x.half())",
    ),
    "whole numbers": (
        "self.a = nn.Linear(3, 3)",
        "try:\n    return self.a(x.long())\nexcept RuntimeError:\n    return x",
    ),
    "a convolution": (
        "self.a = nn.Conv1d(3, 3, 1)",
        "x = x[None].transpose(1, 2)\ntry:\n    return self.a(x.double())\nexcept RuntimeError:\n    return self.a(x)",
    ),
    "as a function": (
        "self.a = nn.Linear(3, 3)",
        "try:\n    return F.linear(x.double(), self.a.weight)\nexcept RuntimeError:\n    return x",
    ),
    "indices that are none": (
        "self.a = nn.Embedding(3, 3)",
        "try:\n    return self.a(x)\nexcept RuntimeError:\n    return self.a(x.long() * 0)",
    ),
    "an embedding": ("self.a = nn.Embedding(3, 3).double()", "return self.a(x.long() * 0)"),
    "on a device without memory": (
        "self.a = nn.Linear(3, 3, device='meta')",
        "try:\n    return self.a(x)\nexcept (RuntimeError, NotImplementedError):\n    return self.no(x)",
    ),
    "whole numbers element by element": ("", "x = x.long()\nreturn self.yes(x), self.no(x), self.drop(x)"),
}
SAME = (
    *("self.drop(x)", "F.dropout(x, 0.5, False)", "nn.Flatten()(x)", "F.relu(x, inplace=True)", "torch.relu_(x)"),
    *("nn.ReLU(inplace=True)(x)", "nn.ELU(1.0, True)(x)", "F.threshold(x, 0, 0, True)", "torch.positive(x)"),
    *("x.to(torch.float32, copy=True)", "x.to(torch.float32)", "x.contiguous()", "torch.conj(x)", "x.to_dense()"),
    *("torch.dropout(x, 0.1, False)", "F.alpha_dropout(x)", "x.clone()", "nn.Identity()(x)", "x.view(2, 3)"),
)  # fmt: skip


def _text(built: str, forward: str) -> str:
    return NET % (built.replace("\n", "\n        ") or "pass", forward.replace("\n", "\n        "))


@pytest.mark.parametrize("case", REPLACED)
def test_weights_decide(case: str, tmp_path: Path):
    text = _text(*REPLACED[case])

    assert wrong(tmp_path, text) == []
    assert is_whole(predicted(tmp_path, text, ["2x3"]))


@pytest.mark.parametrize("case", DTYPES)
def test_dtypes_decide(case: str, tmp_path: Path):
    text = _text(*DTYPES[case])

    assert wrong(tmp_path, text) == []
    assert is_whole(predicted(tmp_path, text, ["2x3"]))


@pytest.mark.parametrize("made", SAME)
def test_whether_it_is_the_same_tensor(made: str, tmp_path: Path):
    assert wrong(tmp_path, _text("", f"return self.yes(x) if ({made}) is x else self.no(x)")) == []


def test_batch_norm_counts_what_it_has_seen(tmp_path: Path):
    body = (
        "self.a.train()\ny = self.a(x)\nif self.a.num_batches_tracked == 0:\n    y = self.yes(y)\n"
        "if self.a.running_mean[0] == 0:\n    y = self.no(y)\nreturn y"
    )
    text = _text("self.a = nn.BatchNorm1d(3)", body)

    assert wrong(tmp_path, text, ["4x3"]) == []
    certain = [call.module for call in predicted(tmp_path, text, ["4x3"]).calls if call.certain]
    assert certain == ["", "a"]


def test_inputs_that_nobody_gives_have_the_dtype_of_the_layer(tmp_path: Path):
    text = _text("self.a = nn.Linear(3, 3).double()", "return self.a(x)")
    predicted(tmp_path, text, [])

    import modgraph

    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net")

    assert [each.dtype for each in graph.model.inputs[0].tensors] == ["float64"]
    assert [each.dtype for each in graph.calls[0].outputs] == ["float64"]


def test_weights_of_attention_are_of_each_head_or_of_all(tmp_path: Path):
    body = "a, b = self.m(x, x, x, average_attn_weights=False)\nc, d = self.m(x, x, x)\nreturn a, b, c, d"
    text = _text("self.m = nn.MultiheadAttention(8, 2)", body)

    assert wrong(tmp_path, text, ["5x2x8"]) == []
    assert len(predicted(tmp_path, text, ["5x2x8"]).calls[0].outputs) == 4


def test_a_function_of_autograd_keeps_tensors_in_its_context(tmp_path: Path):
    text = """
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = None
            ctx.kept = ctx.kept or x.new()
            ctx.kept.resize_as_(x)
            ctx.kept.zero_().add_(x)
            ctx.save_for_backward(x)
            out = x.new()
            torch.pow(ctx.kept, 2, out=out)
            return out

    class Net(nn.Module):
        def forward(self, x):
            return Scaled.apply(x)
    """

    assert wrong(tmp_path, text) == []
    assert predicted(tmp_path, text, ["2x3"]).calls[0].outputs[0].shape == (2, 3)
