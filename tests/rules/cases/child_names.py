"""Names of children."""

import torch
from torch import nn


class DottedNames(nn.Module):
    def __init__(self, depth, width):
        super().__init__()
        for i in range(depth):
            self.add_module(f"block.{i}", nn.Linear(width, width))  # finds MG110
        for i in range(depth):
            setattr(self, f"head.{i}", nn.Linear(width, 1))  # finds MG110
        self.register_buffer("grid.x", torch.zeros(1))  # finds MG110
        self.tasks = nn.ModuleDict({"type": nn.Linear(width, 1), "kind": nn.Linear(width, 1)})  # finds MG110


class PlainNames(nn.Module):
    def __init__(self, depth, width, names):
        super().__init__()
        for i in range(depth):
            self.add_module(f"block{i}", nn.Linear(width, width))
            self.add_module("norm_" + str(i), nn.LayerNorm(width))
        for name in names:
            setattr(self, name.replace(".", "_"), nn.Linear(width, 1))
        self.tasks = nn.ModuleDict({"task_type": nn.Linear(width, 1)})
