"""A model without a class: a module-level `nn.Sequential` with named layers.

The instance `net` is the root model of this file. It is a LeNet for 28×28 images, and its first linear layer fits
that size and no other.
"""

from collections import OrderedDict

from torch import nn

net = nn.Sequential(
    OrderedDict(
        [
            ("conv1", nn.Conv2d(1, 6, kernel_size=5, padding=2)),
            ("act1", nn.Tanh()),
            ("pool1", nn.AvgPool2d(2)),
            ("conv2", nn.Conv2d(6, 16, kernel_size=5)),
            ("act2", nn.Tanh()),
            ("pool2", nn.AvgPool2d(2)),
            ("flatten", nn.Flatten()),
            ("fc1", nn.Linear(16 * 5 * 5, 120)),
            ("act3", nn.Tanh()),
            ("fc2", nn.Linear(120, 84)),
            ("act4", nn.Tanh()),
            ("fc3", nn.Linear(84, 10)),
        ]
    )
)
