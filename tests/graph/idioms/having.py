"""Models that have an idiom, each in the style of somebody else."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn


class Fused(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8 · causal"""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(32, dim=2)
        q, k, v = (each.view(b, t, 4, 8).transpose(1, 2) for each in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(b, t, c))


class ByMatmul(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Linear(32, 32) for _ in range(4))
        self.drop = nn.Dropout(0.1)

    def cut(self, x):
        return x.view(x.size(0), -1, 4, 8).permute(0, 2, 1, 3)

    def forward(self, x):
        one, two, three = self.cut(self.a(x)), self.cut(self.b(x)), self.cut(self.c(x))
        scores = torch.matmul(one, two.transpose(-1, -2)) / math.sqrt(8)
        weights = self.drop(F.softmax(scores, dim=-1))
        y = torch.matmul(weights, three).permute(0, 2, 1, 3).contiguous()
        return self.d(y.view(y.size(0), -1, 32))


class ByBmm(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Linear(32, 32) for _ in range(4))

    def cut(self, x):
        return x.view(2, 6, 4, 8).transpose(1, 2).reshape(8, 6, 8)

    def forward(self, x):
        q, k, v = self.cut(self.a(x)), self.cut(self.b(x)), self.cut(self.c(x))
        weights = torch.bmm(q * 8**-0.5, k.transpose(1, 2)).softmax(-1)
        return self.d(torch.bmm(weights, v).view(2, 4, 6, 8).transpose(1, 2).reshape(2, 6, 32))


