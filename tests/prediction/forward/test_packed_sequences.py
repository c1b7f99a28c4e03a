"""Sequences of several lengths, packed for a recurrent layer: what is told of the shapes is what torch gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import modgraph
from tests.prediction.forward.judged import PRELUDE

MODEL = """
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LAYER
        self.head = nn.LazyLinear(3)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=FIRST, enforce_sorted=SORTED)
        out, state = self.rnn(packed)
        out, n = pad_packed_sequence(out, batch_first=FIRST)
        last = state[0] if isinstance(state, tuple) else state
        return self.head(out), n, last
"""
LAYERS = {
    "one way": "GRU(8, 5, batch_first=FIRST)",
    "both ways": "LSTM(8, 5, 2, batch_first=FIRST, bidirectional=True)",
    "projected": "LSTM(8, 5, batch_first=FIRST, proj_size=2)",
}


def _shapes(value: Any) -> list[tuple[int, ...]]:
    if isinstance(value, torch.Tensor):
        return [tuple(value.shape)]
    return [shape for each in value if each is not None for shape in _shapes(each)] if value is not None else []


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("kind", LAYERS)
def test_the_shapes_are_those_of_torch(tmp_path: Path, kind: str, is_sorted: bool) -> None:
    text = (
        MODEL.replace("LAYER", LAYERS[kind]).replace("FIRST", str(kind != "one way")).replace("SORTED", str(is_sorted))
    )
    (tmp_path / "net.py").write_text(PRELUDE + text)
    shape = (4, 6, 8) if kind != "one way" else (6, 4, 8)
    given = ["x=" + "x".join(map(str, shape)), "lengths=4:int64"]
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=given)
    assert not graph.problems
    assert {"torch._pack_padded_sequence", "torch._pad_packed_sequence"} <= {each.name for each in graph.operations}
    space: dict[str, Any] = {}
    exec(PRELUDE + text, space)
    net = space["Net"]()
    truth: list[tuple[str, list[tuple[int, ...]]]] = []
    for name, module in [("rnn", net.rnn), ("head", net.head)]:
        module.register_forward_hook(lambda *seen, name=name: truth.append((name, _shapes(seen[2]))))
    with torch.no_grad():
        truth.insert(0, ("", _shapes(net(torch.ones(shape), torch.tensor([5, 4, 2, 1])))))
    assert [(call.module, call.certain) for call in graph.calls] == [(name, True) for name, _ in truth]
    n_known = 0
    for call, (name, shapes) in zip(graph.calls, truth, strict=True):
        told = [each.shape for each in call.outputs]
        assert len(told) == len(shapes), name
        for one, other in zip(told, shapes, strict=True):
            assert one is not None
            assert len(one) == len(other)
            assert all(size in (None, true) for size, true in zip(one, other, strict=True)), (name, one, other)
            n_known += sum(size is not None for size in one)
    assert n_known >= 6
