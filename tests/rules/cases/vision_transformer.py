"""A transformer whose blocks are one block."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x):
        y = self.norm(x)
        return x + self.attention(y, y, y)[0]


class Encoder(nn.Module):
    def __init__(self, width=64, heads=4, depth=6, device=None):
        super().__init__()
        self.class_token = nn.Parameter(torch.zeros(1, 1, width)).to(device)  # finds MG103
        self.position = nn.Parameter(torch.randn(1, 197, width)) * 0.02  # finds MG103
        self.blocks = nn.Sequential(*[Block(width, heads)] * depth)  # finds MG105
        self.mask_token = nn.Parameter(torch.zeros(1, 1, width).to(device))
        self.start = nn.Parameter(torch.randn(1, width)).data.clone()
        self.activations = nn.ModuleList([nn.GELU()] * depth)
        self.widths = [width] * depth


class RecurrentEncoder(nn.Module):
    def __init__(self, width=64, heads=4, depth=6):
        super().__init__()
        self.shared = Block(width, heads)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.depth = depth

    def forward(self, x):
        for _ in range(self.depth):
            x = self.shared(x)
        return x
