"""A U-Net for segmentation, with skip connections that are concatenated on the way up.

The encoder's results wait in a plain list of tensors until the decoder takes them from its end, so the long arrows
of the picture are dataflow that no constructor shows. Down and up paths are two `ModuleList`s walked in a loop.
"""

import torch
import torch.nn as nn


def double_conv(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(inplace=True),
        nn.Conv2d(out_channels, out_channels, 3, padding=1),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, in_channels=3, num_classes=2, features=(8, 16, 32)):
        super().__init__()
        self.downs = nn.ModuleList()
        self.ups = nn.ModuleList()
        self.pool = nn.MaxPool2d(2)

        channels = in_channels
        for feature in features:
            self.downs.append(double_conv(channels, feature))
            channels = feature

        self.bottleneck = double_conv(features[-1], features[-1] * 2)

        for feature in reversed(features):
            self.ups.append(nn.ConvTranspose2d(feature * 2, feature, kernel_size=2, stride=2))
            self.ups.append(double_conv(feature * 2, feature))

        self.head = nn.Conv2d(features[0], num_classes, kernel_size=1)

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
            x = self.pool(x)

        x = self.bottleneck(x)

        for i in range(0, len(self.ups), 2):
            x = self.ups[i](x)
            x = torch.cat([skips.pop(), x], dim=1)
            x = self.ups[i + 1](x)
        return self.head(x)
