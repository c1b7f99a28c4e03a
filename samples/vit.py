"""A small vision transformer: patches by a strided convolution, a class token, learned positions, an encoder.

Two parameters belong to the model itself and are used without a layer. Attention is torch's
`nn.MultiheadAttention`, whose `out_proj` is registered, and whose weight is used by a function: it is a child that
nobody calls, by design.
"""

from functools import partial

import torch
from torch import Tensor, nn


class PatchEmbedding(nn.Module):
    """Image `(batch, channels, height, width)` to patches `(batch, patches, dim)`."""

    def __init__(self, image_size: int, patch_size: int, in_channels: int, dim: int) -> None:
        super().__init__()
        self.num_patches = (image_size // patch_size) ** 2
        self.proj = nn.Conv2d(in_channels, dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x).flatten(2).transpose(1, 2)


class EncoderBlock(nn.Module):
    def __init__(self, dim: int, num_heads: int, mlp_ratio: float, norm_layer=nn.LayerNorm) -> None:
        super().__init__()
        hidden = int(dim * mlp_ratio)
        self.norm1 = norm_layer(dim)
        self.attention = nn.MultiheadAttention(dim, num_heads, batch_first=True)
        self.norm2 = norm_layer(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(x)
        y, _ = self.attention(y, y, y, need_weights=False)
        x = x + y
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(
        self,
        image_size: int = 32,
        patch_size: int = 8,
        in_channels: int = 3,
        dim: int = 48,
        depth: int = 3,
        num_heads: int = 4,
        mlp_ratio: float = 4.0,
        num_classes: int = 10,
    ) -> None:
        super().__init__()
        self.image_size = image_size
        norm_layer = partial(nn.LayerNorm, eps=1e-6)
        self.patch_embedding = PatchEmbedding(image_size, patch_size, in_channels, dim)
        self.class_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.positions = nn.Parameter(torch.randn(1, 1 + self.patch_embedding.num_patches, dim) * 0.02)
        self.encoder = nn.Sequential(*(EncoderBlock(dim, num_heads, mlp_ratio, norm_layer) for _ in range(depth)))
        self.norm = norm_layer(dim)
        self.head = nn.Linear(dim, num_classes) if num_classes > 0 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch_embedding(x)
        x = torch.cat([self.class_token.expand(x.size(0), -1, -1), x], dim=1)
        x = self.encoder(x + self.positions)
        return self.head(self.norm(x[:, 0]))
