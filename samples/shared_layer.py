"""One instance under several names, and one layer applied again and again.

`target_embedding` is `source_embedding`, and `[layer] * depth` puts the same layer into the list three times: the
tree has more names than modules, and the parameters count once. The output is computed with the embedding's own
weight, used directly by the model rather than through a layer.
"""

import torch.nn.functional as F
from torch import Tensor, nn


class ResidualMLP(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.linear = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        return x + F.gelu(self.linear(self.norm(x)))


class SharedLayers(nn.Module):
    def __init__(self, vocab_size: int = 100, dim: int = 32, depth: int = 3) -> None:
        super().__init__()
        self.source_embedding = nn.Embedding(vocab_size, dim)
        self.target_embedding = self.source_embedding
        layer = ResidualMLP(dim)
        self.layers = nn.ModuleList([layer] * depth)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        context = self.source_embedding(source).mean(dim=1, keepdim=True)
        x = self.target_embedding(target) + context
        for layer in self.layers:
            x = layer(x)
        return F.linear(x, self.target_embedding.weight)
