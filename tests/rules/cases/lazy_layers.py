"""Layers that are made where their sizes are known: in forward."""

import torch
from torch import nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.classes = classes
        self.conv = nn.Conv2d(3, 16, 3)
        self.head = None

    def forward(self, x):
        x = F.relu(self.conv(x)).flatten(1)
        x = nn.BatchNorm1d(x.shape[1])(x)  # finds MG104
        x = nn.Dropout(0.5)(x)  # finds MG104
        return nn.Linear(x.shape[1], self.classes).to(x.device)(x)  # finds MG104


class LazyClassifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)
        self.head = nn.LazyLinear(classes)

    def forward(self, x, target):
        x = nn.ReLU()(self.conv(x)).flatten(1)
        x = nn.LayerNorm(x.shape[1], elementwise_affine=False)(x)
        loss = nn.CrossEntropyLoss()(self.head(x), target)
        return nn.Softmax(dim=-1)(self.head(x)), loss


class Blur(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kernel", torch.ones(1, 1, 3, 3) / 9)

    def forward(self, x):
        conv = nn.Conv2d(1, 1, 3, bias=False)
        conv.weight = nn.Parameter(self.kernel, requires_grad=False)
        return conv(x)
