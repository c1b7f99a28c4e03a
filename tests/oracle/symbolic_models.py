"""Small models whose sizes are left open in as many ways: `symbolic_sizes.py` holds their predicted shapes against torch."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class LeNet(nn.Module):
    """A classifier for pictures of one size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc = nn.Linear(16 * 5 * 5, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(torch.flatten(x, 1))


class Unet(nn.Module):
    """Joins what it has halved and doubled with what it was."""

    def __init__(self) -> None:
        super().__init__()
        self.down1 = nn.Conv2d(3, 8, 3, padding=1)
        self.down2 = nn.Conv2d(8, 16, 3, padding=1)
        self.middle = nn.Conv2d(16, 16, 3, padding=1)
        self.up2 = nn.ConvTranspose2d(16, 16, 2, stride=2)
        self.up1 = nn.ConvTranspose2d(32, 8, 2, stride=2)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        one = self.down1(x)
        two = self.down2(F.max_pool2d(one, 2))
        x = self.middle(F.max_pool2d(two, 2))
        x = torch.cat([self.up2(x), two], dim=1)
        x = torch.cat([self.up1(x), one], dim=1)
        return self.out(x)


class PaddedUnet(nn.Module):
    """The same for any size: what is missing is padded."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, padding=1)
        self.middle = nn.Conv2d(8, 8, 3, padding=1)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        one = self.down(x)
        two = self.middle(F.max_pool2d(one, 2))
        two = F.interpolate(two, scale_factor=2, mode="nearest")
        rows, columns = one.shape[2] - two.shape[2], one.shape[3] - two.shape[3]
        two = F.pad(two, (0, columns, 0, rows))
        return self.out(torch.cat([one, two], dim=1))


class Patches(nn.Module):
    """A small vision transformer whose positions are of one number of patches."""

    def __init__(self) -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, 24, 8, stride=8)
        self.first = nn.Parameter(torch.zeros(1, 1, 24))
        self.positions = nn.Parameter(torch.zeros(1, 17, 24))
        self.block = nn.TransformerEncoderLayer(24, 2, 48, batch_first=True)
        self.head = nn.Linear(24, 5)

    def forward(self, image: Tensor) -> Tensor:
        x = self.cut(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        return self.head(self.block(x)[:, 0])


class Windows(nn.Module):
    """Attention in windows of 7, with padding to whole ones, as in Swin."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, 12, 4, stride=4)
        self.norm = nn.LayerNorm(12)
        self.attention = nn.Linear(12, 12)

    def forward(self, image: Tensor) -> Tensor:
        x = self.embed(image).permute(0, 2, 3, 1)
        _, h, w, c = x.shape
        x = F.pad(self.norm(x), (0, 0, 0, (7 - w % 7) % 7, 0, (7 - h % 7) % 7))
        b, high, wide, _ = x.shape
        x = x.view(b, high // 7, 7, wide // 7, 7, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 49, c)
        x = self.attention(x)
        x = x.view(b, high // 7, wide // 7, 7, 7, c).permute(0, 1, 3, 2, 4, 5).reshape(b, high, wide, c)
        return x[:, :h, :w, :].contiguous()


class Language(nn.Module):
    """A decoder with learnt positions, and a mask of the length."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(100, 16)
        self.positions = nn.Embedding(48, 16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 100)

    def forward(self, ids: Tensor) -> Tensor:
        batch, length = ids.shape
        if length > 48:
            raise ValueError("the text is too long")
        x = self.tokens(ids) + self.positions(torch.arange(length, device=ids.device))
        q, k, v = self.qkv(x).view(batch, length, 3, 4, 4).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(4)
        mask = torch.tril(torch.ones(length, length, dtype=torch.bool, device=ids.device))
        x = scores.masked_fill(~mask, -1e9).softmax(-1) @ v
        return self.out(x.transpose(1, 2).reshape(batch, length, 16))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, 3)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x, (state, _) = self.lstm(self.embed(tokens))
        return self.head(x[:, -1]), state


class Waves(nn.Module):
    """Sound: strided convolutions of one dimension, without padding."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv1d(1, 8, 10, stride=5),
            nn.GELU(),
            nn.Conv1d(8, 8, 3, stride=2),
            nn.GELU(),
            nn.Conv1d(8, 8, 3, stride=2),
        )
        self.norm = nn.GroupNorm(2, 8)
        self.out = nn.Linear(8, 6)

    def forward(self, sound: Tensor) -> Tensor:
        return self.out(self.norm(self.encode(sound)).transpose(1, 2))


class Volumes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv3d(2, 4, 3, stride=(1, 2, 2), padding=1)
        self.norm = nn.BatchNorm3d(4)
        self.pool = nn.AdaptiveAvgPool3d((1, 2, 2))
        self.head = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.norm(self.conv(x))))
        return self.head(x.flatten(1))


class Larger(nn.Module):
    """Super resolution."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 27, 3, padding=1)
        self.shuffle = nn.PixelShuffle(3)
        self.last = nn.Conv2d(3, 3, 3, stride=2, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.shuffle(self.conv(x))
        return self.last(F.interpolate(x, scale_factor=0.5, mode="bilinear"))


class Mixer(nn.Module):
    """Channels last; what is given is turned first."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(5, 10, 3, stride=2)
        self.linear = nn.Linear(10, 7)

    def forward(self, picture: Tensor) -> Tensor:
        x = self.conv(picture.permute(0, 3, 1, 2))
        return self.linear(x.permute(0, 2, 3, 1)).mean(dim=(1, 2))


class Halves(nn.Module):
    """Splits the channels, and the pixels every other time."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Conv2d(8, 8, 1)
        self.right = nn.Conv2d(8, 8, 3, padding=1)
        self.merge = nn.Linear(64, 16)

    def forward(self, x: Tensor) -> Tensor:
        a, b = x.chunk(2, dim=1)
        x = torch.cat([self.left(a), self.right(b)], dim=1).permute(0, 2, 3, 1)
        h, w = x.shape[1:3]
        x = F.pad(x, (0, 0, 0, w % 2, 0, h % 2))
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        return self.merge(x)


class Pair(nn.Module):
    """Two inputs, each with a length of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(40, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 1)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        a, b = self.embed(source), self.embed(target)
        x, _ = self.attention(b, a, a, need_weights=False)
        return self.head(x + b).squeeze(-1)


class Squares(nn.Module):
    """Takes pictures that are as high as wide, and an even number of pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 2, stride=2)
        self.mix = nn.Conv2d(4, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        h, w = x.shape[-2:]
        if h != w:
            raise ValueError("not a square")
        if h % 2:
            raise ValueError("an odd number of pixels")
        x = self.conv(x)
        return self.mix(x) + x.transpose(2, 3)


MODELS = (
    "Perceptron", "LeNet", "Unet", "PaddedUnet", "Patches", "Windows", "Language", "Recurrent", "Waves", "Volumes",
    "Larger", "Mixer", "Halves", "Pair", "Squares",
)  # fmt: skip
