"""Dropout: nothing is registered."""

from torch.nn.modules.module import Module


class _DropoutNd(Module):
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input): ...


class Dropout(_DropoutNd): ...


class Dropout1d(_DropoutNd): ...


class Dropout2d(_DropoutNd): ...


class Dropout3d(_DropoutNd): ...


class AlphaDropout(_DropoutNd): ...


class FeatureAlphaDropout(_DropoutNd): ...
