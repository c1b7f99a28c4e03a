"""Of sizes that are left open only what the model refuses is required, in few words; torch is the judge at both sides."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import modgraph
from tests.prediction.forward.judged import PRELUDE, predicted

UNET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 1, 1)
        self.down = nn.ModuleList(nn.Conv2d(4, 4, 3, 2, 1) for _ in range(DEPTH))

    def forward(self, x):
        x = self.a(x)
        kept = []
        for layer in self.down:
            kept.append(x)
            x = layer(x)
        while kept:
            x = F.interpolate(x, scale_factor=2)
            x = torch.cat([x, kept.pop()], 1)[:, :4]
        return self.b(x)
"""
WINDOWS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 4, 2, 1), nn.Conv2d(4, 4, 4, 2, 1)

    def forward(self, x):
        y = self.b(self.a(x))
        return torch.cat([self.a(x), F.interpolate(y, scale_factor=2)], 1)
"""
POOLED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.f = nn.Conv2d(1, 4, 5), nn.LazyLinear(3)

    def forward(self, x):
        return self.f(F.max_pool2d(self.c(x), 2).flatten(1))
"""
CASES = {
    "one halving": (UNET.replace("DEPTH", "1"), (3,), {"h % 2 == 0", "w % 2 == 0"}),
    "two halvings": (UNET.replace("DEPTH", "2"), (3,), {"h % 4 == 0", "w % 4 == 0"}),
    "height and width alike": (WINDOWS, (3,), None),
    "nothing that always holds": (POOLED, (1,), {"h >= 6", "w >= 6"}),
}


@pytest.mark.parametrize("kind", CASES)
def test_what_is_required_is_what_torch_refuses(tmp_path: Path, kind: str) -> None:
    text, channels, said = CASES[kind]
    (tmp_path / "net.py").write_text(PRELUDE + text)
    (given,) = modgraph.predict(f"{tmp_path / 'net.py'}:Net").model.inputs
    assert given.tensors[0].shape == ("batch", *channels, "h", "w")
    assert said is None or set(given.constraints) == said
    assert not given.followed
    assert len([each for each in given.constraints if "h" in each]) * 2 == len(given.constraints)
    space: dict[str, Any] = {"torch": torch, "nn": nn, "F": F}
    exec(text, space)
    for h, w in ((16, 24), (15, 24), (16, 23), (14, 24), (18, 8), (3, 8), (8, 3), (5, 8), (2, 2), (7, 7)):
        holds = all(eval(each, {}, {"h": h, "w": w}) for each in given.constraints)
        try:
            with torch.no_grad():
                space["Net"]()(torch.ones(2, *channels, h, w))
            runs = True
        except RuntimeError:
            runs = False
        assert holds is runs, (h, w)


def test_a_size_that_breaks_another_condition_too_shows_nothing(tmp_path: Path) -> None:
    """Sizes of one are refused only where they break that both are as long, too."""
    (tmp_path / "net.py").write_text(
        PRELUDE
        + """
class Net(nn.Module):
    def __init__(self, vocab, sizes):
        super().__init__()
        self.words, self.chars = nn.Embedding(9, 6), nn.Embedding(len(vocab), sizes.dim)
        self.lstm = nn.LSTM(sizes.dim, sizes.hidden, batch_first=True)

    def forward(self, words, chars):
        b, t, c = chars.shape
        _, (h, _) = self.lstm(self.chars(chars.view(b * t, c)))
        return torch.cat([self.words(words), h.permute(1, 0, 2).reshape(b, t, -1)], -1)
"""
    )
    inputs = {each.name: each for each in modgraph.predict(f"{tmp_path / 'net.py'}:Net").model.inputs}
    assert inputs["chars"].constraints == ("d1 == length",)


ROWS = (
    "w[i]",
    "w.index_select(0, i)",
    "w[i, :]",
    "F.embedding(i, w)",
    "w.T[:, i].T",
    "w.index_add(0, i, w[i])",
    "w[i][:, i]",
)


@pytest.mark.parametrize("row", ROWS)
def test_rows_that_are_counted_out_are_there(tmp_path: Path, row: str) -> None:
    text = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(9, 8), nn.Embedding(16, 8)

    def forward(self, x):
        w, i = self.places.weight, torch.arange(x.shape[1])
        y = {row}
        return self.words(x)
