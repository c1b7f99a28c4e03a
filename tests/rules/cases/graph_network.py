"""Message passing with one transformation per relation."""

import torch
import torch.nn as nn


class RelationalLayer(nn.Module):
    def __init__(self, relations, width):
        super().__init__()
        self.relations = list(relations)
        self.per_relation = {name: nn.Linear(width, width, bias=False) for name in self.relations}  # finds MG101
        self.own = nn.Linear(width, width)

    def forward(self, x, edges):
        out = self.own(x)
        for name, (source, target) in edges.items():
            out = out.index_add(0, target, self.per_relation[name](x[source]))
        return out


class RelationalNetwork(nn.Module):
    def __init__(self, relations, width, depth):
        super().__init__()
        self.bases = {}
        for name in relations:
            self.bases[name] = nn.Parameter(torch.randn(width, width))
        self.bases = nn.ParameterDict(self.bases)
        self.layers = [RelationalLayer(relations, width) for _ in range(depth)]
        for number, layer in enumerate(self.layers, 1):
            self.register_module(f"layer{number}", layer)


class AttentionalNetwork(nn.Module):
    def __init__(self, relations, width):
        super().__init__()
        self.keys = {name: nn.Parameter(torch.randn(width)) for name in ("cites", "writes")}  # finds MG102
        self.queries = nn.ParameterDict({name: nn.Parameter(torch.randn(width)) for name in ("cites", "writes")})
