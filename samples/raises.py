"""A model whose forward fails, in a submodule, after several layers have run.

The encoder doubles its width, and whoever built the decoder forgot that. The head notices and says so. A run stops
there: the graph still holds the whole predicted tree and every call up to the failure.
"""

from torch import Tensor, nn


class Encoder(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.conv2(self.act(self.conv1(x))))


class Head(nn.Module):
    def __init__(self, in_features: int, num_classes: int):
        super().__init__()
        self.in_features = in_features
        self.linear = nn.Linear(in_features, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] != self.in_features:
            raise ValueError(f"the head was built for {self.in_features} features, the encoder gives {x.shape[-1]}")
        return self.linear(x)


class Decoder(nn.Module):
    def __init__(self, in_features: int, num_classes: int):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = Head(in_features, num_classes)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        return self.softmax(self.head(self.pool(x).flatten(1)))


class Classifier(nn.Module):
    def __init__(self, width: int = 16, num_classes: int = 10):
        super().__init__()
        self.encoder = Encoder(width)
        self.decoder = Decoder(width, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))
