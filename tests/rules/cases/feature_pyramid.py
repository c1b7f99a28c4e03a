"""A feature pyramid whose lateral convolutions were collected by the name of their level."""

import torch.nn.functional as F
from torch import nn


class Pyramid(nn.Module):
    def __init__(self, widths, width=256, extra_levels=0):
        super().__init__()
        self.lateral = {}  # finds MG101
        self.output = nn.ModuleDict()
        for level, incoming in enumerate(widths):
            self.lateral[f"p{level}"] = nn.Conv2d(incoming, width, 1)
            self.output[f"p{level}"] = nn.Conv2d(width, width, 3, padding=1)
        self.extra = []  # finds MG101
        if extra_levels > 0:
            for _ in range(extra_levels):
                self.extra.append(nn.Conv2d(width, width, 3, stride=2, padding=1))

    def forward(self, features):
        maps = [self.lateral[f"p{level}"](each) for level, each in enumerate(features)]
        for level in range(len(maps) - 1, 0, -1):
            maps[level - 1] = maps[level - 1] + F.interpolate(maps[level], scale_factor=2)
        return [self.output[f"p{level}"](each) for level, each in enumerate(maps)]


class LegacyPyramid(nn.Module):
    """Older code: the lists are for iterating, the attributes register."""

    def __init__(self, widths, width=256):
        super().__init__()
        self.lateral_convs = []
        self.output_convs = []
        for index, incoming in enumerate(widths):
            lateral = nn.Conv2d(incoming, width, 1)
            output = nn.Conv2d(width, width, 3, padding=1)
            self.add_module("fpn_lateral%d" % index, lateral)
            setattr(self, "fpn_output" + str(index), output)
            self.lateral_convs.append(lateral)
            self.output_convs.append(output)
