"""Submodules under names that the class has already."""

import torch
from torch import nn


class Named(nn.Module):
    @property
    def backbone(self):
        return "resnet"

    def describe(self):
        return self.backbone


class Segmenter(Named):
    def __init__(self, width):
        super().__init__()
        self.backbone = nn.Conv2d(3, width, 3)  # finds MG106
        self.decode = nn.Conv2d(width, width, 3)  # finds MG106
        self.describer = nn.Linear(width, width)

    def decode(self, x):
        return x


class Dispatcher(nn.Module):
    encoder = None
    head: nn.Linear

    def __init__(self, fast):
        super().__init__()
        self.encoder = nn.Linear(2, 2)  # finds MG106
        self.head = nn.Linear(2, 2)
        self.step = self.fast_step if fast else self.slow_step

    def fast_step(self, x):
        return x

    def slow_step(self, x):
        return x


class Exposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = nn.Linear(2, 2)

    @property
    def core(self):
        return self._modules["core"]


class Configured(nn.Module):
    head: nn.Module = None
    width: int = 3
    scale = None
    name = "configured"


class Built(Configured):
    def __init__(self):
        super().__init__()
        self.width = 4
        self.name = None
        self.head = nn.Linear(2, 2)  # finds MG106
        self.scale = nn.Parameter(torch.ones(2))  # finds MG106
