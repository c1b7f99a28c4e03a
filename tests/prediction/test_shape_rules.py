"""Rules of shapes: what comes out and what is refused, where torch is the judge; the language that they are written in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph
from modgraph.prediction.knowledge.shapes.arithmetic import MisfitError
from modgraph.prediction.knowledge.shapes.languages import read

Z = "torch.zeros"
FUNCTIONS = """
F.conv1d(Z(2, 4, 9), Z(6, 4, 3)); F.conv2d(Z(2, 4, 9, 8), Z(6, 2, 3, 1), groups=2); F.conv2d(Z(2, 4, 9, 8), Z(6, 4, 3, 3), None, 2, 1); F.conv3d(Z(4, 5, 6, 7), Z(2, 4, 2, 2, 2), stride=(1, 2, 3)); F.conv2d(Z(1, 4, 9, 8), Z(6, 4, 2, 3), padding="same"); F.conv2d(Z(1, 4, 9, 8), Z(6, 4, 2, 3), padding="valid", dilation=2)
F.conv_transpose1d(Z(2, 4, 9), Z(4, 6, 3), stride=2); F.conv_transpose2d(Z(2, 4, 9, 8), Z(4, 3, 3, 2), groups=2, output_padding=(1, 0), stride=2, padding=1); torch.conv2d(Z(1, 3, 5, 5), Z(2, 3, 5, 5))
F.linear(Z(2, 7, 3), Z(5, 3)); F.linear(Z(3), Z(5, 3), Z(5)); F.linear(Z(2, 3), Z(3)); F.bilinear(Z(2, 3), Z(2, 4), Z(5, 3, 4)); torch.baddbmm(Z(1), Z(2, 3, 4), Z(2, 4, 5)); torch.addmm(Z(3, 5), Z(3, 4), Z(4, 5)); torch.addmv(Z(3), Z(3, 4), Z(4)); torch.addr(Z(3, 4), Z(3), Z(4))
F.scaled_dot_product_attention(Z(2, 4, 7, 8), Z(2, 4, 9, 8), Z(2, 4, 9, 5)); F.scaled_dot_product_attention(Z(2, 4, 7, 8), Z(2, 4, 7, 8), Z(2, 4, 7, 8), attn_mask=Z(2, 1, 7, 7)); F.scaled_dot_product_attention(Z(2, 4, 7, 8), Z(2, 2, 7, 8), Z(2, 2, 7, 8), enable_gqa=True); F.scaled_dot_product_attention(Z(7, 8), Z(9, 8), Z(9, 3))
torch.einsum("b i d, b j d -> b i j", Z(2, 3, 4), Z(2, 5, 4)); torch.einsum("...ij,jk->...ik", Z(2, 6, 3, 4), Z(4, 5)); torch.einsum("ij,jk", Z(2, 3), Z(3, 4)); torch.einsum("i...->...", Z(2, 3)); torch.einsum("ij,kj->ik", [Z(2, 3), Z(4, 3)]); torch.einsum("ij,ij->i", Z(2, 3), Z(1, 3)); torch.einsum("iij->ij", Z(3, 3, 2)); torch.einsum("i...->i", Z(2, 3)); torch.zeros(30000).split(20000)[1]; len(torch.zeros(30000).split(1)) * Z(2)
F.embedding(torch.zeros(2, 7, dtype=torch.long), Z(5, 3)); F.glu(Z(2, 6)); F.glu(Z(2, 6), dim=0); nn.GLU(1)(Z(2, 6, 3)); F.mse_loss(Z(2, 3), Z(2, 3)); F.cross_entropy(Z(2, 3), torch.zeros(2, dtype=torch.long)); F.mse_loss(Z(2, 3), Z(2, 3), reduction="sum")
F.grid_sample(Z(2, 3, 4, 5), Z(2, 6, 7, 2)); F.grid_sample(Z(2, 3, 4, 5, 6), Z(2, 7, 8, 9, 3)); F.affine_grid(Z(2, 2, 3), (2, 3, 4, 5)); F.fold(Z(2, 12, 6), (6, 5), (3, 2), stride=(3, 2), padding=(0, 1)); nn.Fold((4, 5), (2, 2))(Z(1, 8, 12)); F.unfold(Z(2, 3, 6, 5), (2, 3), padding=1)
torch.addcmul(Z(2, 1), Z(3), Z(2, 3)); torch.logaddexp(Z(2, 1), Z(3)); Z(2, 3).copysign(-1.0); torch.isclose(Z(2, 1), Z(3)); torch.exp2(Z(2, 3)); Z(2).greater(Z(3, 1)); torch.signbit(Z(2, 3)); torch.nextafter(Z(2), Z(2))
nn.LayerNorm((3, 4))(Z(2, 3, 4)); nn.GroupNorm(2, 4, affine=False)(Z(2, 6, 5)); nn.BatchNorm1d(3, affine=False, track_running_stats=False)(Z(2, 5, 4)); nn.RMSNorm(4)(Z(2, 4)); F.layer_norm(Z(2, 3, 4), [3, 4]); F.group_norm(Z(2, 6, 5), 3)
Z(2, 12).unflatten(1, (3, -1)); torch.unflatten(Z(2, 12, 5), -2, (4, 3)); nn.Unflatten(1, (2, 6))(Z(2, 12)); torch.cdist(Z(2, 5, 3), Z(2, 7, 3)); Z(2, 3, 4).movedim(0, -1); torch.moveaxis(Z(2, 3, 4, 5), (0, 1), (2, 0)); torch.masked_scatter(Z(3), torch.ones(2, 3).bool(), Z(2, 3)); Z(2, 3).scatter_add(0, torch.zeros(1, 3, dtype=torch.long), Z(1, 3))
torch.fft.fft(Z(2, 9)).real; torch.fft.fft(Z(2, 9), 5, 0).imag; torch.fft.rfft(Z(2, 9)).real; torch.fft.irfft(Z(2, 9)); torch.fft.rfft2(Z(2, 4, 9)).real; torch.fft.irfft2(torch.fft.rfft2(Z(2, 4, 8))); torch.fft.fftn(Z(2, 3, 4)).real; torch.fft.fftshift(Z(2, 3)); torch.fft.rfftfreq(9)
F.cross_entropy(Z(2, 3, 4), torch.zeros(2, 4, dtype=torch.long), reduction="none"); F.nll_loss(Z(3), torch.tensor(1), reduction="none"); F.kl_div(Z(2, 3), Z(2, 3), reduction="batchmean"); F.mse_loss(Z(2, 3), Z(3), reduction="none"); F.l1_loss(Z(2), Z(2), None, False); F.l1_loss(Z(2), Z(2), reduce=False); F.huber_loss(Z(2, 3), Z(2, 3), "none"); F.binary_cross_entropy_with_logits(Z(2, 3), Z(2, 3), Z(3), pos_weight=Z(3)); nn.BCEWithLogitsLoss(reduction="none")(Z(2, 3), Z(2, 3))
F.poisson_nll_loss(Z(2, 3), Z(2, 3), True, False, None, 1e-8, None, "none"); F.gaussian_nll_loss(Z(2, 3), Z(2, 3), Z(2) + 1, reduction="none"); F.hinge_embedding_loss(Z(3, 1), Z(4), reduction="none"); F.margin_ranking_loss(Z(3), Z(3), Z(1), reduction="none"); F.multilabel_margin_loss(Z(2, 3), torch.zeros(2, 3, dtype=torch.long), reduction="none"); F.multilabel_soft_margin_loss(Z(2, 3), Z(2, 3), reduction="none"); F.multi_margin_loss(Z(5), torch.zeros(1, dtype=torch.long), reduction="none"); F.multi_margin_loss(Z(2, 5), torch.zeros(2, dtype=torch.long))
F.cosine_embedding_loss(Z(1, 4), Z(3, 4), Z(1), reduction="none"); F.triplet_margin_loss(Z(2, 5), Z(2, 5), Z(1, 5), reduction="none"); F.triplet_margin_with_distance_loss(Z(2, 5), Z(2, 5), Z(2, 5), reduction="none"); F.triplet_margin_with_distance_loss(Z(2, 5), Z(2, 5), Z(2, 5), distance_function=lambda a, b: (a - b).sum(0), swap=True, reduction="none"); F.ctc_loss(Z(9, 3, 5), torch.ones(3, 4, dtype=torch.long), (9, 9, 9), (4, 4, 4), reduction="none"); nn.CTCLoss()(Z(9, 5), torch.ones(4, dtype=torch.long), torch.tensor(9), torch.tensor(4))
F.cosine_similarity(Z(2, 3, 4), Z(3, 4)); nn.CosineSimilarity(dim=-1)(Z(2, 3), Z(2, 3)); torch.cosine_similarity(Z(3), Z(2, 3)); F.pairwise_distance(Z(2, 3), Z(3)); nn.PairwiseDistance(keepdim=True)(Z(2, 3), Z(2, 3)); F.pdist(Z(5, 3)); F.lp_pool1d(Z(2, 3, 9), 2, 4, ceil_mode=True); nn.LPPool2d(2, (3, 2), stride=2)(Z(2, 3, 9, 8)); nn.LPPool3d(1.5, 2)(Z(3, 4, 5, 6)); F.conv_tbc(Z(7, 2, 3), Z(3, 3, 5), Z(5), 1); F.upsample_nearest(Z(2, 3, 4), scale_factor=2); F.native_channel_shuffle(Z(2, 4, 3, 3), 2)
F.lp_pool1d(Z(2, 3).long(), 2, 2); F.lp_pool1d(Z(2, 3).bool(), 2.0, 2); F.lp_pool2d(Z(1, 2, 3).long(), 2, 2); nn.LPPool1d(2, 2)(Z(2, 3).long()); F.multilabel_soft_margin_loss(Z(1, 1), Z(2, 3, 4), reduce=False); F.multilabel_soft_margin_loss(Z(3), Z(2, 3), reduction="none"); F.multi_margin_loss(Z(1, 4), torch.tensor(0), reduction="none"); F.triplet_margin_loss(Z(1, 1), Z(3, 4), Z(3, 5), reduction="none"); F.gaussian_nll_loss(Z(3, 4), Z(3, 4), Z(1, 4) + 1, reduction="none"); torch.sort(torch.tensor([3, 1, 2]))[1]; torch.tensor([3.0, 1.0]).sort(descending=True).values
F.linear_cross_entropy(Z(8, 5), Z(4, 5), torch.zeros(8, dtype=torch.long)); F.linear_cross_entropy(Z(8, 5), Z(4, 5), torch.zeros(8, dtype=torch.long), reduction="none"); F.linear_cross_entropy(Z(8, 5), Z(4, 5), Z(8, 4), reduction="none")
Z(7, 5).tensor_split(3)[1]; torch.tensor_split(Z(2, 9, 4), (1, 4), dim=1)[2]; torch.tensor_split(Z(7), [5, 2])[1]; torch.tensor_split(Z(7), (-2,))[1]
"""


@pytest.mark.needs_torch
@pytest.mark.parametrize("line", FUNCTIONS.strip().splitlines())
def test_shape_and_dtype_are_torchs(agrees: Callable[[str], Graph], line: str) -> None:
    body = "".join(
        f"        self.register_buffer('b{place}', ({expression.strip().replace('Z(', 'torch.zeros(')}).detach())\n"
        for place, expression in enumerate(line.split(";"))
    )
    agrees(f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}")


REFUSED = """
F.conv2d(Z(2, 4, 9, 8), Z(6, 3, 3, 1))
F.conv2d(Z(2, 4, 2, 8), Z(6, 4, 3, 1))
F.conv1d(Z(2, 4, 9, 8), Z(6, 4, 3))
F.conv_transpose2d(Z(2, 3, 9, 8), Z(4, 3, 3, 2))
nn.Conv2d(3, 4, 5)(Z(1, 3, 4, 9))
nn.Conv2d(3, 4, 5)(Z(1, 4, 9, 9))
nn.Conv1d(3, 4, 5)(Z(9))
nn.MaxPool2d(4)(Z(1, 3, 3, 9))
F.avg_pool2d(Z(1, 3, 3, 9), 4)
F.linear(Z(2, 7, 4), Z(5, 3))
nn.Linear(3, 5)(Z(2, 7, 4))
torch.baddbmm(Z(1), Z(2, 3, 4), Z(2, 5, 4))
F.scaled_dot_product_attention(Z(2, 4, 7, 8), Z(2, 4, 9, 6), Z(2, 4, 9, 5))
F.scaled_dot_product_attention(Z(2, 4, 7, 8), Z(2, 4, 9, 8), Z(2, 4, 8, 5))
F.scaled_dot_product_attention(Z(2, 4, 7, 8), Z(2, 4, 7, 8), Z(2, 4, 7, 8), attn_mask=Z(7, 5))
torch.einsum("ij,jk->ik", Z(2, 3), Z(4, 5))
torch.einsum("ij->i", Z(2, 3, 4))
torch.einsum("ijk->il", Z(2, 3, 4))
torch.einsum("ijk->ii", Z(2, 3, 4))
torch.einsum("iij->ij", Z(1, 3, 2))
F.one_hot(torch.tensor([0, 2]), 2)
F.one_hot(torch.tensor([0, -1]))
F.glu(Z(2, 5))
F.grid_sample(Z(2, 3, 4, 5), Z(3, 6, 7, 2))
F.fold(Z(2, 12, 8), (6, 5), (3, 2), stride=(3, 2), padding=(0, 1))
nn.LayerNorm(4)(Z(2, 4, 3))
nn.RMSNorm(4)(Z(2, 4, 3))
nn.BatchNorm2d(4)(Z(2, 3, 5, 5))
nn.BatchNorm2d(4)(Z(2, 4, 5))
nn.GroupNorm(2, 4)(Z(2, 6, 5))
nn.GroupNorm(2, 4, affine=False)(Z(2, 5, 5))
F.layer_norm(Z(2, 3, 4), [4, 3])
F.group_norm(Z(2, 6, 5), 4)
torch.addcmul(Z(2), Z(3), Z(2, 3))
Z(2, 12).unflatten(1, (3, 5))
torch.cdist(Z(2, 5, 3), Z(2, 7, 4))
nn.Conv2d(3, 4, 3, stride=0)(Z(1, 3, 9, 9))
nn.Conv2d(3, 4, 3, padding=-1)(Z(1, 3, 9, 9))
nn.Conv2d(3, 4, 3, dilation=0)(Z(1, 3, 9, 9))
nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=2)(Z(1, 3, 9, 9))
F.conv_transpose2d(Z(1, 3, 9, 9), Z(3, 4, 3, 3), stride=0)
nn.MaxPool2d(3, 1, 2)(Z(1, 3, 9, 9))
nn.AvgPool1d(3, 1, 2)(Z(1, 3, 9))
F.max_pool2d(Z(1, 3, 9, 9), 3, 1, 2, dilation=2)
F.avg_pool3d(Z(1, 3, 9, 9, 9), 3, 1, 2)
nn.MaxPool2d(3, 0)(Z(1, 3, 9, 9))
F.avg_pool2d(Z(1, 3, 9, 9), 3, 0)
F.max_pool2d(Z(1, 3, 9, 9), 0, 1)
nn.MaxPool2d(2)(Z(9, 9))
F.max_pool2d(Z(1, 1, 3, 9, 9), 2)
nn.AdaptiveAvgPool2d(2)(Z(9, 9))
F.adaptive_avg_pool3d(Z(3, 9, 9), 2)
nn.InstanceNorm2d(4, affine=True)(Z(2, 3, 5, 5))
nn.InstanceNorm2d(4)(Z(5, 5))
nn.PixelShuffle(2)(Z(1, 5, 2, 2))
F.pixel_unshuffle(Z(1, 5, 3, 2), 2)
nn.LSTM(3, 5)(Z(7, 2, 4))
nn.LSTM(3, 5)(Z(3))
nn.GRU(3, 5, 2)(Z(7, 2, 3), Z(1, 2, 5))
nn.GRU(3, 5)(Z(7, 2, 3), Z(1, 2, 4))
nn.LSTM(3, 5)(Z(7, 2, 3), (Z(1, 2, 5), Z(1, 2, 4)))
nn.LSTM(3, 5)(Z(7, 2, 3), (Z(1, 5), Z(1, 5)))
nn.LSTMCell(3, 5)(Z(2, 4))
nn.LSTMCell(3, 5)(Z(2, 3), (Z(2, 4), Z(2, 5)))
nn.GRUCell(3, 5)(Z(2, 3), Z(1, 5))
nn.MultiheadAttention(4, 2)(Z(2, 3, 5), Z(2, 3, 5), Z(2, 3, 5))
nn.MultiheadAttention(4, 2)(Z(2, 3, 4), Z(2, 3, 5), Z(2, 3, 5))
nn.MultiheadAttention(4, 2)(Z(3, 4), Z(2, 3, 4), Z(2, 3, 4))
nn.Bilinear(2, 3, 4)(Z(5, 3), Z(5, 3))
torch.bmm(Z(1, 2, 3), Z(4, 3, 2))
torch.bmm(Z(2, 3), Z(3, 2))
torch.mm(Z(2, 2, 3), Z(3, 2))
Z(2, 3).mv(Z(3, 1))
Z(2, 3).permute(0)
Z(2, 3).permute(0, 2)
Z(2, 3).permute(0, -2)
Z(2, 3).expand(4, 3)
Z(3).expand(-1, 3)
Z(2, 3).expand(3)
Z(0, 3).expand(2, -1)
Z(2, 3).mean((1, -1))
torch.var_mean(Z(2, 3), (1, 1))
F.log_softmax(Z(2, 3), dim=2)
torch.log_softmax(Z(2, 3), dim=2)
Z(2, 3).softmax(-3)
Z(2, 3).cumsum(2)
nn.Unflatten(1, (2, 3))(Z(2, 7))
nn.Unflatten(2, (2, 3))(Z(2, 6))
Z(2, 7).unflatten(1, (2, -1))
torch.unflatten(Z(2, 6), 1, (4, 2))
nn.Conv2d(3, 0, 3)(Z(1, 3, 9, 9))
Z(2, 3).add_(Z(2, 4))
Z(3).mul_(Z(1, 3))
Z(2, 1).sub_(Z(2, 3))
Z(2, 3).__iadd__(Z(3, 3))
"""
TAKEN = """
F.max_pool2d(Z(1, 3, 9, 9), 3, 1, 1)
nn.AvgPool2d(2, 1, 1)(Z(1, 3, 9, 9))
nn.MaxPool2d(2)(Z(3, 9, 9))
nn.AdaptiveAvgPool1d(2)(Z(3, 9))
nn.InstanceNorm2d(4)(Z(2, 3, 5, 5))
nn.InstanceNorm1d(4, affine=True)(Z(2, 4, 5))
nn.PixelShuffle(2)(Z(1, 8, 2, 2))
nn.GRU(3, 5, 2, bidirectional=True)(Z(7, 2, 3), Z(4, 2, 5))[0]
nn.LSTM(3, 5, proj_size=2)(Z(7, 2, 3), (Z(1, 2, 2), Z(1, 2, 5)))[0]
nn.LSTM(3, 5, batch_first=True)(Z(7, 2, 3), (Z(1, 7, 5), Z(1, 7, 5)))[0]
nn.LSTMCell(3, 5)(Z(3), (Z(5), Z(5)))[0]
nn.MultiheadAttention(4, 2, kdim=6, vdim=8)(Z(2, 3, 4), Z(5, 3, 6), Z(5, 3, 8))[0]
nn.Bilinear(2, 3, 4)(Z(5, 2), Z(5, 3))
Z(2, 3).permute(-1, 0)
Z(2, 1).expand(4, 2, 3)
Z(2, 3).expand(-1, 3)
Z(2, 1).expand(size=(2, 5))
torch.broadcast_to(Z(1, 3), (2, 3))
Z(2, 3, 4).mean((1, 2))
Z(2, 3).add_(Z(3))
Z(2, 3).mul_(Z(2, 1))
Z(2, 3).__isub__(Z(1, 1))
Z(2, 3).div_(2.0)
F.softmax(Z(2, 3), dim=-2)
Z(2, 3).cumsum(-1)
nn.Unflatten(1, (2, 3))(Z(2, 6))
nn.Unflatten(-1, (2, -1, 1))(Z(2, 6))
torch.unflatten(Z(2, 6), 0, (1, 2))
nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1)(Z(1, 3, 4, 4))
nn.Conv2d(3, 4, 3, padding="same")(Z(1, 3, 4, 4))
"""


@pytest.mark.needs_torch
@pytest.mark.parametrize("expression", REFUSED.strip().splitlines())
def test_what_torch_refuses_is_refused(predict_source: Callable[..., Graph], expression: str) -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    code = expression.replace("Z(", "torch.zeros(")
    with pytest.raises((RuntimeError, ValueError, IndexError, AssertionError)) as real:
        eval(code, {"torch": torch, "nn": nn, "F": F})
    graph = predict_source(
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.x = {code}\n"
    )
    told = [problem.message for problem in graph.problems]
    assert any(f"raises {type(real.value).__name__}" in message for message in told), told


@pytest.mark.needs_torch
@pytest.mark.parametrize("expression", TAKEN.strip().splitlines())
def test_what_torch_takes_is_taken(agrees: Callable[[str], Graph], expression: str) -> None:
    value = expression.replace("Z(", "torch.zeros(")
    agrees(
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.register_buffer('b', ({value}).detach())\n"
    )


def test_letters_are_sizes() -> None:
    pattern = read("*b i, o i, o? -> *b o")
    assert pattern.shape([(2, 7, 3), (5, 3), None]) == (2, 7, 5)
    assert pattern.shape([(None, 3), (5, None), None]) == (None, 5)
    assert pattern.shape([None, (5, 3), None]) is None
    with pytest.raises(MisfitError, match=r"\(2, 4\) and \(5, 3\)"):
        pattern.shape([(2, 4), (5, 3), None])
    with pytest.raises(MisfitError):
        pattern.shape([(2, 3), (5, 3, 1), None])


def test_runs_broadcast() -> None:
    pattern = read("*b q, *b k -> *b q k")
    assert pattern.shape([(2, 1, 3), (4, 5)]) == (2, 4, 3, 5)
    assert pattern.shape([(2, 1, 3), None]) is None
    with pytest.raises(MisfitError):
        pattern.shape([(2, 3), (4, 5)])


def test_what_is_not_looked_at_may_be_anything() -> None:
    assert read("_, b n i, b i m -> b n m").shape([(9, 9, 9, 9), (2, 3, 4), (2, 4, 5)]) == (2, 3, 5)
    assert read("n 2 -> 3 n").shape([(7, 2)]) == (3, 7)


@pytest.mark.parametrize("layer", ["nn.CrossMapLRN2d(2)(Z(2, 3, 8, 8))", "nn.AdaptiveLogSoftmaxWithLoss(8, 9, [4])"])
def test_a_layer_whose_source_is_not_there_gives_what_is_not_known(
    predict_source: Callable[..., Graph], layer: str
) -> None:
    """The source that stands for that of torch, where torch is not there, leaves out what some layers do."""
    given = layer.replace("Z(", "torch.zeros(") + (
        "(torch.zeros(4, 8), torch.zeros(4).long())[1]" if "Loss" in layer else ""
    )
    body = f"        self.register_buffer('b', ({given}).detach())\n"
    text = f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}"
    graph = predict_source(text, with_torch=False)
    assert not any("raises" in each.message for each in graph.problems)
    assert [each.name for each in graph.modules[0].buffers] == ["b"]
