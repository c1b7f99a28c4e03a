"""A size or a count that torch refuses below none is a condition on the open size that it is reckoned from."""

from __future__ import annotations

import pytest

import modgraph
from tests.prediction.forward.judged import PRELUDE

torch = pytest.importorskip("torch")

NET = """
class Net(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return {made}
"""
MADE = [
    "x.split([4, n - 4])", "torch.split(x, [n - 4, 4])", "x.split_with_sizes([4, n - 4])", "x.new_ones(n - 5, 8)",
    "x.new_full((n - 5, 8), 1.)", "x.repeat(n - 5, 1)", "x.repeat((n - 5, 1))", "x.tile((n - 5, 1))",
    "torch.randperm(n - 3)", "torch.eye(n - 3)", "torch.eye(4, n - 3)", "x.repeat_interleave(n - 3, 0)",
    "torch.repeat_interleave(x, n - 3, dim=1)", "torch.tril_indices(n - 3, 4)", "torch.triu_indices(4, n - 3)",
    "torch.randint(0, 4, (n - 3,))", "torch.normal(0., 1., (n - 3, 2))", "torch.linspace(0, 1, n - 3)",
    "torch.hann_window(n - 3)", "torch.vander(torch.arange(4), N=n - 3)", "torch.narrow_copy(x, 0, 0, n - 3)",
    "x.unfold(0, n - 3, 1)", "x.histc(n - 3)", "x.diff(n - 3, 0)", "torch.fft.rfft(x, n - 3)",
    "x.as_strided((n - 3, 4), (8, 1))", "x.as_strided((2, 4), (n - 3, 1))", "x.as_strided((2, 4), (8, 1), n - 3)",
    "F.one_hot(torch.ones(4, dtype=torch.long), n - 3)", "torch.ones(1, 8).expand(n - 5, 8)",
    "torch.ones(8).expand(n - 5, 8)", "torch.ones(8, 1).expand(8, n - 5)", "torch.ones(3, 8).expand(n - 5, 8)",
    "torch.broadcast_to(torch.ones(1, 8), (n - 5, 8))", "x.new_ones(8 - n, 8)", "torch.zeros(8 - n, 8)",
]  # fmt: skip


def runs(net, n: int) -> bool:
    try:
        net(torch.zeros(n, 8))
    except (RuntimeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("made", MADE)
def test_it_is_required(tmp_path, made):
    text = PRELUDE + NET.format(made=made)
    (tmp_path / "net.py").write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["n x 8"])
    (given,) = graph.model.inputs
    space: dict[str, object] = {}
    exec(text, space)
    net = space["Net"]()
    assert not graph.problems
    for n in range(1, 16):
        required = all(eval(each, {"n": n}) for each in given.constraints)
        followed = all(eval(each, {"n": n}) for each in given.followed)
        assert runs(net, n) if required and followed else required or not runs(net, n)
