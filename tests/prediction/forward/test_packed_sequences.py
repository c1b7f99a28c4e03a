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


ASKED = """
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence as pack, pack_sequence, pad_packed_sequence as pad

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.rnn, self.lstm = nn.GRU(8, 8), nn.RNN(8, 8, 2), nn.LSTM(8, 8)
        self.last = nn.Identity()

    def forward(self, x):
        y = {}
        return self.last(y if isinstance(y, torch.Tensor) else y[0])
"""
PACKED = [
    "pack(x, [7] * 5)",
    "pack(x, [7, 6, 5, 4, 3])",
    "pack(x, [4, 4, 4, 4, 3])",
    "pack(x, [9, 6, 5, 4, 3])",
    "pack(x, [3, 4, 5, 6, 7], enforce_sorted=False)",
    "pack(x, [3, 3, 5, 6, 7], enforce_sorted=False)",
    "pack(x, [7, 5, 6, 4, 3])",
    "pack(x, [7, 6, 5, 4, 0])",
    "pack(x, [7, 6, 0, 4, 5], enforce_sorted=False)",
    "pack(x, [7, 6, 5, -1, -2])",
    "pack(x, [7] * 3)",
    "pack(x, [7] * 6)",
    "pack(x, [7] * 3, enforce_sorted=False)",
    "pack(x, [7] * 6, enforce_sorted=False)",
    "pack(x, [])",
    "pack(x, 7)",
    "pack(x, torch.full((5, 1), 7))",
    "pack(x, torch.full((5, 1), 7), enforce_sorted=False)",
    "pack(x, torch.full((5,), 7.5))",
    "pack(x, [7] * 7, batch_first=True)",
    "pack(x[0, 0], [7] * 8)",
    "pack(x[:0], [0] * 5)",
    "pack_sequence([x[:, 0], x[:4, 1]])",
    "pack_sequence([x[:4, 0], x[:, 1]])",
    "pack_sequence([x[:4, 0], x[:, 1]], enforce_sorted=False)",
    "pad(pack(x, [6, 6, 5, 4, 3]))",
    "pad(pack(x, [6, 2, 5, 4, 3], enforce_sorted=False), True)",
    "pad(pack(x, [6, 6, 5, 4, 3]), total_length=7)",
    "pad(pack(x, [6, 6, 5, 4, 3]), total_length=6)",
    "pad(pack(x, [6, 6, 5, 4, 3]), total_length=5)",
    "pad(pack(x, [6, 2, 5, 4, 3], enforce_sorted=False), total_length=5)",
    "pad(pack(x, [6, 6, 5, 4, 3]), True)[1]",
    "pad(PackedSequence(x[0, :4], torch.tensor([2, 2])))",
    "pad(PackedSequence(x[0, :3], torch.tensor([2, 2])))",
    *(
        f"self.{layer}(pack(x, [7] * 5{order}), torch.zeros({size}))[1]"
        for layer, size in (("gru", "1, {}, 8"), ("rnn", "2, {}, 8"))
        for order in ("", ", enforce_sorted=False")
        for size in (*(size.format(batch) for batch in (4, 5, 7)), "1, 8", "8", "1, 5, 7", "4, 5, 8")
    ),
    "self.lstm(pack(x, [7] * 5), (torch.zeros(1, 5, 8),) * 2)[1][1]",
    "self.lstm(pack(x, [7] * 5, enforce_sorted=False), (torch.zeros(1, 4, 8),) * 2)[1][1]",
    "self.lstm(pack(x, [7] * 5, enforce_sorted=False), (torch.zeros(1, 7, 8),) * 2)[1][1]",
    "self.lstm(pack(x, [7] * 5), (torch.zeros(1, 8),) * 2)[1][1]",
    "self.lstm(pack(x, [7] * 5), (torch.zeros(1, 5, 8),))[1][1]",
    "self.lstm(pack(x, [7] * 5, enforce_sorted=False), (torch.zeros(1, 5, 8),))[1][1]",
    "self.gru(pack(x, [9, 6, 5, 4, 3]))[1]",
    "self.gru(PackedSequence(x[0, :3], torch.tensor([2, 2])))[1]",
    "self.gru(PackedSequence(x[0, :4], torch.tensor([2, 2])))[1]",
    "self.gru(pack(x.double(), [7] * 5))[1]",
    "self.lstm(pack(x.double(), [7] * 5))[1][0]",
    "self.gru(pack(x[..., :1], [7] * 5))[1]",
    "self.gru(pack(x[..., None], [7] * 5))[1]",
    "self.gru(pack(x[..., 0], [7] * 5))[1]",
]


@pytest.mark.parametrize("expression", PACKED)
def test_lengths_and_states_are_refused_as_torch_does(tmp_path: Path, expression: str) -> None:
    """Told whole is what torch runs, of that shape; what it refuses, it is said to."""
    text = PRELUDE + ASKED.replace("y = {}", f"y = {expression}")
    (tmp_path / "net.py").write_text(text)
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=7x5x8"])
    space: dict[str, Any] = {}
    exec(text, space)
    told = [each.message for each in graph.problems]
    try:
        with torch.no_grad():
            given = space["Net"]()(torch.ones(7, 5, 8))
    except Exception as error:
        kinds = ("RuntimeError", "IndexError")  # of an index that is not there, torch raises either
        named = type(error).__name__
        assert any(f"raises {kind}" in each for kind in (kinds if named in kinds else (named,)) for each in told), told
        return
    assert not told
    assert [each.shape for each in graph.calls[-1].outputs] == [tuple(given.shape)]
