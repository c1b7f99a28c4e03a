"""A mixture of experts: the router is a submodule, the experts are not."""

import torch
from torch import nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


def make_experts(number, width, inner):
    return [Expert(width, inner) for _ in range(number)]


class SparseLayer(nn.Module):
    def __init__(self, width, inner, number=8, top=2):
        super().__init__()
        self.top = top
        self.router = nn.Linear(width, number, bias=False)
        self.experts = make_experts(number, width, inner)  # finds MG101

    def forward(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(self.top, dim=-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            mask = (chosen == number).any(-1)
            out[mask] += expert(x[mask])
        return out


class RegisteredLayer(nn.Module):
    def __init__(self, width, inner, number=8):
        super().__init__()
        self.experts = nn.ModuleList(make_experts(number, width, inner))
        experts = make_experts(number, width, inner)
        self.by_index = dict(enumerate(experts))
        self.pool = nn.ModuleList(experts)


class RepeatedExperts(nn.Module):
    def __init__(self, width, inner, number=8):
        super().__init__()
        self.experts = nn.ModuleList([Expert(width, inner)] * number)  # finds MG105
        self.shared_experts = nn.ModuleList([Expert(width, inner)] * 2)
