"""A tiny denoising U-Net for diffusion: a noisy image and a time step, which reaches every residual block.

The time step is turned into sines and cosines by plain arithmetic and projected by a small network. Its one result
feeds every block, next to the image that flows straight down and the skips that are concatenated on the way up.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SinusoidalEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        scale = math.log(10_000) / (half - 1)
        frequencies = torch.exp(-scale * torch.arange(half, device=t.device))
        angles = t.float()[:, None] * frequencies[None, :]
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, in_channels, out_channels, time_dim):
        super().__init__()
        self.norm1 = nn.GroupNorm(4, in_channels)
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.time = nn.Linear(time_dim, out_channels)
        self.norm2 = nn.GroupNorm(4, out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1)
        self.skip = nn.Conv2d(in_channels, out_channels, 1) if in_channels != out_channels else nn.Identity()

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(time)[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return h + self.skip(x)


class DiffusionUNet(nn.Module):
    def __init__(self, image_channels=1, channels=16, time_dim=32):
        super().__init__()
        self.time_embedding = nn.Sequential(
            SinusoidalEmbedding(time_dim),
            nn.Linear(time_dim, time_dim),
            nn.SiLU(),
            nn.Linear(time_dim, time_dim),
        )
        self.stem = nn.Conv2d(image_channels, channels, 3, padding=1)
        self.down1 = ResBlock(channels, channels, time_dim)
        self.down2 = ResBlock(channels, 2 * channels, time_dim)
        self.middle = ResBlock(2 * channels, 2 * channels, time_dim)
        self.up2 = ResBlock(4 * channels, channels, time_dim)
        self.up1 = ResBlock(2 * channels, channels, time_dim)
        self.out = nn.Conv2d(channels, image_channels, 1)

    def forward(self, x, t):
        time = self.time_embedding(t)
        skip1 = self.down1(self.stem(x), time)
        skip2 = self.down2(F.avg_pool2d(skip1, 2), time)
        x = self.middle(F.avg_pool2d(skip2, 2), time)
        x = F.interpolate(x, scale_factor=2)
        x = self.up2(torch.cat([x, skip2], dim=1), time)
        x = F.interpolate(x, scale_factor=2)
        x = self.up1(torch.cat([x, skip1], dim=1), time)
        return self.out(x)