"""
    (tmp_path / "net.py").write_text(PRELUDE + text)
    (given,) = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["b x n:int64"]).model.inputs
    space: dict[str, Any] = {"torch": torch, "nn": nn, "F": F}
    exec(text, space)
    for n in (1, 8, 9, 16, 17, 40):
        try:
            space["Net"]()(torch.zeros(2, n, dtype=torch.long))
            runs = True
        except (IndexError, RuntimeError):
            runs = False
        assert all(eval(each, {}, {"n": n, "b": 2}) for each in given.constraints) is runs, n
    assert given.followed == ()


GENERATOR = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 6)
        self.model = nn.Sequential(nn.Linear(26, 32), %s, nn.Linear(32, 48), %s, nn.Linear(48, 16))

    def forward(self, noise, labels):
        return self.model(torch.cat((%s), -1)).view(%s)
"""
TOGETHER = {
    "norms that want two lengths": (
        "nn.BatchNorm1d(32)",
        "nn.BatchNorm1d(48)",
        "self.embed(labels), noise",
        "-1, 4, 4",
    ),
    "the other order": ("nn.BatchNorm1d(32)", "nn.BatchNorm1d(48)", "noise, self.embed(labels)", "-1, 4, 4"),
    "of what is made of it": (
        "nn.ReLU()",
        "nn.BatchNorm1d(48)",
        "self.embed(labels), noise * 2",
        "noise.size(0), 4, 4",
    ),
}


@pytest.mark.parametrize("kind", TOGETHER)
def test_inputs_that_are_put_together_fit(tmp_path: Path, kind: str) -> None:
    text = GENERATOR % TOGETHER[kind]
    (tmp_path / "net.py").write_text(PRELUDE + text)
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net")
    assert graph.complete
    space: dict[str, Any] = {"torch": torch, "nn": nn}
    exec(text, space)
    given = {each.name: each.tensors[0] for each in graph.model.inputs}
    sizes = {name: [3 if size == "batch" else size for size in each.shape or ()] for name, each in given.items()}
    assert all(isinstance(size, int) for each in sizes.values() for size in each)
    out = space["Net"]()(torch.ones(sizes["noise"]), torch.ones(sizes["labels"], dtype=torch.int64))
    told = graph.calls[0].outputs[0].shape
    assert told is not None
    assert [3 if size == "batch" else size for size in told] == list(out.shape)


def test_from_where_shapes_are_not_known_is_told(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        PRELUDE
        + """
import numpy as np
mean, std = np.load("/nowhere/stats.npy")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        x = self.a(x)
        return (x - mean) / std
"""
    )
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net")
    assert graph.model.open_shapes is not None
    assert "numpy.load" in graph.model.open_shapes.message
    assert graph.model.open_shapes.line == 15
    from modgraph.export.text.summary import summary

    assert "shapes      not known from net.py:15 on" in summary(graph)


PARTS = {
    "halves": "a, b = x.split(x.shape[1] // 2, 1)\nx = a * b",
    "halves of the last": "a, b = x.split(x.shape[2] // 2, 2)\nx = a * b",
    "thirds": "a, b, c = x.split(x.shape[1] // 3, 1)\nx = a * b * c",
    "halves in a loop": "s = 0\nfor p in x.split(x.shape[1] // 2, 1):\n    s = s + p\nx = s",
    "two chunks": "a, b = x.chunk(2, 1)\nx = a * b",
    "halves by hand": "x = x[:, : x.shape[1] // 2] + x[:, x.shape[1] // 2 :]",
}
TESTS_BEHIND = {
    "filled up": "p = -x.shape[2] % 8\nif p:\n    x = F.pad(x, (0, p))",
    "cut": "if x.shape[2] > 6:\n    x = x[..., :6]",
    "cut in the same dimension": "if x.shape[1] > 6:\n    x = x[:, :6]",
    "the least": "x = x[..., : min(x.shape[2], 6)]",
    "of the batch": "if x.shape[0] > 3:\n    x = x.mean(0, keepdim=True)",
}


