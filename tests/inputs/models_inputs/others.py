"""Tables, graphs, points, policies, mappings and other shapes of input."""
# ruff: noqa: RUF059

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


class Tabular(nn.Module):
    def __init__(self):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(n, 3) for n in (4, 7, 2)])
        self.bn = nn.BatchNorm1d(5)
        self.fc = nn.Linear(3 * 3 + 5, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x_cat, x_cont):
        e = torch.cat([emb(x_cat[:, i]) for i, emb in enumerate(self.embs)], 1)
        return self.out(F.relu(self.fc(torch.cat([e, self.bn(x_cont)], 1))))


class MatrixFactorization(nn.Module):
    def __init__(self):
        super().__init__()
        self.u = nn.Embedding(10, 4)
        self.i = nn.Embedding(20, 4)

    def forward(self, user, item):
        return (self.u(user) * self.i(item)).sum(1)


class DeepFm(nn.Module):
    def __init__(self, field_dims=(3, 5, 4)):
        super().__init__()
        self.register_buffer("offsets", torch.tensor([0, 3, 8]), persistent=False)
        self.embedding = nn.Embedding(sum(field_dims), 6)
        self.mlp = nn.Sequential(nn.Linear(18, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        e = self.embedding(x + self.offsets)
        fm = 0.5 * (e.sum(1) ** 2 - (e**2).sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(fm + self.mlp(e.view(x.size(0), -1)))


class GcnLayer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(i, o))

    def forward(self, x, adj):
        return torch.mm(adj, torch.mm(x, self.weight))


class Gcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1 = GcnLayer(14, 8)
        self.gc2 = GcnLayer(8, 3)

    def forward(self, x, adj):
        return F.log_softmax(self.gc2(F.relu(self.gc1(x, adj)), adj), dim=1)


class MessagePassing(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(11, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, x, edge_index):
        src, dst = edge_index
        h = self.lin(x)
        agg = torch.zeros_like(h).index_add_(0, dst, h[src])
        return self.out(F.relu(agg))


class DataObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 6)

    def forward(self, data):
        x, edge_index = data.x, data.edge_index
        row, col = edge_index
        return self.lin(x)[row] + self.lin(x)[col]


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv1d(3, 16, 1)
        self.c2 = nn.Conv1d(16, 32, 1)
        self.fc = nn.Linear(32, 10)

    def forward(self, points):
        x = points.transpose(2, 1)
        return self.fc(F.relu(self.c2(F.relu(self.c1(x)))).max(2)[0])


class Knn(nn.Module):
    def __init__(self, k=20):
        super().__init__()
        self.k = k
        self.conv = nn.Conv2d(6, 8, 1)

    def forward(self, x):
        d = torch.cdist(x.transpose(1, 2), x.transpose(1, 2))
        idx = d.topk(self.k, largest=False).indices
        b, n, k = idx.shape
        feats = x.transpose(1, 2)
        nb = torch.gather(feats.unsqueeze(1).expand(-1, n, -1, -1), 2, idx.unsqueeze(-1).expand(-1, -1, -1, 3))
        edge = torch.cat([nb - feats.unsqueeze(2), feats.unsqueeze(2).expand_as(nb)], -1)
        return self.conv(edge.permute(0, 3, 1, 2)).max(-1)[0]


class DictBatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Conv2d(3, 4, 3)
        self.emb = nn.Embedding(9, 4)
        self.fc = nn.Linear(8, 2)

    def forward(self, batch):
        img = self.cnn(batch["image"]).mean((2, 3))
        txt = self.emb(batch["tokens"]).mean(1)
        return {"logits": self.fc(torch.cat([img, txt], 1))}


class DictGet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(7, 2)

    def forward(self, inputs: dict):
        x = inputs["features"]
        if inputs.get("scale") is not None:
            x = x * inputs["scale"]
        return self.fc(x)


class Mlp(nn.Module):
    def __init__(self, i=13, o=1):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))

    def forward(self, x):
        return self.layers(x)


class Critic(nn.Module):
    def __init__(self, s=17, a=6):
        super().__init__()
        self.l1 = nn.Linear(s + a, 16)
        self.l2 = nn.Linear(16, 1)

    def forward(self, state, action):
        return self.l2(F.relu(self.l1(torch.cat([state, action], 1))))


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(11, 16)
        self.mu = nn.Linear(16, 3)
        self.log_std = nn.Parameter(torch.zeros(3))

    def forward(self, obs, deterministic=False):
        mu = self.mu(torch.tanh(self.body(obs)))
        dist = torch.distributions.Normal(mu, self.log_std.exp())
        a = mu if deterministic else dist.rsample()
        return a, dist.log_prob(a).sum(-1)


