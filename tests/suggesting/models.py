"""Models of which names are proposed, and which are built to judge them."""

import torch
from torch import nn


class Scaled(nn.Linear):
    def forward(self, x):
        return super().forward(x) * 2


class Positions(nn.Embedding):
    def forward(self, x):
        return super().forward(x + 2)


class Turned(nn.Module):
    """Linear, with the weight stored as (in, out)."""

    def __init__(self, n_out, n_in):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.shape[:-1], self.bias.shape[0])


class Block(nn.Module):
    def __init__(self, width=32, number=0):
        super().__init__()
        self.number = number
        self.norm = nn.LayerNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.v = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x):
        y = self.norm(x)
        return x + self.mlp(self.q(y) * self.v(y))


class Text(nn.Module):
    def __init__(self, tied=False):
        super().__init__()
        self.embedding = nn.Embedding(48, 32)
        self.blocks = nn.ModuleList([Block(32, number) for number in range(3)])
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 48, bias=False)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Tied(Text):
    def __init__(self):
        super().__init__(tied=True)


class Chain(nn.Module):
    """A sequence in which layers of one group stand between those of another."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.BatchNorm2d(16), nn.PReLU()
        )
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.GroupNorm(2, width)

    def forward(self, x):
        return x + self.norm(self.conv(x))


class Stage(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.down = nn.Conv2d(width // 2, width, 1)
        self.blocks = nn.Sequential(*[Residual(width) for _ in range(depth)])

    def forward(self, x):
        return self.blocks(self.down(x))


class Stages(nn.Module):
    """Frames of unlike sizes around the blocks."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.stages = nn.ModuleList([Stage(16, 2), Stage(32, 3)])

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return x


class Attention(nn.Module):
    """Of torch's own layers."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(20, 16)
        self.cell = nn.LSTM(16, 16, num_layers=2)
        self.mix = nn.Bilinear(16, 16, 4)

    def forward(self, ids):
        x, _ = self.cell(self.words(ids)[None])
        return self.mix(x, x)


class Derived(nn.Module):
    """Layers that derive from torch's."""

    def __init__(self):
        super().__init__()
        self.positions = Positions(20, 16)
        self.blocks = nn.Sequential(*[nn.Sequential(Scaled(16, 16), nn.ReLU()) for _ in range(3)])

    def forward(self, ids):
        return self.blocks(self.positions(ids))


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = Turned(48, 16)
        self.out = nn.Linear(48, 16)
        self.experts = nn.Parameter(torch.zeros(2, 16, 16))
        self.table = nn.Parameter(torch.zeros(4, 16))

    def forward(self, x):
        x = self.out(self.proj(x))
        return x @ self.experts[1] + self.table[0]


class Loose(nn.Module):
    """Weights that no layer of torch holds."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 16))
        self.parts = nn.ModuleDict({"one": Part(), "two": Part()})

    def forward(self, x):
        x = x + self.token
        return self.parts["two"](self.parts["one"](x))


class Named(nn.Module):
    """Blocks whose names differ in a number, and a name that also means what is no layer."""

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(16, 16)
            self.side = nn.Module()
            self.side.gate = nn.LayerNorm(16)

        def forward(self, x):
            return self.side.gate(self.gate(x))

    def __init__(self):
        super().__init__()
        self.layer1 = Named.Inner()
        self.layer2 = Named.Inner()
        self.gate = nn.LayerNorm(16)

    def forward(self, x):
        return self.gate(self.layer2(self.layer1(x)))


class Shared(nn.Module):
    """One block under several names."""

    def __init__(self):
        super().__init__()
        block = Block(32)
        self.first = nn.ModuleList([block, Block(32), block])
        self.again = block

    def forward(self, x):
        for block in self.first:
            x = block(x)
        return self.again(x)


class Expert(nn.Sequential):
    """A block that is a sequence itself, so that its layers are called by numbers."""

    def __init__(self):
        super().__init__(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 3)
        self.experts = nn.ModuleList([Expert() for _ in range(3)])

    def forward(self, x):
        return sum(expert(x) * weight for expert, weight in zip(self.experts, self.gate(x).mean(0), strict=True))
