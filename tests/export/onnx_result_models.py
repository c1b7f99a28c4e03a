"""Live models of `test_onnx_results.py`, in a file that imports little: what it imports is followed wherever one of them is predicted."""

from __future__ import annotations

import torch
from torch import nn


class Gives(nn.Module):
    """`fc`, and what a function makes of the input and the layer's result."""

    def __init__(self, give):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.gain = nn.Parameter(torch.tensor([3.0, 1.0]))
        self.give = give

    def forward(self, x):
        return self.give(self, x, self.fc(x))


class Normed(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.norm = nn.BatchNorm1d(4, **options)
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(self.norm(x))


class Remembers(nn.Module):
    """A buffer that is counted up and given, a number and a tensor kept on the module, an input that is written into."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(1))
        self.steps, self.last = 0, None

    def forward(self, x):
        x.add_(1)
        self.count.add_(1)
        self.steps += 1
        self.last = self.fc(x)
        return self.last, self.count


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count.add_(1)
        return x * 2, self.count


class TwoMore(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, a=None, b=None):
        return self.fc(x) + a - 2 * b


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, 8)
        self.blocks = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8))

    def forward(self, ids):
        return self.blocks(self.emb(ids)).float()