class ByEinsum(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Linear(32, 32, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (layer(x).reshape(2, 6, 4, 8) for layer in (self.a, self.b, self.c))
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k)
        weights = torch.softmax(energy / 32**0.5, dim=3)
        return self.d(torch.einsum("nhql,nlhd->nqhd", weights, v).reshape(2, 6, 32))


class OfTorch(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


class ByUnbind(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(32, 96), nn.Linear(32, 32), nn.LayerNorm(8)

    def forward(self, x):
        qkv = self.qkv(x).reshape(2, 6, 3, 4, 8).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q, k = self.norm(q), self.norm(k)
        weights = (q * 8**-0.5 @ k.transpose(-2, -1)).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(2, 6, 32))


class ByItems(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.table = nn.Parameter(torch.zeros(4, 6, 6))

    def forward(self, x):
        qkv = self.qkv(x).reshape(2, 6, 3, 4, 8).permute(2, 0, 3, 1, 4)
        weights = qkv[0] @ qkv[1].transpose(-2, -1) + self.table.unsqueeze(0)
        return self.out((F.softmax(weights, dim=-1) @ qkv[2]).transpose(1, 2).flatten(2))


class Masked(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (each.view(2, 6, 4, 8).transpose(1, 2) for each in (q, k, v))
        seen = torch.tril(torch.ones(6, 6))
        weights = (q @ k.transpose(2, 3) * 0.35).masked_fill(seen == 0, float("-inf"))
        return self.out((self.softmax(weights) @ v).transpose(1, 2).reshape(2, 6, 32))


class Grouped(nn.Module):
    """2x6x32: grouped-query attention · 4 heads of 8, 2 of keys"""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = nn.Linear(32, 32), nn.Linear(32, 16), nn.Linear(32, 16), nn.Linear(32, 32)

    def more(self, x):
        return x[:, :, None, :, :].expand(2, 2, 2, 6, 8).reshape(2, 4, 6, 8)

    def forward(self, x):
        q = self.q(x).view(2, 6, 4, 8).transpose(1, 2)
        k, v = (self.more(layer(x).view(2, 6, 2, 8).transpose(1, 2)) for layer in (self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o(y.transpose(1, 2).reshape(2, 6, 32))


class GroupedByTorch(nn.Module):
    """2x6x32: grouped-query attention · 4 heads of 8, 2 of keys"""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 32)

    def forward(self, x):
        q = self.q(x).view(2, 6, 4, 8).transpose(1, 2)
        k, v = self.kv(x).view(2, 6, 2, 2, 8).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return self.o(y.transpose(1, 2).reshape(2, 6, 32))


class OneOfKeys(nn.Module):
    """2x6x32: multi-query attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = nn.Linear(32, 32), nn.Linear(32, 8), nn.Linear(32, 8), nn.Linear(32, 32)

    def forward(self, x):
        q = self.q(x).view(2, 6, 4, 8)
        weights = torch.einsum("bihd,bjd->bhij", q, self.k(x)).softmax(-1)
        return self.o(torch.einsum("bhij,bjd->bihd", weights, self.v(x)).reshape(2, 6, 32))


class Cross(nn.Module):
    """2x6x32 2x9x24: multi-head cross-attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = nn.Linear(32, 32), nn.Linear(24, 32), nn.Linear(24, 32), nn.Linear(32, 32)

    def forward(self, x, context):
        q, k, v = (each.view(2, -1, 4, 8).transpose(1, 2) for each in (self.q(x), self.k(context), self.v(context)))
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 6, 32))


class OfPictures(nn.Module):
    """2x32x4x4: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Conv2d(32, 96, 1), nn.Conv2d(32, 32, 1)

    def forward(self, x):
        q, k, v = self.qkv(x).reshape(2, 12, 8, 16).chunk(3, dim=1)
        weights = torch.einsum("bhdi,bhdj->bhij", q, k).softmax(dim=-1)
        return x + self.out(torch.einsum("bhij,bhdj->bhdi", weights, v).reshape(2, 32, 4, 4))


class KeysFirst(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(32, 32) for _ in range(3))

    def forward(self, x):
        q, k, v = (layer(x).view(2, 6, 4, 8).transpose(1, 2) for layer in (self.a, self.b, self.c))
        weights = (k @ q.transpose(2, 3)).softmax(dim=-2)
        return (weights.transpose(2, 3) @ v).transpose(1, 2).reshape(2, 6, 32)


class SwiGLU(nn.Module):
    """2x6x32: gated MLP · SiLU"""

    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(32, 48), nn.Linear(48, 32), nn.Linear(32, 48)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class GatedByLayers(nn.Module):
    """2x6x32: gated MLP · GELU"""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.gate, self.down = nn.Linear(32, 48), nn.Linear(32, 48), nn.Linear(48, 32)
        self.act, self.drop = nn.GELU(), nn.Dropout(0.1)

    def forward(self, x):
        return self.down(self.drop(self.up(x) * self.act(self.gate(x))))


class GatedByChunk(nn.Module):
    """2x6x32: gated MLP · GELU"""

    def __init__(self) -> None:
        super().__init__()
        self.both, self.down = nn.Linear(32, 96), nn.Linear(48, 32)

    def forward(self, x):
        h, gate = self.both(x).chunk(2, dim=-1)
        return self.down(h * F.gelu(gate))


class GatedBySlices(nn.Module):
    """2x6x32: gated MLP · sigmoid"""

    def __init__(self) -> None:
        super().__init__()
        self.both, self.down = nn.Linear(32, 96), nn.Linear(48, 32)

    def forward(self, x):
        y = self.both(x)
        return self.down(y[..., :48] * torch.sigmoid(y[..., 48:]))


class GatedByTorch(nn.Module):
    """2x6x32: gated MLP · sigmoid"""

    def __init__(self) -> None:
        super().__init__()
        self.both, self.glu, self.down = nn.Linear(32, 96), nn.GLU(), nn.Linear(48, 32)

    def forward(self, x):
        return self.down(self.glu(self.both(x)))


class Swish(nn.Module):
    def forward(self, x):
        return F.silu(x)


class GatedByOwnLayer(nn.Module):
    """2x6x32: gated MLP · SiLU"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.act = nn.Linear(32, 48), nn.Linear(32, 48), nn.Linear(48, 32), Swish()

    def forward(self, x):
        return self.c(self.act(self.a(x)) * self.b(x))


class Halves(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8 · RoPE; rotary position embedding"""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32) for _ in range(4))

    def turned(self, x):
        return torch.cat((-x[..., 4:], x[..., :4]), dim=-1)

    def forward(self, x):
        q, k, v = (layer(x).view(2, 6, 4, 8).transpose(1, 2) for layer in (self.q, self.k, self.v))
        angles = torch.arange(6)[:, None] * 0.1 ** torch.arange(4)
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos(), angles.sin()
        q, k = q * cos + self.turned(q) * sin, k * cos + self.turned(k) * sin
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 6, 32))


class Angles(nn.Module):
    def forward(self, x):
        angles = torch.arange(x.shape[1])[:, None] * 0.1 ** torch.arange(4)
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


class Turned(nn.Module):
    """2x6x8: rotary position embedding"""

    def __init__(self) -> None:
        super().__init__()
        self.angles = Angles()

    def forward(self, x):
        cos, sin = self.angles(x)
        one, two = x.chunk(2, dim=-1)
        return (x * cos.unsqueeze(0)) + (torch.cat((-two, one), dim=-1) * sin.unsqueeze(0))


class Interleaved(nn.Module):
    """2x6x8: rotary position embedding"""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        x = self.layer(x)
        angles = (torch.arange(6)[:, None] * 0.1 ** torch.arange(4)).repeat_interleave(2, dim=-1)
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
        return x * torch.cos(angles) + turned * torch.sin(angles)


class InPairs(nn.Module):
    """2x6x8: rotary position embedding"""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        x = self.layer(x)
        angles = torch.arange(6)[:, None] * 0.1 ** torch.arange(4)
        cos, sin = angles.cos(), angles.sin()
        one, two = x[..., ::2], x[..., 1::2]
        return torch.stack((one * cos - two * sin, one * sin + two * cos), dim=-1).flatten(-2)


class Complex(nn.Module):
    """2x6x8: rotary position embedding"""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        x = self.layer(x)
        angles = torch.outer(torch.arange(6).float(), 0.1 ** torch.arange(4))
        turns = torch.polar(torch.ones_like(angles), angles)
        pairs = torch.view_as_complex(x.reshape(2, 6, 4, 2))
        return torch.view_as_real(pairs * turns).flatten(2)


class Cached(nn.Module):
    """2x1x32 2x4x5x8 2x4x5x8: multi-head attention · 4 heads of 8 · KV cache"""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32) for _ in range(4))

    def forward(self, x, keys, values):
        q, k, v = (layer(x).view(2, 1, 4, 8).transpose(1, 2) for layer in (self.q, self.k, self.v))
        k, v = torch.cat((keys, k), dim=2), torch.cat((values, v), dim=2)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 1, 32)
        return self.o(y), k, v


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(32, 48), nn.Linear(48, 32)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class ByLoop(nn.Module):
    """2x6x32: top-2 of 4 experts"""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(32, 4)
        self.experts = nn.ModuleList(Expert() for _ in range(4))

    def forward(self, x):
        flat = x.view(-1, 32)
        weights, chosen = torch.topk(self.gate(flat), 2)
        weights = F.softmax(weights, dim=1)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == number)
            out[rows] += weights[rows, place, None] * expert(flat[rows])
        return out.view_as(x)


class ByOneHot(nn.Module):
    """2x6x32: top-2 of 4 experts"""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(32, 4, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(4))

    def forward(self, x):
        flat = x.view(-1, 32)
        weights, chosen = torch.topk(F.softmax(self.gate(flat), dim=1), 2, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = torch.zeros(12, 32)
        mask = F.one_hot(chosen, num_classes=4).permute(2, 1, 0)
        for number in range(4):
            place, rows = torch.where(mask[number])
            given = flat[None, rows].reshape(-1, 32)
            out.index_add_(0, rows, self.experts[number](given) * weights[rows, place, None])
        return out.reshape(2, 6, 32)


class BySparseGates(nn.Module):
    """2x6x32: top-2 of 4 experts"""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(32, 4)
        self.experts = nn.ModuleList(Expert() for _ in range(4))

    def forward(self, x):
        logits = self.router(x)
        values, chosen = logits.topk(2, dim=-1)
        gates = torch.zeros_like(logits).scatter(-1, chosen, F.softmax(values, dim=-1))
        return sum(gates[..., number, None] * expert(x) for number, expert in enumerate(self.experts))


class Block(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


class UNet(nn.Module):
    """1x3x32x32: U-Net · 4 levels"""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([Block(3, 4), Block(4, 8), Block(8, 16)])
        self.pool, self.middle = nn.MaxPool2d(2), Block(16, 16)
        self.grow = nn.ModuleList(nn.ConvTranspose2d(n, n, 2, stride=2) for n in (16, 16, 8))
        self.up = nn.ModuleList([Block(32, 16), Block(24, 8), Block(12, 4)])
        self.head = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = self.pool(x)
        x = self.middle(x)
        for grow, block in zip(self.grow, self.up, strict=True):
            x = block(torch.cat((kept.pop(), grow(x)), dim=1))
        return self.head(x)


class UNetByAdding(nn.Module):
    """1x3x16x16: U-Net · 3 levels"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = Block(3, 8), nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.Conv2d(8, 8, 3, 2, 1)
        self.d, self.e = Block(8, 8), Block(8, 8)

    def forward(self, x):
        one = self.a(x)
        two = self.b(one)
        three = F.relu(self.c(two))
        y = self.d(F.interpolate(three, scale_factor=2) + two)
        return self.e(F.interpolate(y, scale_factor=2, mode="bilinear") + one)


class Pyramid(nn.Module):
    """1x3x32x32: FPN · 3 levels"""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList(nn.Conv2d(n, m, 3, 2, 1) for n, m in ((3, 8), (8, 16), (16, 32)))
        self.lateral = nn.ModuleList(nn.Conv2d(n, 8, 1) for n in (8, 16, 32))
        self.smooth = nn.ModuleList(nn.Conv2d(8, 8, 3, 1, 1) for _ in range(3))

    def forward(self, x):
        levels = []
        for stage in self.stages:
            x = F.relu(stage(x))
            levels.append(x)
        top = self.lateral[2](levels[2])
        found = [self.smooth[2](top)]
        for n in (1, 0):
            top = self.lateral[n](levels[n]) + F.interpolate(top, size=levels[n].shape[-2:])
            found.append(self.smooth[n](top))
        return found


class Layer(nn.Module):
    def __init__(self, crossing: bool) -> None:
        super().__init__()
        self.own = nn.MultiheadAttention(32, 4, batch_first=True)
        self.other = nn.MultiheadAttention(32, 4, batch_first=True) if crossing else None
        self.norm = nn.LayerNorm(32)

    def forward(self, x, context=None):
        x = x + self.own(x, x, x)[0]
        if self.other is not None:
            x = x + self.other(x, context, context)[0]
        return self.norm(x)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(False) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(True) for _ in range(2))

    def forward(self, x, context):
        for layer in self.layers:
            x = layer(x, context)
        return x


class Translating(nn.Module):
    """2x6x32 2x5x32: encoder | decoder; 4 multi-head attention · 4 heads of 8; \
2 multi-head cross-attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = Encoder(), Decoder()

    def forward(self, source, target):
        return self.two(target, self.one(source))


class Squeezing(nn.Module):
    """1x16x8x8: squeeze-and-excitation · 4 of 16 channels"""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)

    def forward(self, x):
        scale = F.adaptive_avg_pool2d(x, 1)
        return x * torch.sigmoid(self.two(F.relu(self.one(scale))))


class SqueezingByLinear(nn.Module):
    """1x16x8x8: squeeze-and-excitation · 4 of 16 channels"""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 16), nn.Sigmoid())

    def forward(self, x):
        return x * self.net(x.mean((2, 3))).view(1, 16, 1, 1)


class Separable(nn.Module):
    """1x16x8x8: depthwise-separable convolution · 3×3"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm, self.b = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16), nn.Conv2d(16, 32, 1)

    def forward(self, x):
        return self.b(F.relu(self.norm(self.a(x))))


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(32))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Weighed(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(before, after)), nn.Parameter(torch.zeros(after))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.shape[:-1], self.bias.shape[0])


class ByOwnLayers(nn.Module):
    """2x6x32: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.all, self.back = Scaled(), Weighed(32, 96), Weighed(32, 32)

    def forward(self, x):
        q, k, v = self.all(self.norm(x)).split(32, dim=2)
        q, k, v = (each.view(2, 6, 4, 8).permute(0, 2, 1, 3) for each in (q, k, v))
        weights = torch.nn.functional.softmax(torch.matmul(q, k.transpose(-1, -2)) / 8**0.5, dim=-1).type(v.dtype)
        return x + self.back(torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous().view(2, 6, 32))


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(32, 32) for _ in range(3))

    def forward(self, x):
        q, k, v = (layer(x).view(2, 6, 4, 8).transpose(1, 2) for layer in (self.query, self.key, self.value))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 6, 32)


class Outer(nn.Module):
    """2x6x32: 2 multi-head attention · 4 heads of 8; 2 gated MLP · SiLU"""

    def __init__(self) -> None:
        super().__init__()
        self.attend, self.mlps = nn.ModuleList(Inner() for _ in range(2)), nn.ModuleList(SwiGLU() for _ in range(2))
        self.norm = nn.LayerNorm(32)

    def forward(self, x):
        for attend, mlp in zip(self.attend, self.mlps, strict=True):
            x = x + attend(self.norm(x))
            x = x + mlp(self.norm(x))
        return x


class ByGather(nn.Module):
    """2x6x32: top-2 of 4 experts; 4 gated MLP · SiLU"""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(32, 4, bias=False)
        self.bias = nn.Parameter(torch.zeros(4))
        self.experts = nn.ModuleList(SwiGLU() for _ in range(4))

    def forward(self, x):
        flat = x.reshape(-1, 32)
        scores = self.gate(flat).sigmoid()
        _, chosen = torch.topk(scores + self.bias, k=2, dim=-1)
        weights = scores.gather(1, chosen)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == number)
            out.index_add_(0, rows, expert(flat[rows]) * weights[rows, place].unsqueeze(-1))
        return out.view(2, 6, 32)


class OfSound(nn.Module):
    """1x2x64: U-Net · 3 levels"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Conv1d(2, 8, 3, padding=1), nn.Conv1d(8, 8, 4, 2, 1), nn.Conv1d(8, 8, 4, 2, 1)
        self.d, self.e = nn.Conv1d(16, 8, 3, padding=1), nn.Conv1d(16, 2, 3, padding=1)
        self.grow = nn.Upsample(scale_factor=2)

    def forward(self, x):
        one = F.relu(self.a(x))
        two = F.relu(self.b(one))
        three = F.relu(self.c(two))
        y = F.relu(self.d(torch.cat([self.grow(three), two], 1)))
        return self.e(torch.cat([self.grow(y), one], 1))


class Queried(nn.Module):
    """2x9x32: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.queries = nn.Embedding(5, 32)
        self.q, self.kv, self.o = nn.Linear(32, 32), nn.Linear(32, 64), nn.Linear(32, 32)

    def forward(self, x):
        q = self.q(self.queries.weight).view(1, 5, 4, 8).transpose(1, 2).expand(2, 4, 5, 8)
        k, v = self.kv(x).view(2, 9, 2, 4, 8).permute(2, 0, 3, 1, 4)
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 5, 32))


class TranslatingByBlocks(nn.Module):
    """2x6x32 2x5x32: encoder | decoder; 4 multi-head attention · 4 heads of 8; \
2 multi-head cross-attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.ModuleList(Layer(False) for _ in range(2))
        self.two = nn.ModuleList(Layer(True) for _ in range(2))

    def forward(self, source, target):
        for layer in self.one:
            source = layer(source)
        for layer in self.two:
            target = layer(target, source)
        return target


class Encoding(nn.Module):
    """Two layers, and one for what is compared."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        self.score = nn.Linear(4, 1)


class Twins(Encoding):
    """2x8 2x8: siamese · 2 branches"""

    def forward(self, left, right):
        return self.score((self.encoder(left) - self.encoder(right)).abs())


class Triplet(Encoding):
    """2x8 2x8 2x8: siamese · 3 branches"""

    def forward(self, anchor, same, other):
        a, b, c = self.encoder(anchor), self.encoder(same), self.encoder(other)
        return F.pairwise_distance(a, b) - F.pairwise_distance(a, c)


class Contrasted(Encoding):
    """2x8 2x8: siamese · 2 branches"""

    def __init__(self) -> None:
        super().__init__()
        self.projector = nn.Linear(4, 4)

    def forward(self, left, right):
        one, two = (F.normalize(self.projector(self.encoder(each)), dim=-1) for each in (left, right))
        return torch.mm(one, two.t())


class TwinsOfTwoScales(Encoding):
    """2x8 2x8: siamese · 2 branches"""

    def forward(self, left, right):
        one, two = (self.encoder(each) + self.encoder(each * 2) for each in (left, right))
        return torch.cat([one, two], dim=0)


class TwinsOfLayersAndViews(Encoding):
    """2x8 2x8: siamese · 2 branches"""

    def forward(self, left, right):
        one, two = (self.score(self.encoder(each).relu()).view(-1, 1)[:, :1].softmax(0) for each in (left, right))
        return (one - two).pow(2)


class TwinsOfTwoLayers(Encoding):
    """2x8 2x8: siamese · 2 branches"""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, left, right):
        return self.score(self.last(self.first(left)) * self.last(self.first(right)))
