"""A mixture of experts: a router sends each token to two of eight experts, chosen by the data.

Which experts run is not in the source. Each one is given the tokens that chose it, picked by index, and one that no
token chose is not called at all: with few tokens some always stay idle. That is routing, not a mistake.
"""

import torch
from torch import nn


class Expert(nn.Sequential):
    def __init__(self, dim: int, hidden: int):
        super().__init__(nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, dim))


class MoELayer(nn.Module):
    def __init__(self, dim: int, num_experts: int, top_k: int):
        super().__init__()
        self.top_k = top_k
        self.router = nn.Linear(dim, num_experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim, 2 * dim) for _ in range(num_experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.reshape(-1, x.shape[-1])
        weights, chosen = self.router(tokens).softmax(dim=-1).topk(self.top_k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)

        out = torch.zeros_like(tokens)
        for index, expert in enumerate(self.experts):
            rows, slots = torch.where(chosen == index)
            if rows.numel() == 0:
                continue
            out.index_add_(0, rows, weights[rows, slots, None] * expert(tokens[rows]))
        return out.reshape(x.shape)


class MoE(nn.Module):
    def __init__(self, dim: int = 16, num_experts: int = 8, top_k: int = 2, num_classes: int = 10):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.moe = MoELayer(dim, num_experts, top_k)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.moe(self.norm(x))
        return self.head(x)
