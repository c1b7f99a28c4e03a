"""A generator and a patch discriminator at several scales."""

from torch import nn
from torch.nn.utils import spectral_norm


def block(incoming, outgoing, normalise=True):
    layers = [nn.Conv2d(incoming, outgoing, 4, stride=2, padding=1)]
    if normalise:
        layers += [nn.InstanceNorm2d(outgoing)]
    layers += [nn.LeakyReLU(0.2, inplace=True)]
    return layers


class MultiScaleDiscriminator(nn.Module):
    def __init__(self, channels=3, scales=3):
        super().__init__()
        self.down = nn.AvgPool2d(3, stride=2)
        self.nets = []  # finds MG101
        for _ in range(scales):
            net = nn.Sequential(*block(channels, 64, normalise=False), *block(64, 128), nn.Conv2d(128, 1, 4))
            self.nets.append(net)

    def forward(self, x):
        out = []
        for net in self.nets:
            out.append(net(x))
            x = self.down(x)
        return out


class SpectralDiscriminator(nn.Module):
    def __init__(self, channels=3):
        super().__init__()
        self.convs = [spectral_norm(nn.Conv2d(channels, 64, 3)), spectral_norm(nn.Conv2d(64, 64, 3))]  # finds MG101


class Generator(nn.Module):
    def __init__(self, channels=3, depth=4):
        super().__init__()
        model = block(channels, 64, normalise=False)
        for _ in range(depth):
            model += block(64, 64)
        self.steps = model
        self.model = nn.Sequential(*model)
