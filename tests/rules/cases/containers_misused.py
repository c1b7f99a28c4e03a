"""What the containers of torch refuse."""

import torch.nn.functional as F
from collections import OrderedDict
from torch import nn


class Misused(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Sequential([nn.Linear(width, width), nn.ReLU()])  # finds MG109
        self.heads = nn.ModuleList(nn.Linear(width, 2), nn.Linear(width, 4))  # finds MG109
        self.body = nn.Sequential(nn.Linear(width, width), F.relu)  # finds MG109
        self.tail = nn.Sequential(nn.Linear(width, width), nn.ReLU, nn.Linear(width, 1))  # finds MG109
        self.levels = nn.ModuleDict({0: nn.Linear(width, 1)})  # finds MG109
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(3)])

    def forward(self, x):
        return self.layers(x)  # finds MG109


class Used(nn.Module):
    def __init__(self, width, activation=nn.ReLU, layers=()):
        super().__init__()
        self.stem = nn.Sequential(*[nn.Linear(width, width), activation()])
        self.body = nn.Sequential(OrderedDict([("linear", nn.Linear(width, width)), ("act", nn.ReLU())]))
        self.heads = nn.ModuleList(nn.Linear(width, size) for size in (2, 4))
        self.levels = nn.ModuleDict({str(level): nn.Linear(width, 1) for level in range(3)})
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.body(self.stem(x))