@pytest.mark.parametrize("behind", TESTS_BEHIND)
@pytest.mark.parametrize("parts", PARTS)
def test_what_is_asked_behind_a_split_is_not_required(tmp_path: Path, parts: str, behind: str) -> None:
    lines = [*PARTS[parts].split("\n"), *TESTS_BEHIND[behind].split("\n"), "return x"]
    text = "class Net(nn.Module):\n    def forward(self, x):\n" + "".join(f"        {line}\n" for line in lines)
    (tmp_path / "net.py").write_text(PRELUDE + text)
    (given,) = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=b x h x w"]).model.inputs
    space: dict[str, Any] = {"torch": torch, "nn": nn, "F": F}
    exec(text, space)
    model, n_taken = space["Net"](), 0
    for b, h, w in itertools.product((1, 4), (2, 3, 6, 9, 12, 16), (2, 3, 6, 8, 9, 16)):
        try:
            model(torch.ones(b, h, w))
        except (RuntimeError, ValueError):
            continue
        n_taken += 1
        assert all(eval(each, {}, {"b": b, "h": h, "w": w}) for each in given.constraints), (b, h, w)
    assert n_taken > 4


TABLES = {
    "of two": "x = x + self.t[:, :, : x.shape[2], : x.shape[3]]",
    "of three": "x = x + self.t[:, : x.shape[1], : x.shape[2], : x.shape[3]]",
    "of two, and cut": "x = x + self.t[..., : x.shape[2], : x.shape[3]]\nif x.shape[2] > 3:\n    x = x[:, :, :3]",
    "from the second on": "x = x + self.t[:, :, 2 : 2 + x.shape[2], 2 : 2 + x.shape[3]]",
    "a mask": "m = torch.ones(9, 9).tril()[: x.shape[2], : x.shape[3]]\nx = x.masked_fill(m == 0, 0)",
    "two tables": "x = x + self.t[0, 0, 0, : x.shape[3]]\nx = x + self.t[0, 0, : x.shape[2], :1]",
    "pooled to half, and the batch": (
        "x = F.adaptive_avg_pool2d(x, (x.shape[2] // 2, x.shape[3]))\nx = x.view(x.shape[0] // 2, 2, *x.shape[1:])"
    ),
    "resized to half, and the batch": (
        "x = F.interpolate(x, size=(x.shape[2] // 2, x.shape[3]))\nx = x.view(x.shape[0] // 2, 2, *x.shape[1:])"
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_several_tests_are_turned_where_one_is_not_enough(tmp_path: Path, kind: str) -> None:
    text = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.t = nn.Parameter(torch.zeros(1, 9, 9, 9))\n    def forward(self, x):\n"
        + "".join(f"        {line}\n" for line in [*TABLES[kind].split("\n"), "return x"])
    )
    (tmp_path / "net.py").write_text(PRELUDE + text)
    channels: int | str = "c" if kind == "of three" else 9
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=[f"x=b x {channels} x h x w"])
    assert not graph.problems
    (given,) = graph.model.inputs
    space: dict[str, Any] = {"torch": torch, "nn": nn, "F": F}
    exec(text, space)
    model, n_taken = space["Net"](), 0
    for b, h, w in itertools.product((2, 3), (2, 4, 7, 8, 9, 10), (1, 6, 9, 12)):
        held = {"b": b, "c": 9, "h": h, "w": w}
        try:
            model(torch.ones(b, 9, h, w))
        except RuntimeError:
            assert not all(eval(each, {}, held) for each in (*given.constraints, *given.followed)), held
            continue
        n_taken += 1
        assert all(eval(each, {}, held) for each in given.constraints), held
    assert n_taken > 4


MULTIPLES = """
class Net(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        assert n % {by} == 0
        return {made}
"""
MADE_OF_MULTIPLES = [
    "(n + 3) // 4 * 4",
    "(n + 3) // 4",
    "n // 2 * 2",
    "4 * ((n + 3) // 4) - n + 1",
    "(n + 2) // 4",
    "(n * n + 3) // 4",
]


@pytest.mark.parametrize("by", [2, 4, 8])
@pytest.mark.parametrize("made", MADE_OF_MULTIPLES)
def test_a_size_is_told_under_what_is_required(made: str, by: int, tmp_path: Path) -> None:
    graph = predicted(tmp_path, MULTIPLES.format(by=by, made=f"x.new_zeros({made}, 3)"), ["n x 8"])
    (size, _), text = graph.calls[0].outputs[0].shape, f"n % {by} == 0"
    assert graph.model.inputs[0].constraints == (text,)
    for n in range(by, 12 * by, by):
        assert eval(str(size), {"n": n}) == eval(made, {"n": n})
    if by % 4 == 0 and "+ 3) // 4" in made and "*" not in made.replace("4 * 4", ""):
        assert "+" not in str(size)
