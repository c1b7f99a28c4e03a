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
    # what a window leaves, and may be
    "F.conv_transpose1d(torch.ones(2, 4, 9), torch.ones(4, 4, 3), stride=2, output_padding=n - 3)",
    "F.conv_transpose1d(torch.ones(2, 4, 9), torch.ones(4, 4, 3), dilation=3, output_padding=n - 5)",
    "F.conv_transpose2d(torch.ones(2, 4, 9, 9), torch.ones(4, 4, 3, 3), stride=(2, 3), output_padding=(8 - n, 1))",
    "F.fractional_max_pool2d(torch.ones(2, 4, 9, 9), n - 3, output_size=2)",
    "F.fractional_max_pool2d(torch.ones(2, 4, 9, 9), (2, 3), output_size=n - 5)",
    "F.fractional_max_pool3d(torch.ones(2, 4, 5, 5, 5), 2, output_size=n - 3)",
    "F.fractional_max_pool2d(x.split([n - 4, 4])[0][None, :, :, None].expand(2, -1, -1, 4), 2, output_size=1)",
    "F.fractional_max_pool2d(x.split([4, n - 4])[1].t()[None, :, :, None].expand(2, -1, -1, 4), 2, output_size=2)",
    "F.avg_pool2d(torch.ones(2, 4, 9, 9), 3, divisor_override=n - 5)", "F.pixel_shuffle(torch.ones(2, 4, 9, 9), n - 5)",
    "F.max_unpool1d(torch.ones(1, 1, 3), torch.zeros(1, 1, 3).long(), n - 5)",
    "F.local_response_norm(x[None], n - 5)", "torch.native_channel_shuffle(torch.ones(2, 4, 9, 9), n - 5)",
    # nothing behind the batch
    *(f"F.{pool}(x.split([n - 4, 4])[0].t()[None, :, :, None].expand(2, -1, -1, 3).transpose(1, 2), {more})"
      for pool, more in (("max_pool2d", "2"), ("avg_pool2d", "2"), ("adaptive_max_pool2d", "2"), ("lp_pool2d", "2, 2"),
                         ("interpolate", "3"), ("adaptive_avg_pool2d", "2"))),
    "F.interpolate(x[None, :, : n - 3], size=3, mode='area')", "F.interpolate(x[None], size=n - 3, mode='area')",
    # spectra
    "torch.fft.rfftfreq(n - 9)", "torch.fft.rfft2(x, (4, n - 5))", "torch.fft.fftn(x, (n - 5,), (1,))",
    "torch.stft(torch.ones(64), n - 5, return_complex=True)", "torch.fft.fftshift(x, (0, n - 5))",
    "torch.stft(torch.ones(64), 8, window=torch.ones(n), return_complex=True)",
    "torch.istft(torch.ones(5, 6, dtype=torch.complex64), 8, hop_length=n - 3)",
    "torch.istft(torch.ones(3, 6, dtype=torch.complex64), n - 3)", "torch.linalg.tensorinv(torch.eye(6).view(2, 3, 6), 13 - n)",
    "F.native_channel_shuffle(torch.ones(2, 4, 9, 9), n - 7)",
    # steps
    "x[:, :: n - 5]", "x.unfold(1, 2, n - 5)",
    # numbers of functions
    "torch.randint(0, n - 5, (2,))", "torch.randint(n - 3, 5, (2,))", "torch.combinations(x[0, :2], n - 5)",
    "torch.linalg.vander(x[0], N=n - 5)", "torch.polygamma(n - 5, x)", "torch.mvlgamma(x + 9, n - 5)",
    "F.pdist(x, n - 5)", "F.smooth_l1_loss(x, x, beta=n - 5)", "F.celu(x, n - 5)", "torch.renorm(x, n - 5, 0, 1.)",
    "F.hardtanh(x, 0, n - 5)", "F.rrelu(x, 1, n - 5)", "x.resize_(n - 5, 2)",
    "F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=n - 5)",
    "F.multi_margin_loss(torch.ones(2, 4), torch.tensor([0, 1]), p=n - 5)",
    "F.embedding(torch.zeros(2).long(), x, padding_idx=n - 5)", "F.embedding(torch.zeros(2).long(), x[:4], padding_idx=5 - n)",
    "F.embedding_bag(torch.zeros(2, 2).long(), torch.ones(4, 3), padding_idx=n - 5)",
]  # fmt: skip


@pytest.mark.parametrize(
    "made", ["x.long() * n", "n + x.long()", "x.long() // n", "x.long().clamp(0, n)", "torch.full((2,), n)", "x.long() << n",
             "torch.where(x > 0, n, 1)", "torch.full_like(x.long(), n)", "(x > 0) * n", "x.long().pow(n)", "torch.tensor(n)"]
)  # fmt: skip
def test_an_open_size_is_a_whole_number(tmp_path, made):
    text = PRELUDE + NET.format(made=made)
    (tmp_path / "net.py").write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["n x 8"])
    space: dict[str, object] = {}
    exec(text, space)
    assert [each.dtype for each in graph.calls[0].outputs] == [str(space["Net"]()(torch.ones(3, 8)).dtype)[6:]]


def runs(net, n: int) -> bool:
    try:
        net(torch.zeros(n, 8))
    except (RuntimeError, ValueError, IndexError, AssertionError):
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
