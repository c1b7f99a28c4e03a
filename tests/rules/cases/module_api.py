"""Attributes under the names of methods of nn.Module."""

from torch import nn


class Ensemble(nn.Module):
    def __init__(self, number, width):
        super().__init__()
        self.modules = nn.ModuleList([nn.Linear(width, width) for _ in range(number)])  # finds MG107
        self.children = []  # finds MG107
        self.parameters = {"width": width}  # finds MG107
        self.apply = nn.Linear(width, width)  # finds MG107


class Router(nn.Module):
    def __init__(self, kind, exact):
        super().__init__()
        self.type = kind
        self.half = width = 2
        self.forward = self._exact if exact else self._quick
        self.layers = nn.ModuleList([nn.Linear(width, width)])

    def _exact(self, x):
        return x

    def _quick(self, x):
        return x


class Schedule:
    def __init__(self):
        self.modules = []
        self.parameters = {}
