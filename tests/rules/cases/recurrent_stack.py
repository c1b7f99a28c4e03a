"""Stacked recurrent cells, one per layer and direction."""

import torch
from torch import nn


class CellStack(nn.Module):
    def __init__(self, width, hidden, depth, bidirectional=False):
        super(CellStack, self).__init__()
        self.hidden = hidden
        cells = []
        for layer in range(depth):
            cells.append(nn.LSTMCell(width if layer == 0 else hidden, hidden))
        self.cells = cells  # finds MG101
        self.initial = nn.Parameter(torch.zeros(depth, hidden)).clone()  # finds MG103

    def forward(self, x):
        states = [(self.initial[i], self.initial[i]) for i in range(len(self.cells))]
        for step in x.unbind(1):
            for i, cell in enumerate(self.cells):
                states[i] = cell(step, states[i])
                step = states[i][0]
        return step


class GatedStack(nn.Module):
    """The list becomes a ModuleList in the end."""

    def __init__(self, width, depth, dropout=0.0):
        super(GatedStack, self).__init__()
        self.layers = []
        for _ in range(depth):
            self.layers.append(nn.GRUCell(width, width))
            if dropout > 0:
                self.layers.append(nn.Dropout(dropout))
        self.layers = nn.ModuleList(self.layers)
        self.initial = nn.Parameter(torch.zeros(depth, width), requires_grad=False).requires_grad_()
