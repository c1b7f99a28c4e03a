"""A dense detection head: one tower per task, one predictor per pyramid level."""

import math

import torch
from torch import nn


class Tower(nn.Sequential):
    def __init__(self, width, depth):
        layers = []
        for _ in range(depth):
            layers.append(nn.Conv2d(width, width, 3, padding=1))
            layers.append(nn.GroupNorm(8, width))
            layers.append(nn.ReLU(inplace=True))
        super().__init__(*layers)


class DenseHead(nn.Module):
    def __init__(self, width=64, classes=80, anchors=9, levels=5, depth=4):
        super().__init__()
        self.strides = [8 * 2**level for level in range(levels)]
        self.classification = Tower(width, depth)
        self.regression = Tower(width, depth)
        self.class_scores = [nn.Conv2d(width, anchors * classes, 3, padding=1) for _ in self.strides]  # finds MG101
        self.boxes = nn.ModuleList([nn.Conv2d(width, anchors * 4, 3, padding=1) for _ in self.strides])
        self.scales = [nn.Parameter(torch.ones(1)) for _ in self.strides]  # finds MG102
        for predictor in self.class_scores:
            nn.init.constant_(predictor.bias, -math.log(99))

    def forward(self, features):
        scores, boxes = [], []
        for level, feature in enumerate(features):
            scores.append(self.class_scores[level](self.classification(feature)))
            boxes.append(self.boxes[level](self.regression(feature)) * self.scales[level])
        return scores, boxes


class RegisteredHead(nn.Module):
    """The same, with each predictor under a name of its own."""

    def __init__(self, width=64, classes=80, anchors=9, levels=5):
        super().__init__()
        self.class_scores = [nn.Conv2d(width, anchors * classes, 3) for _ in range(levels)]
        for level, predictor in enumerate(self.class_scores):
            self.add_module(f"class_scores_{level}", predictor)
        self.scales = []
        for level in range(levels):
            scale = nn.Parameter(torch.ones(1))
            self.register_parameter(f"scale_{level}", scale)
            self.scales.append(scale)
