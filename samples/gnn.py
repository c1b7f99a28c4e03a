"""A graph convolutional network in plain tensor operations: node features and a dense adjacency matrix.

Each layer holds its own `nn.Parameter` and multiplies matrices itself, so its work is operations, not child
modules. The two inputs must agree in size, which `example_inputs` states for whoever wants to run the model.
"""

import math

import torch
from torch import Tensor, nn

NODES, FEATURES = 6, 8


class GraphConvolution(nn.Module):
    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.weight.size(1))
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x: Tensor, adj: Tensor) -> Tensor:
        return torch.mm(adj, torch.mm(x, self.weight)) + self.bias

    def extra_repr(self) -> str:
        return f"{self.weight.size(0)}, {self.weight.size(1)}"


class GCN(nn.Module):
    def __init__(self, in_features: int = FEATURES, hidden: int = 16, num_classes: int = 3, p: float = 0.5) -> None:
        super().__init__()
        self.gc1 = GraphConvolution(in_features, hidden)
        self.gc2 = GraphConvolution(hidden, num_classes)
        self.dropout = nn.Dropout(p)

    def forward(self, x: Tensor, adj: Tensor) -> Tensor:
        adj = self.normalise(adj)
        x = torch.relu(self.gc1(x, adj))
        x = self.gc2(self.dropout(x), adj)
        return torch.log_softmax(x, dim=1)

    @staticmethod
    def normalise(adj: Tensor) -> Tensor:
        """The adjacency with self loops, each entry divided by the square roots of both nodes' degrees."""
        adj = adj + torch.eye(adj.size(0), device=adj.device)
        scale = adj.sum(dim=1).rsqrt()
        return scale[:, None] * adj * scale[None, :]


def example_inputs():
    """Features of a ring of nodes, and its adjacency."""
    ring = torch.eye(NODES).roll(1, dims=0)
    return torch.ones(NODES, FEATURES), ring + ring.T
