"""Parts of a tensor of which no size is known: unpacked at once, they are as many as the names. torch is the judge."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from modgraph import predict
from tests.prediction.forward.judged import PRELUDE

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(4, 2)

    def forward(self, x, y):
        h = self.first(x + y)
        %s
        return self.last(r)
"""
UNPACKED = {
    "chunk": "a, b = h.chunk(2, -1); r = a * b",
    "function": "a, b = torch.chunk(h, 2, dim=-1); r = a * b",
    "split": "(a, b) = h.split(4, -1); r = a * b",
    "tensor_split": "a, b = h.tensor_split(2, -1); r = a * b",
    "unbind": "a, b, c = h.unbind(0); r = (a * b * c)[:4]",
    "list": "[a, b] = h.unsafe_chunk(2, dim=-1); r = a * b",
}


@pytest.mark.parametrize("kind", UNPACKED)
def test_calls_behind_unpacked_parts_are_told_without_sizes(tmp_path: Path, kind: str) -> None:
    (tmp_path / "net.py").write_text(PRELUDE + NET % UNPACKED[kind])
    graph = predict(f"{tmp_path / 'net.py'}:Net")
    space: dict[str, type[nn.Module]] = {}
    exec((tmp_path / "net.py").read_text(), space)
    model, met = space["Net"](), [""]
    for name, module in model.named_children():
        module.register_forward_hook(lambda *_, met=met, name=name: met.append(name))
    model(torch.zeros(3, 4), torch.zeros(3, 4))
    assert [call.module for call in graph.calls] == met


@pytest.mark.parametrize(
    "line", ["a, b, c = h.chunk(2, -1)", "a, *b = h.chunk(2, -1)", "a, b = h.chunk(2)[0].chunk(2)"]
)
def test_no_number_is_told_that_torch_may_not_give(tmp_path: Path, line: str) -> None:
    (tmp_path / "net.py").write_text(PRELUDE + NET % f"{line}; r = a")
    graph = predict(f"{tmp_path / 'net.py'}:Net")
    assert not any(call.module == "last" and call.certain for call in graph.calls)
