"""Modules without parameters: some have a mode, some have nothing to lose."""

from torch import nn


class Regularised(nn.Module):
    def __init__(self, width, rates):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in rates])
        self.drops = [nn.Dropout(0.1), nn.Dropout(0.3)]  # finds MG101
        self.activations = [nn.ReLU(), nn.GELU(), nn.Tanh()]  # finds MG122
        self.pools = {"max": nn.MaxPool2d(2), "mean": nn.AvgPool2d(2)}  # finds MG122
        self.norms = [nn.BatchNorm1d(width, affine=False) for _ in range(2)]  # finds MG101
        self.losses = nn.ModuleList([nn.MSELoss(), nn.L1Loss()])

    def forward(self, x):
        for layer, drop, activation in zip(self.layers, self.drops, self.activations):
            x = drop(activation(layer(x)))
        return x
