"""More models, in yet other styles."""
# ruff: noqa: E741, RUF059

import torch
import torch.nn as nn
import torch.nn.functional as F


class LeNetTanh(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv2d(1, 6, 5),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Conv2d(16, 120, 5),
            nn.Tanh(),
        )
        self.c = nn.Sequential(nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10))

    def forward(self, x):
        return self.c(torch.flatten(self.f(x), 1))


class AlexCifar(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv2d(3, 64, 11, 4, 5),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(64, 96, 5, padding=2),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(96, 32, 3, padding=1),
            nn.MaxPool2d(2, 2),
        )
        self.c = nn.Linear(32, 10)

    def forward(self, x):
        x = self.f(x)
        x = x.view(x.size(0), -1)
        return self.c(x)


class MlpMixer(nn.Module):
    def __init__(self, n=49, d=32, p=32):
        super().__init__()
        self.stem = nn.Conv2d(3, d, p, p)
        self.tok = nn.Linear(n, n)
        self.ch = nn.Linear(d, d)
        self.h = nn.Linear(d, 5)

    def forward(self, x):
        y = self.stem(x).flatten(2)
        y = y + self.tok(y)
        y = y.transpose(1, 2)
        y = y + self.ch(y)
        return self.h(y.mean(1))


class Swin(nn.Module):
    def __init__(self, win=7, d=24):
        super().__init__()
        self.win = win
        self.pe = nn.Conv2d(3, d, 4, 4)
        self.qkv = nn.Linear(d, 3 * d)
        self.bias = nn.Parameter(torch.zeros(win * win, win * win))
        self.o = nn.Linear(d, d)

    def forward(self, x):
        x = self.pe(x).permute(0, 2, 3, 1)
        B, H, W, C = x.shape
        w = self.win
        x = x.view(B, H // w, w, W // w, w, C).permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, C)
        q, k, v = self.qkv(x).chunk(3, -1)
        a = (q @ k.transpose(-2, -1) + self.bias).softmax(-1)
        return self.o(a @ v).view(B, H // w, W // w, w, w, C).permute(0, 1, 3, 2, 4, 5).reshape(B, H, W, C).mean((1, 2))


class CrossAttn(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(32, 16)
        self.kv = nn.Linear(24, 32)
        self.o = nn.Linear(16, 32)

    def forward(self, x, context):
        q = self.q(x)
        k, v = self.kv(context).chunk(2, -1)
        return self.o((q @ k.transpose(1, 2)).softmax(-1) @ v)


class CondUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Embedding(1000, 8)
        self.c = nn.Embedding(10, 8)
        self.i = nn.Conv2d(3, 8, 3, padding=1)
        self.o = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, x, timesteps, class_labels):
        return self.o(self.i(x) + (self.t(timesteps) + self.c(class_labels))[:, :, None, None])


class Nerf(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(63, 32)
        self.d = nn.Linear(32 + 27, 16)
        self.o = nn.Linear(16, 3)

    def forward(self, x):
        p, d = torch.split(x, [63, 27], dim=-1)
        return self.o(F.relu(self.d(torch.cat([F.relu(self.a(p)), d], -1))))


class EncDec(nn.Module):
    def __init__(self):
        super().__init__()
        self.se = nn.Embedding(30, 8)
        self.te = nn.Embedding(40, 8)
        self.enc = nn.GRU(8, 16, batch_first=True)
        self.dec = nn.GRU(8, 16, batch_first=True)
        self.att = nn.Linear(32, 1)
        self.out = nn.Linear(32, 40)

    def forward(self, src, trg, teacher_forcing_ratio=0.5):
        m, h = self.enc(self.se(src))
        outs = []
        for t in range(trg.shape[1]):
            o, h = self.dec(self.te(trg[:, t : t + 1]), h)
            a = self.att(torch.cat([m, o.expand(-1, m.size(1), -1)], -1)).softmax(1)
            outs.append(self.out(torch.cat([(a * m).sum(1), o[:, 0]], -1)))
        return torch.stack(outs, 1)


class Wavenet(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(256, 16)
        self.c = nn.ModuleList([nn.Conv1d(16, 16, 2, dilation=2**i) for i in range(6)])
        self.o = nn.Conv1d(16, 256, 1)

    def forward(self, x):
        h = self.e(x).transpose(1, 2)
        for c in self.c:
            h = F.relu(c(h))
        return self.o(h)


class Crnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, 1, 1),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(16, 32, 3, 1, 1),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(32, 32, 3, 1, 1),
            nn.MaxPool2d((2, 1)),
            nn.Conv2d(32, 32, 3, 1, 1),
            nn.MaxPool2d((2, 1)),
            nn.Conv2d(32, 32, 2),
        )
        self.rnn = nn.LSTM(32, 16, bidirectional=True)
        self.fc = nn.Linear(32, 37)

    def forward(self, x):
        f = self.cnn(x)
        b, c, h, w = f.size()
        assert h == 1, "the height of conv must be 1"
        return self.fc(self.rnn(f.squeeze(2).permute(2, 0, 1))[0])


class Bev(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 4, 3, padding=1)
        self.f = nn.Linear(4, 2)

    def forward(self, imgs):
        b, n, c, h, w = imgs.shape
        x = self.c(imgs.view(b * n, c, h, w)).mean((2, 3)).view(b, n, -1).mean(1)
        return self.f(x)


class Gat(nn.Module):
    def __init__(self):
        super().__init__()
        self.W = nn.Linear(10, 8, bias=False)
        self.a = nn.Linear(16, 1)

    def forward(self, h, adj):
        z = self.W(h)
        n = z.size(0)
        e = F.leaky_relu(self.a(torch.cat([z.repeat_interleave(n, 0), z.repeat(n, 1)], 1))).view(n, n)
        e = torch.where(adj > 0, e, torch.full_like(e, -9e15))
        return e.softmax(1) @ z


class Kwonly(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(7, 3)

    def forward(self, *, features, weights=None):
        return self.l(features)


class DictOfTensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.ModuleDict({"rgb": nn.Conv2d(3, 4, 3), "depth": nn.Conv2d(1, 4, 3)})
        self.o = nn.Linear(8, 2)

    def forward(self, inputs: dict[str, torch.Tensor]):
        return self.o(torch.cat([m(inputs[k]).mean((2, 3)) for k, m in self.m.items()], 1))


class ListSeq(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(6, 4)

    def forward(self, xs):
        return self.a(xs[0]) + self.b(xs[1])


class Ode(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))

    def forward(self, t, y):
        return self.n(torch.cat([y, t.expand(y.size(0), 1)], -1))


class Dqn(nn.Module):
    def __init__(self, n_observations=4, n_actions=2):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer2 = nn.Linear(16, n_actions)

    def forward(self, x):
        return self.layer2(F.relu(self.layer1(x)))


class RecurrentPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(12, 8)
        self.gru = nn.GRU(8, 8, batch_first=True)
        self.pi = nn.Linear(8, 3)

    def forward(self, obs, h=None):
        y, h = self.gru(F.relu(self.enc(obs)), h)
        return torch.distributions.Categorical(logits=self.pi(y)), h


class WordBag(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(100, 8, sparse=False)
        self.f = nn.Linear(8, 4)

    def forward(self, text, offsets):
        return self.f(self.e(text, offsets))


class Spectro(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.hann_window(400))
        self.c = nn.Conv2d(1, 4, 3, 2)
        self.f = nn.Linear(4, 3)

    def forward(self, wav):
        x = torch.stft(wav, 400, 160, window=self.w, return_complex=True).abs().unsqueeze(1)
        return self.f(self.c(x).mean((2, 3)))


class Vq(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.LSTM(40, 20, batch_first=True)
        self.norm = nn.LayerNorm(20)
        self.o = nn.Linear(20, 7)

    def forward(self, x, x_lens):
        o, _ = self.l(x)
        m = torch.arange(o.size(1))[None] < x_lens[:, None]
        return self.o(self.norm(o) * m.unsqueeze(-1))


class Deepset(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
        self.rho = nn.Linear(8, 1)

    def forward(self, sets, mask):
        return self.rho((self.phi(sets) * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True))


class StyleGen(nn.Module):
    def __init__(self):
        super().__init__()
        self.map = nn.Linear(16, 16)
        self.const = nn.Parameter(torch.randn(1, 8, 4, 4))
        self.mod = nn.Linear(16, 8)
        self.c = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, w):
        return self.c(F.interpolate(self.const * self.mod(self.map(w))[:, :, None, None], scale_factor=2))


class Forecast(nn.Module):
    def __init__(self, seq_len=96, pred_len=24, enc_in=7):
        super().__init__()
        self.seq_len = seq_len
        self.lin = nn.Linear(seq_len, pred_len)
        self.n = nn.LayerNorm(enc_in)

    def forward(self, x_enc):
        x = self.n(x_enc)
        return self.lin(x.permute(0, 2, 1)).permute(0, 2, 1)


class MaskedLm(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(50, 16)
        self.l = nn.ModuleList([nn.TransformerEncoderLayer(16, 4, 32, batch_first=True) for _ in range(2)])
        self.h = nn.Linear(16, 50)

    def forward(self, input_ids, attention_mask=None, labels=None):
        x = self.e(input_ids)
        for l in self.l:
            x = l(x, src_key_padding_mask=None if attention_mask is None else attention_mask == 0)
        return {
            "logits": self.h(x),
            "loss": None if labels is None else F.cross_entropy(self.h(x).flatten(0, 1), labels.flatten()),
        }


class DecoderOnly(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 32, batch_first=True), 1)
        self.p = nn.Linear(10, 16)

    def forward(self, tgt, memory):
        return self.d(self.p(tgt), memory)


class Pinn(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x, t):
        return self.n(torch.cat([x, t], dim=1))


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.EmbeddingBag(60, 8)
        self.i = nn.Sequential(nn.Linear(13, 8), nn.ReLU(), nn.Linear(8, 8))

    def forward(self, query, item_features):
        return F.cosine_similarity(self.q(query), self.i(item_features))


class Stereo(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Conv2d(3, 8, 3, 2, 1)
        self.o = nn.Conv2d(16, 1, 1)

    def forward(self, left, right):
        return self.o(torch.cat([self.f(left), self.f(right)], 1))


class PromptSam(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, 8, 16, 16)
        self.p = nn.Linear(2, 8)
        self.o = nn.Linear(8, 1)

    def forward(self, image, points):
        e = self.enc(image).flatten(2).transpose(1, 2)
        return self.o(e + self.p(points).mean(1, keepdim=True))


class SeqFirst(nn.Module):
    def __init__(self, d=20):
        super().__init__()
        self.pe = nn.Parameter(torch.zeros(100, 1, d))
        self.l = nn.TransformerEncoderLayer(d, 4, 32)
        self.inp = nn.Linear(6, d)

    def forward(self, src):
        x = self.inp(src)
        x = x + self.pe[: x.size(0)]
        return self.l(x)


class Voxel(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Sequential(nn.Conv3d(2, 8, 3, padding=1), nn.MaxPool3d(2))
        self.u = nn.ConvTranspose3d(8, 8, 2, 2)
        self.o = nn.Conv3d(10, 2, 1)

    def forward(self, vol):
        e = self.e(vol)
        return self.o(torch.cat([self.u(e), vol], 1))


class FlagFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 2)

    def forward(self, x, return_features: bool):
        y = self.a(x)
        return (y, x) if return_features else y


class ImgList(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 4, 3)

    def forward(self, images: list[torch.Tensor], targets: list[dict[str, torch.Tensor]] | None = None):
        return [self.c(i[None]).mean() for i in images]


class Reform(nn.Module):
    def __init__(self, bucket=16):
        super().__init__()
        self.b = bucket
        self.e = nn.Embedding(20, 8)
        self.l = nn.Linear(8, 8)

    def forward(self, x):
        if x.shape[1] % self.b != 0:
            raise ValueError("sequence length must be divisible by bucket size")
        return self.l(self.e(x))


MODELS = [
    LeNetTanh,
    AlexCifar,
    MlpMixer,
    Swin,
    CrossAttn,
    CondUNet,
    Nerf,
    EncDec,
    Wavenet,
    Crnn,
    Bev,
    Gat,
    Kwonly,
    DictOfTensors,
    ListSeq,
    Ode,
    Dqn,
    RecurrentPolicy,
    WordBag,
    Spectro,
    Vq,
    Deepset,
    StyleGen,
    Forecast,
    MaskedLm,
    DecoderOnly,
    Pinn,
    TwoTower,
    Stereo,
    PromptSam,
    SeqFirst,
    Voxel,
    FlagFirst,
    ImgList,
    Reform,
]

INTENDED = {
    "LeNetTanh": {"x": (1, 1, 32, 32)},
    "AlexCifar": {"x": (1, 3, 32, 32)},
    "Nerf": {"x": (1, 90)},
    "Kwonly": {"features": (1, 7)},
    "Dqn": {"x": (1, 4)},
    "RecurrentPolicy": {"obs": (1, 8, 12)},
    "Reform": {"x": (1, 16)},
    "Pinn": {"x": (1, 1), "t": (1, 1)},
    "Forecast": {"x_enc": (1, 96, 7)},
    "CrossAttn": {"x": (1, 8, 32), "context": (1, 8, 24)},
}
