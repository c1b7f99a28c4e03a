"""Models that look up bags of indices."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import modgraph

pytestmark = pytest.mark.needs_torch


class Bag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(20, 4, mode="sum")
        self.fc = nn.Linear(4, 2)

    def forward(self, words: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        return self.fc(self.bag(words, starts))


class Tables(nn.Module):
    def __init__(self, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(size, 4, mode="sum") for size in sizes])
        self.bottom = nn.Linear(5, 4)
        self.top = nn.Linear(4 * (1 + len(sizes)), 1)

    def forward(self, dense: torch.Tensor, starts: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        found = [bag(each, start) for bag, each, start in zip(self.bags, ids, starts, strict=False)]
        return self.top(torch.cat([self.bottom(dense), *found], 1))


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(20, 4)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return self.bag(input=a, offsets=b)


class Alone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(20, 4)

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return self.bag(a)


@pytest.mark.parametrize("model", [Bag(), Tables((20, 30)), Tables((7, 5, 9, 3)), Named(), Alone()])
def test_inputs_are_found_and_the_model_runs(model: nn.Module) -> None:
    graph = modgraph.trace(model)
    assert graph.complete, graph.problems
    called = {call.module for call in graph.calls}
    assert {name for name, layer in model.named_modules() if isinstance(layer, nn.EmbeddingBag)} <= called