class Expert(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        return self.f(x)


class MixtureOfExperts(nn.Module):
    def __init__(self, d=16, n=4, k=2):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.experts = nn.ModuleList([Expert(d) for _ in range(n)])
        self.k = k

    def forward(self, x):
        b, t, d = x.shape
        flat = x.reshape(-1, d)
        w, chosen = self.gate(flat).softmax(-1).topk(self.k, -1)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            rows, slot = (chosen == i).nonzero(as_tuple=True)
            if rows.numel() == 0:
                continue
            out[rows] += w[rows, slot, None] * expert(flat[rows])
        return out.view(b, t, d)


class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(10, 10)
        self.b = nn.Linear(10, 10)
        self.head = nn.Linear(10, 2)

    def forward(self, x):
        x = self.a(x)
        if x.mean().item() > 0:
            x = self.b(x)
        return self.head(x)


class Wrapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Critic(5, 2)

    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.r = nn.Linear(6, 4)

    def forward(self, pair):
        left, right = pair
        return self.l(left) + self.r(right)


class OnlyParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(6, 3))
        self.b = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return x @ self.w + self.b


class NoInput(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(4, 4))
        self.l = nn.Linear(4, 2)

    def forward(self):
        return self.l(self.table)


class Fourier(nn.Module):
    def __init__(self, bands=4):
        super().__init__()
        self.bands = bands
        self.net = nn.Linear(3 * 2 * bands, 4)

    def forward(self, coords):
        f = 2.0 ** torch.arange(self.bands)
        x = (coords[..., None] * f).flatten(-2)
        return self.net(torch.cat([x.sin(), x.cos()], -1))


class Double(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(5, 2).double()

    def forward(self, x):
        return self.f(x)


class Energy(nn.Module):
    """Needs gradients inside forward."""

    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, pos):
        with torch.enable_grad():
            pos = pos.detach().requires_grad_(True)
            e = self.f(pos).sum()
            return e, -torch.autograd.grad(e, pos)[0]


class MultiHeadRegressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.LazyLinear(8)
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 1), "b": nn.Linear(8, 2)})

    def forward(self, x, task: str = "a"):
        return self.heads[task](self.trunk(x))


@dataclass
class Out:
    loss: torch.Tensor
    logits: torch.Tensor


class WithLabels(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(9, 4)

    def forward(self, features, labels):
        logits = self.f(features)
        return Out(F.cross_entropy(logits, labels), logits)


class Quantizer(nn.Module):
    def __init__(self, n=16, d=8):
        super().__init__()
        self.enc = nn.Conv2d(3, d, 4, 4)
        self.codebook = nn.Embedding(n, d)
        self.dec = nn.ConvTranspose2d(d, 3, 4, 4)

    def forward(self, x):
        z = self.enc(x).permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, 8)
        idx = torch.cdist(flat, self.codebook.weight).argmin(1)
        q = self.codebook(idx).view(z.shape)
        return self.dec((z + (q - z).detach()).permute(0, 3, 1, 2))


MODELS = [
    Tabular,
    MatrixFactorization,
    DeepFm,
    Gcn,
    MessagePassing,
    DataObject,
    PointNet,
    Knn,
    DictBatch,
    DictGet,
    Mlp,
    Critic,
    GaussianPolicy,
    MixtureOfExperts,
    EarlyExit,
    Wrapper,
    Pair,
    OnlyParameters,
    NoInput,
    Fourier,
    Double,
    Energy,
    MultiHeadRegressor,
    WithLabels,
    Quantizer,
]
INTENDED = {
    "Mlp": {"x": (1, 13)},
    "MatrixFactorization": {"user": (1,), "item": (1,)},
    "Fourier": {"coords": (1, 3)},
    "MixtureOfExperts": {"x": (1, 8, 16)},
    "Tabular": {"x_cat": (1, 3), "x_cont": (1, 5)},
    "DeepFm": {"x": (1, 3)},
    "Gcn": {"x": (8, 14), "adj": (8, 8)},
    "MessagePassing": {"x": (8, 11)},
}
