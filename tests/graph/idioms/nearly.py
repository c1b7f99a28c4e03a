"""Models that nearly have an idiom: one thing is otherwise, so that it is none."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Attending(nn.Module):
    """Four projections, cut into four heads."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32) for _ in range(4))

    def cut(self, x, heads=4):
        return x.view(2, 6, heads, -1).transpose(1, 2)

    def joined(self, x):
        return self.o(x.transpose(1, 2).reshape(2, 6, 32))


class OverQueries(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        return self.joined((q @ k.transpose(2, 3)).softmax(dim=-2) @ v)


class OverHeads(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        return self.joined((q @ k.transpose(2, 3)).softmax(dim=1) @ v)


class Transposed(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        return self.joined((q @ k.transpose(2, 3)).softmax(-1).transpose(2, 3) @ v)


class UnusedScores(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        weights = (q @ k.transpose(2, 3)).softmax(-1)
        return self.joined(v), weights


class NoSoftmax(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        return self.joined((q @ k.transpose(2, 3)).sigmoid() @ v)


class RawScores(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        scores = q @ k.transpose(2, 3)
        return self.joined(scores @ v) + scores.softmax(-1).sum()


class NoValues(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k = self.cut(self.q(x)), self.cut(self.k(x))
        return (q @ k.transpose(2, 3)).softmax(-1).mean(1) @ x


class ValuesAsTheyAre(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k = self.cut(self.q(x)), self.cut(self.k(x))
        return self.joined(F.scaled_dot_product_attention(q, k, self.cut(x)))


class ValuesOfBefore(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        x = self.v(x)
        q, k = self.cut(self.q(x)), self.cut(self.k(x))
        return self.joined(F.scaled_dot_product_attention(q, k, self.cut(x)))


class KeysAreValues(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k = self.cut(self.q(x)), self.cut(self.k(x))
        return self.joined((q @ k.transpose(2, 3)).softmax(-1) @ k)


class QueriesAreKeys(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, v = self.cut(self.q(x)), self.cut(self.v(x))
        return self.joined((q @ q.transpose(2, 3)).softmax(-1) @ v)


class OneHead(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x), 1), self.cut(self.k(x), 1), self.cut(self.v(x), 1)
        return self.joined(F.scaled_dot_product_attention(q, k, v))


class NoHeads(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        return self.o((q @ k.transpose(1, 2) / 32**0.5).softmax(-1) @ v)


class HeadsOfTime(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = (layer(x).view(2, 3, 2, 32) for layer in (self.q, self.k, self.v))
        return self.o(F.scaled_dot_product_attention(q, k, v).reshape(2, 6, 32))


class OneFused(nn.Module):
    """2x6x32: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(32, 96)

    def forward(self, x):
        parts = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (each.view(2, 6, 4, 8).transpose(1, 2) for each in (parts[0], parts[1], parts[1]))
        return F.scaled_dot_product_attention(q, k, v)


class HeadsThatTalk(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        heads = q.transpose(1, 2) @ k.transpose(1, 2).transpose(2, 3)
        return self.o((heads.softmax(-1) @ v.transpose(1, 2)).reshape(2, 6, 32))


class OneOfTorch(nn.Module):
    """2x6x32: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(32, 1, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x)[0]


class Summed(nn.Module):
    """Three layers of a gated MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(32, 48), nn.Linear(32, 48), nn.Linear(48, 32)
        self.both = nn.Linear(32, 96)


class GateAdded(Summed):
    """2x6x32: nothing"""

    def forward(self, x):
        return self.c(F.silu(self.a(x)) + self.b(x))


class GateLinear(Summed):
    """2x6x32: nothing"""

    def forward(self, x):
        return self.c(self.a(x) * self.b(x))


class GateBehind(Summed):
    """2x6x32: nothing"""

    def forward(self, x):
        return self.c(F.silu(self.a(x) * self.b(x)))


class SameHalf(Summed):
    """2x6x32: nothing"""

    def forward(self, x):
        one, _ = self.both(x).chunk(2, dim=-1)
        return self.c(F.silu(one) * one)


class SameLayer(Summed):
    """2x6x32: nothing"""

    def forward(self, x):
        return self.c(F.silu(self.a(x)) * self.a(x))


class OfOthers(nn.Module):
    """2x6x32 2x6x32: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(32, 48), nn.Linear(32, 48), nn.Linear(48, 32)

    def forward(self, x, y):
        return self.c(F.silu(self.a(x)) * self.b(y))


class NotBack(Summed):
    """2x6x32: nothing"""

    def forward(self, x):
        return F.silu(self.a(x)) * self.b(x)


class PlainMLP(Summed):
    """2x6x32: nothing"""

    def forward(self, x):
        return self.c(F.silu(self.a(x)) * 2.0)


class GluOverTime(nn.Module):
    """2x6x32: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(32, 48), nn.Linear(48, 32)

    def forward(self, x):
        return self.b(F.glu(self.a(x), dim=1))


class Turning(nn.Module):
    """A layer, and angles."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.other = nn.Linear(8, 8), nn.Linear(8, 8)

    def angles(self):
        angles = torch.arange(6)[:, None] * 0.1 ** torch.arange(4)
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()


class WrongSign(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        cos, sin = self.angles()
        return x * cos + torch.cat((x[..., 4:], -x[..., :4]), dim=-1) * sin


class NoSign(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        cos, sin = self.angles()
        return x * cos + torch.cat((x[..., 4:], x[..., :4]), dim=-1) * sin


class NotSwapped(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        cos, sin = self.angles()
        return x * cos + torch.cat((-x[..., :4], x[..., 4:]), dim=-1) * sin


class CosineForSine(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        cos, sin = self.angles()
        return x * sin + torch.cat((-x[..., 4:], x[..., :4]), dim=-1) * cos


class Subtracted(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        cos, sin = self.angles()
        return x * cos - torch.cat((-x[..., 4:], x[..., :4]), dim=-1) * sin


class AnglesOfData(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        angles = self.other(x)
        x = self.layer(x)
        return x * angles.cos() + torch.cat((-x[..., 4:], x[..., :4]), dim=-1) * angles.sin()


class TwoAngles(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        angles = torch.arange(6)[:, None] * 0.1 ** torch.arange(8)
        other = torch.arange(6)[:, None] * 0.2 ** torch.arange(8)
        return x * angles.cos() + torch.cat((-x[..., 4:], x[..., :4]), dim=-1) * other.sin()


class PairsWithWrongSign(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        angles = torch.arange(6)[:, None] * 0.1 ** torch.arange(4)
        cos, sin = angles.cos(), angles.sin()
        one, two = x[..., ::2], x[..., 1::2]
        return torch.stack((one * cos + two * sin, one * sin + two * cos), dim=-1).flatten(-2)


class ChunksSwapped(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        cos, sin = self.angles()
        one, two = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-one, two), dim=-1) * sin


class AnyNumbers(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        factor = torch.complex(torch.ones(6, 4), torch.ones(6, 4))
        return torch.view_as_real(torch.view_as_complex(x.reshape(2, 6, 4, 2)) * factor).flatten(2)


class NotCached(nn.Module):
    """2x1x32 2x4x5x8 2x4x5x8: multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32) for _ in range(4))

    def forward(self, x, keys, values):
        q, k, v = (layer(x).view(2, 1, 4, 8).transpose(1, 2) for layer in (self.q, self.k, self.v))
        k, v = torch.cat((keys, k), dim=2), torch.cat((values, v), dim=2)
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 1, 32))


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(32, 48), nn.Linear(48, 32)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class Mixing(nn.Module):
    """A router and four experts."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(32, 4)
        self.experts = nn.ModuleList(Expert() for _ in range(4))


class AllWork(Mixing):
    """2x6x32: nothing"""

    def forward(self, x):
        gates = F.softmax(self.gate(x), dim=-1)
        best, chosen = gates.topk(2, dim=-1)
        out = sum(gates[..., n, None] * expert(x) for n, expert in enumerate(self.experts))
        return out, best, chosen


class FirstWork(Mixing):
    """2x6x32: nothing"""

    def forward(self, x):
        best, _ = self.gate(x).topk(2, dim=-1)
        weights = best.softmax(-1)
        return sum(weights[..., n, None] * self.experts[n](x) for n in range(2))


class ChosenAmiss(Mixing):
    """2x6x32: nothing"""

    def forward(self, x):
        flat = x.view(-1, 32)
        best, _ = self.gate(flat).topk(2, dim=-1)
        weights = best.softmax(-1)
        chosen = torch.arange(24).view(12, 2) % 4
        out = torch.zeros_like(flat)
        for n, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == n)
            out[rows] += weights[rows, place, None] * expert(flat[rows])
        return out


class NotWeighed(Mixing):
    """2x6x32: nothing"""

    def forward(self, x):
        flat = x.view(-1, 32)
        _, chosen = self.gate(flat).topk(2, dim=-1)
        out = torch.zeros_like(flat)
        for n, expert in enumerate(self.experts):
            rows, _ = torch.where(chosen == n)
            out[rows] += expert(flat[rows])
        return out


class Worst(Mixing):
    """2x6x32: nothing"""

    def forward(self, x):
        flat = x.view(-1, 32)
        best, chosen = self.gate(flat).topk(2, dim=-1, largest=False)
        weights = best.softmax(-1)
        out = torch.zeros_like(flat)
        for n, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == n)
            out[rows] += weights[rows, place, None] * expert(flat[rows])
        return out


class OverTokens(Mixing):
    """2x6x32: nothing"""

    def forward(self, x):
        flat = x.view(-1, 32)
        best, chosen = self.gate(flat).topk(2, dim=0)
        out = torch.zeros_like(flat)
        for n, expert in enumerate(self.experts):
            rows = chosen[:, n]
            out[rows] += best[:, n, None] * expert(flat[rows])
        return out


class Block(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


class NoSkips(nn.Module):
    """1x3x16x16: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d, self.e = Block(3, 8), Block(8, 8), Block(8, 8), Block(8, 8), Block(8, 3)
        self.one, self.two = (nn.ConvTranspose2d(8, 8, 2, stride=2) for _ in range(2))

    def forward(self, x):
        x = self.c(F.max_pool2d(self.b(F.max_pool2d(self.a(x), 2)), 2))
        return self.e(self.two(self.d(self.one(x))))


class SkipsToItself(NoSkips):
    """1x3x16x16: nothing"""

    def forward(self, x):
        x = self.c(F.max_pool2d(self.b(F.max_pool2d(self.a(x), 2)), 2))
        x = self.one(x)
        x = self.two(self.d(x + F.relu(x)))
        return self.e(x + F.relu(x))


class SkipsOfOthers(NoSkips):
    """1x3x16x16 1x8x8x8 1x8x16x16: nothing"""

    def forward(self, x, y, z):
        x = self.c(F.max_pool2d(self.b(F.max_pool2d(self.a(x), 2)), 2))
        return self.e(self.two(self.d(self.one(x) + y)) + z)


class OneSkip(NoSkips):
    """1x3x16x16: nothing"""

    def forward(self, x):
        one = self.a(x)
        y = self.c(F.max_pool2d(self.b(F.max_pool2d(one, 2)), 2))
        return self.e(self.two(self.d(self.one(y))) + one)


class SameSizes(NoSkips):
    """1x3x16x16: nothing"""

    def forward(self, x):
        one = self.a(x)
        two = self.b(one)
        return self.e(self.d(self.c(two) + two) + one)


class Levels(nn.Module):
    """Levels of one width."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList(nn.Conv2d(n, m, 3, 2, 1) for n, m in ((3, 8), (8, 16), (16, 32)))
        self.lateral = nn.ModuleList(nn.Conv2d(n, 8, 1) for n in (8, 16, 32))
        self.smooth = nn.ModuleList(nn.Conv2d(8, 8, 3, 1, 1) for _ in range(3))

    def levels(self, x):
        found = []
        for stage in self.stages:
            x = F.relu(stage(x))
            found.append(x)
        return [lateral(each) for lateral, each in zip(self.lateral, found, strict=True)]


class LevelsApart(Levels):
    """1x3x32x32: nothing"""

    def forward(self, x):
        return [smooth(each) for smooth, each in zip(self.smooth, self.levels(x), strict=True)]


class LevelsPooled(Levels):
    """1x3x32x32: nothing"""

    def forward(self, x):
        one, two, three = self.levels(x)
        two = two + F.max_pool2d(one, 2)
        three = three + F.max_pool2d(two, 2)
        return self.smooth[0](one), self.smooth[1](two), self.smooth[2](three)


class LevelsSummed(Levels):
    """1x3x32x32: nothing"""

    def forward(self, x):
        one, two, three = self.levels(x)
        return self.smooth[0](one + F.interpolate(two, scale_factor=2) + F.interpolate(three, scale_factor=4))


class LevelsUnsummed(Levels):
    """1x3x32x32: nothing"""

    def forward(self, x):
        one, two, three = self.levels(x)
        two = self.smooth[1](F.interpolate(three, scale_factor=2))
        return self.smooth[2](three), two, self.smooth[0](F.interpolate(two, scale_factor=2)), one


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.own, self.norm = nn.MultiheadAttention(32, 4, batch_first=True), nn.LayerNorm(32)

    def forward(self, x, context=None):
        return self.norm(x + self.own(x, x, x)[0])


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(2))

    def forward(self, x, context=None):
        for layer in self.layers:
            x = layer(x, context)
        return x


class Unheard(nn.Module):
    """2x6x32 2x5x32: 4 multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = Stack(), Stack()

    def forward(self, source, target):
        memory = self.encoder(source)
        return self.decoder(target, memory)


class Following(nn.Module):
    """2x6x32: 4 multi-head attention · 4 heads of 8"""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = Stack(), Stack()

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Gating(nn.Module):
    """Two layers for the channels."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)


class NotPooled(Gating):
    """1x16x8x8: nothing"""

    def forward(self, x):
        return x * torch.sigmoid(self.two(F.relu(self.one(x))))


class PooledByMaximum(Gating):
    """1x16x8x8: nothing"""

    def forward(self, x):
        return x * torch.sigmoid(self.two(F.relu(self.one(F.adaptive_max_pool2d(x, 1)))))


class ExcitedByAdding(Gating):
    """1x16x8x8: nothing"""

    def forward(self, x):
        return x + torch.sigmoid(self.two(F.relu(self.one(F.adaptive_avg_pool2d(x, 1)))))


class OfAnother(Gating):
    """1x16x8x8 1x16x8x8: nothing"""

    def forward(self, x, y):
        return x * torch.sigmoid(self.two(F.relu(self.one(F.adaptive_avg_pool2d(y, 1)))))


class NotExcited(Gating):
    """1x16x8x8: nothing"""

    def forward(self, x):
        return x * self.two(F.relu(self.one(F.adaptive_avg_pool2d(x, 1))))


class Grouped(nn.Module):
    """1x16x8x8: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(16, 16, 3, padding=1, groups=4), nn.Conv2d(16, 32, 1)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


class Widened(nn.Module):
    """1x16x8x8: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 32, 3)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


class ReadTwice(nn.Module):
    """1x16x8x8: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 16, 1)

    def forward(self, x):
        y = self.a(x)
        return self.b(y) + y


class AngleForEach(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        angles = torch.arange(6)[:, None] * 0.1 ** torch.arange(8)
        return x * angles.cos() + torch.cat((-x[..., 4:], x[..., :4]), dim=-1) * angles.sin()


class AnglesBesideForHalves(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        angles = (torch.arange(6)[:, None] * 0.1 ** torch.arange(4)).repeat_interleave(2, dim=-1)
        return x * angles.cos() + torch.cat((-x[..., 4:], x[..., :4]), dim=-1) * angles.sin()


class HalvesOfAnglesForPairs(Turning):
    """2x6x8: nothing"""

    def forward(self, x):
        x = self.layer(x)
        cos, sin = self.angles()
        return x * cos + torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2) * sin


class ValuesOfOthers(nn.Module):
    """2x6x32 2x6x32: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32) for _ in range(4))

    def forward(self, x, y):
        q, k, v = (each.view(2, 6, 4, 8).transpose(1, 2) for each in (self.q(x), self.k(x), self.v(y)))
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 6, 32))


class SwappedAcross(nn.Module):
    """2x6x32 2x6x32: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32) for _ in range(4))

    def forward(self, x, context):
        q, k, v = (each.view(2, 6, 4, 8).transpose(1, 2) for each in (self.q(x), self.k(context), self.v(context)))
        weights = (k @ q.transpose(2, 3)).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).reshape(2, 6, 32))


class WeighedScores(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        weights = (q @ k.transpose(2, 3)).softmax(-1)
        return self.joined((weights * x.mean()) @ v)


class MaximumOfScores(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        scores = q @ k.transpose(2, 3)
        return self.joined((scores == scores.amax(-1, keepdim=True)).float() @ v)


class Elementwise(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        return self.joined((q * k).softmax(-1) * v)


class SoftmaxOfKeys(Attending):
    """2x6x32: nothing"""

    def forward(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        return self.joined(q.softmax(-1) @ (k.softmax(-2).transpose(2, 3) @ v))


class GateOfSoftmax(Summed):
    """2x6x32: nothing"""

    def forward(self, x):
        return self.c(self.a(x).softmax(-1) * self.b(x))


class GateOfItself(Summed):
    """2x6x32: nothing"""

    def forward(self, x):
        y = self.a(x)
        return self.c(F.silu(y) * y)


class GateOfInput(nn.Module):
    """2x6x32: nothing"""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(32, 32), nn.Linear(32, 32)

    def forward(self, x):
        return self.b(torch.sigmoid(self.a(x)) * x)


class OneOfFourWorks(Mixing):
    """2x6x32: nothing"""

    def forward(self, x):
        flat = x.view(-1, 32)
        best, chosen = self.gate(flat).topk(2, dim=-1)
        weights = best.softmax(-1)
        out = torch.zeros_like(flat)
        for n in range(4):
            rows, place = torch.where(chosen == n)
            out[rows] += weights[rows, place, None] * self.experts[0](flat[rows])
        return out


class TwoOfFourWork(Mixing):
    """2x6x32: nothing"""

    def forward(self, x):
        flat = x.view(-1, 32)
        best, chosen = self.gate(flat).topk(2, dim=-1)
        weights = best.softmax(-1)
        out = torch.zeros_like(flat)
        for n in range(2):
            rows, place = torch.where(chosen == n)
            out[rows] += weights[rows, place, None] * self.experts[n](flat[rows])
        return out


class AllAreTheFirst(Mixing):
    """2x6x32: nothing"""

    def forward(self, x):
        flat = x.view(-1, 32)
        best, chosen = self.gate(flat).topk(2, dim=-1)
        weights = best.softmax(-1)
        out = torch.zeros_like(flat)
        for expert in self.experts:
            rows, place = torch.where(chosen == 0)
            out[rows] += weights[rows, place, None] * expert(flat[rows])
        return out


class ScoresOfOtherRows(Mixing):
    """2x6x32: nothing"""

    def forward(self, x):
        flat = x.view(-1, 32)
        best, chosen = self.gate(flat).topk(2, dim=-1)
        weights = best.softmax(-1)
        out = torch.zeros_like(flat)
        for n, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == n)
            out[rows] += weights[place, 0, None] * expert(flat[rows])
        return out


class Encoding(nn.Module):
    """Two layers, and further ones of the same sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.other = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.more, self.last, self.norm = nn.Linear(8, 8), nn.Linear(8, 8), nn.LayerNorm(8)
        self.sloped, self.lstm = Sloped(), nn.LSTM(8, 8, batch_first=True)
        self.scale, self.shift = nn.Parameter(torch.ones(8)), nn.Parameter(torch.ones(8))


class Sloped(nn.Module):
    """A network of which an argument says what it does."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x, is_steep=False):
        return self.two(F.leaky_relu(self.one(x), 0.5 if is_steep else 0.1))


class TwoTowers(Encoding):
    """2x8 2x8: nothing"""

    def forward(self, left, right):
        return (self.encoder(left) * self.other(right)).sum(-1)


class TowersWithOneEnd(Encoding):
    """2x8 2x8: nothing"""

    def forward(self, left, right):
        return (self.more(self.encoder(left)) * self.more(self.other(right))).sum(-1)


class TwiceTheSameInput(Encoding):
    """2x8: nothing"""

    def forward(self, x):
        return self.encoder(x) + self.encoder(x.flip(-1))


class OneBehindTheOther(Encoding):
    """2x8 2x8: nothing"""

    def forward(self, left, right):
        return self.encoder(self.encoder(left) + right)


class TwinsThatNeverMeet(Encoding):
    """2x8 2x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left), self.encoder(right)


class OneHasALayerMore(Encoding):
    """2x8 2x8: nothing"""

    def forward(self, left, right):
        return self.more(self.encoder(left)) - self.encoder(right)


class OtherOrderOfTheSame(Encoding):
    """2x8 2x8: nothing"""

    def forward(self, left, right):
        return self.more(self.encoder(left)) - self.encoder(self.more(right))


class OtherOrderOfThree(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.more(self.norm(self.more(self.encoder(left)))) - self.norm(
            self.more(self.more(self.encoder(right)))
        )


class OtherOrderOfTwoBetween(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        one = self.more(self.last(self.more(self.norm(self.more(self.encoder(left))))))
        return one - self.more(self.norm(self.more(self.last(self.more(self.encoder(right))))))


class MeansOverOtherDimensions(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left).mean(0) - self.encoder(right).mean(1)


class OtherPowers(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left).pow(2) - self.encoder(right).pow(3)


class OtherNumbersAdded(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return (self.encoder(left) + 1) - (self.encoder(right) + 7)


class SubtractedTheOtherWayRound(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return (1 - self.encoder(left)) * (self.encoder(right) - 1)


class OtherHalves(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left)[:, :4] @ self.encoder(right)[:, 4:].t()


class OtherChunks(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left).chunk(2, -1)[0] - self.encoder(right).chunk(2, -1)[1]


class SoftmaxOverOtherDimensions(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return F.softmax(self.encoder(left), 0) @ F.softmax(self.encoder(right), 1).t()


class OtherSlopes(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return F.leaky_relu(self.encoder(left), 0.1) - F.leaky_relu(self.encoder(right), 0.9)


class OtherTablesOfTheModel(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left) * self.scale - self.encoder(right) * self.shift


class TurnedBefore(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left) - self.encoder(right.t())


class TurnedBehind(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left) - self.encoder(right).t()


class OtherPlacesOfOne(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left) / self.more(left) - self.more(right) / self.encoder(right)


class OneDetached(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return F.mse_loss(self.encoder(left), self.encoder(right).detach())


class CellOfAnRNN(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return torch.tanh(self.more(left) + self.more(right))


class SharedProjection(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return F.scaled_dot_product_attention(self.more(left), self.more(right), right)


class OneMeetsRawToo(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left) + self.encoder(right) + right


class LayersWithOtherFlags(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.sloped(left, True) - self.sloped(right)


class OtherStatesOfAnLSTM(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.lstm(left[None])[1][0] - self.lstm(right[None])[1][1]


class OtherBounds(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left).clamp(0, 1) - self.encoder(right).clamp(0, 2)


class OtherViews(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left).view(4, 16).t().reshape(-1) - self.encoder(right).reshape(-1)


class TheLeastAndTheMost(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left).topk(2)[0] - self.encoder(right).topk(2, largest=False)[0]


class OtherTensorsOfTheirOwn(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left) * torch.tensor(2.0) - self.encoder(right) * torch.tensor(3.0)


class OneOfOtherType(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left).double() - self.encoder(right)


class OtherDeviations(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left).std(0) - self.encoder(right).std(0, unbiased=False)


class OtherArmsOfWhere(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return torch.where(left > 0, self.encoder(left), left) - torch.where(right > 0, right, self.encoder(right))


class OtherRowsChosen(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left)[[0, 1]] - self.encoder(right)[[2, 3]]


class OtherOnesExpanded(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left)[:, None].expand(8, 8, 8) - self.encoder(right)[None].expand(8, 8, 8)


class ValuesAndPlaces(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left).max(0)[0] - self.encoder(right).max(0)[1]


class PutTogetherOtherwise(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return torch.cat([self.encoder(left), self.more(left)], 1) - torch.cat(
            [self.more(right), self.encoder(right)], 1
        )


class BaseAndExponent(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return 2 ** self.encoder(left) - self.encoder(right) ** 2


class OtherFactorsOfAnAddition(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return self.encoder(left).add(left, alpha=2) - self.encoder(right).add(right, alpha=3)


class OtherEquations(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return torch.einsum("ij->j", self.encoder(left)) - torch.einsum("ij->i", self.encoder(right))


class OtherDropouts(Encoding):
    """8x8 8x8: nothing"""

    def forward(self, left, right):
        return F.dropout(self.encoder(left), 0.1, True) - F.dropout(self.encoder(right), 0.9, True)
