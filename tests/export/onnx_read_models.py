"""Live models of `test_onnx_read_back.py`, in a file that imports little: what it imports is followed wherever one of them is predicted."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.act = nn.GELU()
        self.drop = nn.Dropout()
        self.b = nn.Linear(16, 4)

    def forward(self, x):
        return self.b(self.drop(self.act(self.a(x))))


class Residual(nn.Module):
    def __init__(self, width: int, down: bool):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.down = nn.Conv2d(width, width, 1) if down else None

    def forward(self, x):
        y = self.conv2(self.relu(self.bn1(self.conv1(x))))
        return self.relu(y + (x if self.down is None else self.down(x)))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Residual(4, True), Residual(4, False), Residual(4, False)])
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.never = nn.Linear(3, 3)
        self.head = nn.Sequential(nn.Flatten(), nn.Identity(), nn.Linear(4, 2))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(self.pool(x))


class Attention(nn.Module):
    def __init__(self, width: int, length: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (each.view(n, t, 2, c // 2).transpose(1, 2) for each in self.qkv(x).split(c, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (c // 2) ** -0.5
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = (functional.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(n, t, c)
        return self.drop(self.proj(y))


class Block(nn.Module):
    def __init__(self, width: int, length: int):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(width), Attention(width, length)
        self.ln2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Decoder(nn.Module):
    """A GPT: tied weights, a causal mask, dropout after sums."""

    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(11, 8), nn.Embedding(6, 8)
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.ModuleList([Block(8, 6) for _ in range(2)])
        self.ln = nn.LayerNorm(8)
        self.lm_head = nn.Linear(8, 11, bias=False)
        self.lm_head.weight = self.tok.weight

    def forward(self, ids):
        x = self.drop(self.tok(ids) + self.pos(torch.arange(ids.shape[1])))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln(x))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, num_layers=2, batch_first=True)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        y, _ = self.lstm(x)
        return self.head(y[:, -1])


class Several(nn.Module):
    """Two inputs, two outputs, a parameter of the model's own."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 6), nn.Linear(5, 6)
        self.scale = nn.Parameter(torch.rand(6))
        self.out = nn.Linear(6, 2)

    def forward(self, a, b):
        both = self.left(a) * self.scale + self.right(b)
        return self.out(both), both.sum(dim=-1)


class Shared(nn.Module):
    """One layer under two names, called three times, with a dropout that is called as often."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.act = nn.ReLU()
        self.drop = nn.Dropout()
        self.second = self.first

    def forward(self, x):
        for layer in (self.first, self.second, self.first):
            x = self.drop(self.act(layer(x)))
        return x


class Gate(nn.Module):
    """Several operators and no module inside."""

    def forward(self, x):
        return x * torch.sigmoid(x) + 1


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.Sequential(nn.Linear(4, 4), Gate(), nn.Dropout(), nn.Dropout(), Gate())

    def forward(self, x):
        return self.gates(x) - x


class Between(nn.Module):
    """A dropout between two operations: no call beside it tells where it stood."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()

    def forward(self, x):
        return self.drop(x * 2) + x
