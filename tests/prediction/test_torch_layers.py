"""torch's own layers, predicted from torch's source and from the bundled one, against the installed torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

LAYERS = """
nn.Conv1d(2, 4, 3); nn.Conv2d(2, 4, (3, 5), stride=2, padding="valid", bias=False); nn.Conv3d(4, 8, 3, groups=4); nn.Conv2d(4, 4, 3, padding="same", padding_mode="circular"); nn.Conv2d(1, 1, 1, dtype=torch.float64)
nn.ConvTranspose1d(2, 4, 3); nn.ConvTranspose2d(4, 8, 3, 2, 1, 1, 2, False); nn.ConvTranspose3d(2, 4, 3)
nn.LazyConv1d(4, 3); nn.LazyConv2d(4, 3, bias=False); nn.LazyConv3d(2, 1); nn.LazyConvTranspose1d(2, 2); nn.LazyConvTranspose2d(2, 2, bias=False); nn.LazyConvTranspose3d(2, 2); nn.LazyLinear(3)
nn.BatchNorm1d(4); nn.BatchNorm2d(4, affine=False); nn.BatchNorm3d(4, track_running_stats=False); nn.SyncBatchNorm(4); nn.LazyBatchNorm1d(); nn.LazyBatchNorm2d(affine=False); nn.LazyBatchNorm3d(track_running_stats=False)
nn.InstanceNorm1d(4); nn.InstanceNorm2d(4, affine=True); nn.InstanceNorm3d(4, affine=True, track_running_stats=True); nn.LazyInstanceNorm1d(); nn.LazyInstanceNorm2d(); nn.LazyInstanceNorm3d()
nn.LayerNorm(4); nn.LayerNorm([4, 5], elementwise_affine=False); nn.LayerNorm((4, 5), bias=False); nn.GroupNorm(2, 4); nn.GroupNorm(2, 4, affine=False); nn.RMSNorm(4); nn.RMSNorm([2, 3], elementwise_affine=False); nn.LocalResponseNorm(2); nn.CrossMapLRN2d(2)
nn.Linear(3, 4); nn.Linear(3, 4, bias=False); nn.Bilinear(2, 3, 4); nn.Identity(1, x=2); nn.Embedding(3, 4); nn.Embedding(3, 4, padding_idx=-1, _freeze=True); nn.EmbeddingBag(3, 4, mode="sum"); nn.Embedding.from_pretrained(torch.zeros(5, 2)); nn.Embedding.from_pretrained(torch.zeros(5, 2), freeze=False); nn.EmbeddingBag.from_pretrained(torch.ones(4, 3))
nn.LSTM(2, 3); nn.LSTM(2, 4, 2, bidirectional=True, proj_size=3); nn.GRU(2, 3, 2, bias=False); nn.RNN(2, 3, 1, "relu"); nn.RNN(2, 3, nonlinearity="relu"); nn.LSTMCell(2, 3); nn.GRUCell(2, 3, bias=False); nn.RNNCell(2, 3); nn.RNNBase("LSTM", 2, 3)
nn.MultiheadAttention(8, 2); nn.MultiheadAttention(8, 2, bias=False, kdim=4, vdim=6); nn.MultiheadAttention(8, 2, add_bias_kv=True)
nn.TransformerEncoderLayer(8, 2, 16); nn.TransformerDecoderLayer(8, 2, 16, activation="gelu"); nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, bias=False, batch_first=True), 2, nn.LayerNorm(8)); nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 1)
nn.Transformer(8, 2, 1, 1, 16); nn.Transformer(8, 2, 1, 1, 16, custom_encoder=nn.Identity())
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]); nn.AdaptiveLogSoftmaxWithLoss(9, 30, (4, 7, 20), 2.0, True); nn.LinearCrossEntropyLoss(4, 5, bias=True)
nn.CrossEntropyLoss(); nn.CrossEntropyLoss(torch.ones(3)); nn.BCEWithLogitsLoss(pos_weight=torch.ones(2)); nn.NLLLoss(torch.ones(3)); nn.MultiMarginLoss(weight=torch.ones(2)); nn.TripletMarginWithDistanceLoss(); nn.L1Loss(True); nn.CTCLoss(); nn.MSELoss(); nn.HuberLoss(); nn.KLDivLoss()
nn.PReLU(); nn.PReLU(5); nn.ReLU(True); nn.GELU("tanh"); nn.Softmax(dim=1); nn.Hardtanh(); nn.ReLU6(); nn.Threshold(0.1, 2); nn.LeakyReLU(0.2); nn.GLU(); nn.SiLU(); nn.Softplus(); nn.LogSoftmax(-1); nn.CELU(); nn.Hardswish(); nn.RReLU(); nn.Sigmoid(); nn.Tanh()
nn.MaxPool2d(2); nn.AvgPool1d(2); nn.AvgPool2d(3, 2, 1); nn.AdaptiveAvgPool2d((1, None)); nn.AdaptiveMaxPool1d(3); nn.LPPool2d(2, 3); nn.FractionalMaxPool2d(2, output_ratio=0.5); nn.FractionalMaxPool3d(2, 3); nn.MaxUnpool2d(2); nn.MaxPool1d(2, return_indices=True)
nn.Dropout(0.1); nn.Dropout2d(); nn.AlphaDropout(); nn.Flatten(); nn.Unflatten(1, (2, 3)); nn.Fold(4, 2); nn.Unfold(2); nn.PixelShuffle(2); nn.PixelUnshuffle(2); nn.ChannelShuffle(2); nn.Upsample(scale_factor=2); nn.UpsamplingBilinear2d(4); nn.UpsamplingNearest2d(scale_factor=2); nn.PairwiseDistance(); nn.CosineSimilarity()
nn.ZeroPad2d(1); nn.ConstantPad1d(2, 0.5); nn.ReflectionPad2d((1, 2, 3, 4)); nn.ReplicationPad3d(1); nn.CircularPad2d(1); nn.ZeroPad1d(1)
nn.DataParallel(nn.Linear(1, 1)).module; nn.Module(); nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU())); nn.ModuleList([nn.ReLU()]); nn.ModuleDict({"a": nn.ReLU()}); nn.ParameterList([torch.zeros(1)]); nn.ParameterDict({"a": torch.zeros(1)})
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", LAYERS.strip().splitlines())
def test_layers_are_what_torch_makes_of_them(agrees: Callable[[str], Graph], line: str) -> None:
    body = "".join(f"        self.l{i} = {call.strip()}\n" for i, call in enumerate(line.split(";")))
    agrees(f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}")


def test_attributes_of_layers_are_read_back(agrees: Callable[[str], Graph]) -> None:
    agrees("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 8, 3, padding=1)
                self.bn = nn.BatchNorm2d(self.conv.out_channels)
                self.lstm = nn.LSTM(8, 16, 2, bidirectional=True)
                self.fc = nn.Linear(self.lstm.hidden_size * (2 if self.lstm.bidirectional else 1), 4)
                self.same = nn.Conv2d(3, 3, self.conv.kernel_size, self.conv.stride, self.conv.padding)
                self.embed = nn.Embedding(10, 4, padding_idx=-1)
                self.row = nn.Linear(self.embed.padding_idx, self.embed.weight.shape[1])
                self.norm = nn.LayerNorm(self.fc.out_features)
                self.last = nn.Linear(self.norm.normalized_shape[0], nn.MultiheadAttention(8, 2).head_dim)
        """)
