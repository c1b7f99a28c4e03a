"""A siamese network: two inputs, one encoder, called once for each.

The tree holds the encoder once, the run calls it twice, and the two results meet in a distance. So every layer of
the encoder has two calls, with their own inputs and outputs.
"""

import torch
from torch import nn
from torch.nn import functional as F


class SiameseNet(nn.Module):
    def __init__(self, embedding_dim=24):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=5, stride=2),
            nn.ReLU(),
            nn.Conv2d(8, 16, kernel_size=3, stride=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, embedding_dim),
        )
        self.score = nn.Linear(embedding_dim, 1)

    def embed(self, image):
        return F.normalize(self.encoder(image), dim=-1)

    def forward(self, left, right):
        distance = (self.embed(left) - self.embed(right)).abs()
        return torch.sigmoid(self.score(distance)).squeeze(-1)
