"""Dense connectivity, with blocks appended through an alias and through unpacking."""

from torch import nn


class Layer(nn.Module):
    def __init__(self, incoming, growth):
        super().__init__()
        self.norm = nn.BatchNorm2d(incoming)
        self.conv = nn.Conv2d(incoming, growth, 3, padding=1)


class DenseBlock(nn.Module):
    def __init__(self, incoming, growth, depth):
        super().__init__()
        self.layers = layers = []  # finds MG101
        for i in range(depth):
            layers.append(Layer(incoming + i * growth, growth))

    def forward(self, x):
        return x


class Transition(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.convs, self.pool = [nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)], nn.AvgPool2d(2)  # finds MG101
        self.first, self.second = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.pair = (self.first, self.second)


class DenseNetwork(nn.Module):
    def __init__(self, growth, depths):
        super().__init__()
        features = []
        width = 2 * growth
        for depth in depths:
            features += [DenseBlock(width, growth, depth), Transition(width + depth * growth)]
            width += depth * growth
        self.stages = features
        self.features = nn.Sequential(nn.Conv2d(3, 2 * growth, 3), *features)
