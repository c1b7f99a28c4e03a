"""Modules that have two names: what is made by one of them and used by the other is used."""

from torch import nn


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for _ in range(3):
            layers.append(nn.Linear(8, 8))
        self.steps = layers
        self.registered = nn.ModuleList(self.steps)

    def forward(self, x):
        for step in self.steps:
            x = step(x)
        return x


class Local(nn.Module):
    def __init__(self):
        super().__init__()
        first = nn.Linear(8, 8)
        blocks = [first, nn.Linear(8, 8)]
        self.both = nn.ModuleList(blocks)
        self.run = lambda x: first(x)

    def forward(self, x):
        return self.run(x)


class Filled(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = []
        for _ in range(3):
            self.steps.append(nn.Linear(8, 8))
        self.held = nn.Sequential(*self.steps)

    def forward(self, x):
        return self.steps[1](x)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.old_name = self.head = nn.Linear(8, 8)

    def forward(self, x):
        return self.head(x)


class Alone(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.width = width
        layers = []
        layers.append(nn.Linear(width, width))
        self.body = nn.Linear(width, self.width)
        self.left_over = nn.ModuleList(layers)  # finds MG204
        self.old = nn.Linear(width, self.width)  # finds MG204

    def forward(self, x):
        return self.body(x) / self.width
