"""Convolutional feature extraction with (conv, norm) pairs, and prompts kept in a list of lists."""

import torch
from torch import nn


class Extractor(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.layers = []  # finds MG101
        incoming = 1
        for width in (16, 32):
            self.layers.append((nn.Conv1d(incoming, width, 3), nn.GroupNorm(1, width), "relu"))
            incoming = width

    def forward(self, x):
        for conv, norm, _ in self.layers:
            x = norm(conv(x)).relu()
        return x


class Prompted(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.prompts = [[nn.Parameter(torch.randn(4, width))] for _ in range(2)]  # finds MG102
        self.registered = nn.ParameterList([nn.Parameter(torch.randn(4, width)) for _ in range(2)])


class Paired(nn.Module):
    def __init__(self, widths):
        super().__init__()
        pairs = [(nn.Conv1d(1, 16, 3), nn.GroupNorm(1, 16))]
        self.pairs = pairs
        self.convs = nn.ModuleList([conv for conv, _ in pairs])
        self.norms = nn.ModuleList([norm for _, norm in pairs])
