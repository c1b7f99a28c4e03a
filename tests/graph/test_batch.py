"""A size is called the batch where it is one: of models that take examples beside each other, and of those that do not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from modgraph.api import trace
from modgraph.graph.batch import batch_size
from modgraph.graph.index import GraphIndex


class Does(nn.Module):
    """What a function does with some layers."""

    def __init__(self, function, **layers):
        super().__init__()
        self.layers = nn.ModuleDict(layers)
        self.function = function

    def forward(self, *given):
        return self.function(self.layers, *given)


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, images):
        return self.conv(torch.stack(images))


def ints(*sizes):
    return torch.zeros(*sizes, dtype=torch.int64)


BATCHES = {
    "a convolution": (Does(lambda m, x: m.c(x), c=nn.Conv2d(3, 4, 3)), (torch.zeros(5, 3, 8, 8),)),
    "a linear layer": (Does(lambda m, x: m.l(x), l=nn.Linear(5, 5)), (torch.zeros(5, 5),)),
    "tokens": (Does(lambda m, x: m.e(x), e=nn.Embedding(9, 4)), (ints(5, 7),)),
    "a batch-first LSTM": (Does(lambda m, x: m.r(x)[0], r=nn.LSTM(4, 6, batch_first=True)), (torch.zeros(5, 7, 4),)),
    "batch-first attention": (
        Does(lambda m, x: m.a(x, x, x)[0], a=nn.MultiheadAttention(4, 2, batch_first=True)), (torch.zeros(5, 7, 4),)
    ),
    "a mask beside it": (
        Does(lambda m, x, mask: m.l(x) @ m.l(x).mT + mask, l=nn.Linear(4, 4)), (torch.zeros(5, 7, 4), torch.zeros(7, 7))
    ),
    "words of each example": (
        Does(lambda m, x: m.c(x.flatten(0, 1)[:, None]).view(5, 7, -1), c=nn.Conv1d(1, 2, 3)), (torch.zeros(5, 7, 4),)
    ),
    "similarities": (Does(lambda m, x, y: m.l(x) @ m.l(y).t(), l=nn.Linear(4, 4)), (torch.zeros(5, 4),) * 2),
}  # fmt: skip
OTHERS = {
    "neighbours": (Does(lambda m, x, adj: adj @ m.l(x), l=nn.Linear(5, 8)), (torch.zeros(6, 5), torch.zeros(6, 6))),
    "neighbours, the table first": (
        Does(lambda m, adj, x: torch.mm(adj, m.l(x)), l=nn.Linear(5, 8)), (torch.zeros(6, 6), torch.zeros(6, 5))
    ),
    "edges": (Does(lambda m, x, e: m.l(x)[e[0]], l=nn.Linear(5, 8)), (torch.zeros(6, 5), ints(2, 9))),
    "nodes of one graph": (Does(lambda m, x: m.l(x).mean(0, keepdim=True), l=nn.Linear(5, 8)), (torch.zeros(6, 5),)),
    "one image": (Does(lambda m, x: m.c(x), c=nn.Conv2d(3, 4, 3)), (torch.zeros(3, 8, 8),)),
    "images of a list": (Listed(), ([torch.zeros(3, 8, 8), torch.zeros(3, 8, 8)],)),
    "an LSTM": (Does(lambda m, x: m.r(x)[0], r=nn.LSTM(4, 6)), (torch.zeros(5, 7, 4),)),
    "a bidirectional GRU": (Does(lambda m, x: m.r(x)[0], r=nn.GRU(4, 6, 2, bidirectional=True)), (torch.zeros(5, 7, 4),)),
    "one sequence": (Does(lambda m, x: m.r(x)[0], r=nn.LSTM(4, 6, batch_first=True)), (torch.zeros(5, 4),)),
    "attention": (Does(lambda m, x: m.a(x, x, x)[0], a=nn.MultiheadAttention(4, 2)), (torch.zeros(5, 7, 4),)),
}  # fmt: skip


@pytest.mark.parametrize("name", [*BATCHES, *OTHERS])
def test_a_size_is_the_batch_where_it_is_one(name):
    model, given = (BATCHES | OTHERS)[name]
    graph = trace(model.eval(), given)
    assert batch_size(GraphIndex(graph)) == (5 if name in BATCHES else None)
