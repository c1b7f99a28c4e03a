"""Constructors that register before, or without, super().__init__()."""

import torch
from torch import nn


class Embedding(nn.Module):
    def __init__(self, size, width):
        self.table = nn.Embedding(size, width)  # finds MG108
        self.width = width
        super().__init__()

    def forward(self, ids):
        return self.table(ids)


class Scale(nn.Module):
    def __init__(self, width):
        self.scale = nn.Parameter(torch.ones(width))  # finds MG108

    def forward(self, x):
        return x * self.scale


class Twice(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        super(Twice, self).__init__()  # finds MG108
        self.second = nn.Linear(width, width)


class Prepared(nn.Module):
    def __init__(self, width):
        self.width = width
        super().__init__()
        self.layer = nn.Linear(width, width)


class Base(nn.Module):
    def __init__(self):
        nn.Module.__init__(self)
        self.base = nn.Linear(2, 2)


class Derived(Base):
    def __init__(self):
        Base.__init__(self)
        self.layer = nn.Linear(2, 2)


class Deferred(nn.Module):
    def __init__(self):
        self._start()
        self.layer = nn.Linear(2, 2)

    def _start(self):
        super(Deferred, self).__init__()
