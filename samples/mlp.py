"""A multilayer perceptron for 28×28 digits, its layers collected in a list and handed to one `nn.Sequential`.

The smallest useful model: one container, a loop in the constructor whose length comes from an argument, and a
forward that flattens first. The list is only a step on the way to `Sequential`, so every layer is registered as it
should be.
"""

import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, in_features=784, hidden=(128, 64), num_classes=10, dropout=0.1):
        super().__init__()
        layers = []
        for width in hidden:
            layers += [nn.Linear(in_features, width), nn.ReLU(), nn.Dropout(dropout)]
            in_features = width
        layers.append(nn.Linear(in_features, num_classes))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(torch.flatten(x, 1))


if __name__ == "__main__":
    model = MLP()
    print(model(torch.randn(1, 1, 28, 28)).argmax(dim=1))
