"""The mistake everyone makes once: submodules kept in a plain Python list.

`self.blocks` runs in forward, yet it is no part of the module tree: the optimizer never sees its weights,
`state_dict` does not save them and `.to(device)` leaves them behind. `nn.ModuleList` is what was meant.
"""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        return x + torch.relu(self.linear(self.norm(x)))


class PlainListNet(nn.Module):
    def __init__(self, in_features=20, dim=32, depth=3, num_classes=4):
        super().__init__()
        self.stem = nn.Linear(in_features, dim)
        self.blocks = [Block(dim) for _ in range(depth)]
        self.head = nn.Linear(dim, num_classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
