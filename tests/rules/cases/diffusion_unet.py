"""A U-net with time embedding: the way down is registered, the way up is not."""

import torch
from torch import nn


class TimeEmbedding(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("frequencies", torch.linspace(0, 1, width // 2))
        self.project = nn.Sequential(nn.Linear(width, width), nn.SiLU())

    def forward(self, t):
        angles = t[:, None] * self.frequencies
        return self.project(torch.cat([angles.sin(), angles.cos()], dim=-1))


class Residual(nn.Module):
    def __init__(self, incoming, outgoing, width):
        super().__init__()
        self.conv = nn.Conv2d(incoming, outgoing, 3, padding=1)
        self.time = nn.Linear(width, outgoing)


class UNet(nn.Module):
    def __init__(self, channels=(32, 64, 128), width=64, attention_at=(2,)):
        super().__init__()
        self.time = TimeEmbedding(width)
        self.down = nn.ModuleList()
        self.up = []  # finds MG101
        for incoming, outgoing in zip(channels, channels[1:]):
            self.down.append(nn.ModuleList([Residual(incoming, outgoing, width), nn.Conv2d(outgoing, outgoing, 2, 2)]))
            self.up.insert(0, Residual(outgoing, incoming, width))
        self.attention = {}  # finds MG101
        for level in attention_at:
            self.attention[level] = nn.MultiheadAttention(channels[level], 4)

    def forward(self, x, t):
        return x
