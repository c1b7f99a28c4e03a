"""Paths that leave a loop, or the function, from inside a branch: each layer is told as often as it may run. The model
itself is the judge, in either mode, whether it leaves or goes on to the end."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn

from modgraph import Graph, predict
from modgraph.graph.model import Call
from tests.prediction.forward.judged import PRELUDE

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.heads = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.final = nn.Linear(4, 3)

    def forward(self, x, early=False):
%s
        return self.final(x)
"""
TURN = "for layer, head in zip(self.layers, self.heads):\n    x = layer(x)\n"
EXITS = {
    "break": TURN + "    if not self.training:\n        y = head(x)\n        if y.max() > 9:\n            break",
    "more in the branch": TURN
    + "    if not self.training:\n        y = head(x)\n        if y.max() > 9:\n            break\n        x = x + y",
    "in the other arm": TURN
    + "    if self.training:\n        x = x + 1\n    else:\n        y = head(x)\n        if y.max() > 9:\n            break",
    "both arms": TURN
    + "    if not self.training:\n        y = head(x)\n        if y.max() > 9:\n            break\n"
    + "    else:\n        if x.sum() > 99:\n            break",
    "a branch in it": TURN
    + "    if not self.training:\n        if x.min() < 99:\n            y = head(x)\n"
    + "            if y.max() > 9:\n                break",
    "and": TURN + "    if not self.training and (y := head(x)).max() > 9:\n        break",
    "an argument": TURN + "    if early:\n        y = head(x)\n        if y.max() > 9:\n            break",
    "while": "i = 0\nwhile i < 3:\n    x = self.layers[i](x)\n    if not self.training:\n"
    + "        y = self.heads[i](x)\n        if y.max() > 9:\n            break\n    i += 1",
}


def told(tmp_path: Path, kind: str, mode: str) -> Graph:
    (tmp_path / "net.py").write_text(PRELUDE + NET % "\n".join("        " + each for each in EXITS[kind].splitlines()))
    return predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=2x4"], mode="eval" if mode == "eval" else "train")


def runs(tmp_path: Path, mode: str) -> list[Counter[str]]:
    """How often each module runs, where the model leaves at the first head, at the second, and nowhere."""
    space: dict[str, type[nn.Module]] = {}
    exec((tmp_path / "net.py").read_text(), space)
    found = []
    for leaving in range(3):
        model = space["Net"]().train(mode == "train")
        met: Counter[str] = Counter()
        for name, module in model.named_modules():
            module.register_forward_hook(lambda *_, met=met, name=name: met.update([name]))
        with torch.no_grad():
            for each in model.parameters():
                each.zero_()
            if leaving < 2:
                model.get_submodule(f"heads.{leaving}").bias.fill_(10)
            model(torch.zeros(2, 4))
        found.append(met)
    return found


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("kind", EXITS)
def test_each_layer_is_told_as_often_as_it_may_run(tmp_path: Path, kind: str, mode: str) -> None:
    graph = told(tmp_path, kind, mode)
    met = runs(tmp_path, mode)
    for node in graph.modules:
        calls = [graph.calls[index] for index in node.calls]
        assert len(calls) <= 1, node.path
        least = sum(call.certain for call in calls)
        times = {each[node.path] for each in met}
        assert least <= min(times), node.path
        assert max(times) <= len(calls), node.path


@pytest.mark.parametrize("kind", sorted({*EXITS} - {"both arms"}))
def test_what_the_mode_rules_out_leaves_nothing_open(tmp_path: Path, kind: str) -> None:
    graph = told(tmp_path, kind, "train")
    assert all(call.certain for call in graph.calls if not call.module.startswith("heads."))


RETURNS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.b = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.c = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.final = nn.Linear(4, 4)

    def inner(self, x, p, q, r):
%s
        return self.final(x)

    def forward(self, x, p=False, q=False, r=False):
        return %s
"""
TURNS = {
    "for": "for i in range(3):\n    x = self.a[i](x)\n    if p and q:\n        return self.b[i](x)",
    "in a branch": "for i in range(3):\n    if p:\n        if q:\n            return self.b[i](x)\n        x = self.a[i](x)",
    "two in a branch": "for i in range(3):\n    if p:\n        if q:\n            return self.b[i](x)\n        if r:\n"
    "            return x\n        x = self.a[i](x)",
    "all of a branch": "for i in range(3):\n    if p:\n        if q:\n            if r:\n                return self.b[i](x)\n"
    "            return x\n        x = self.a[i](x)",
    "deeper": "for i in range(2):\n    if p:\n        if q:\n            if r:\n                return x\n"
    "            x = self.a[i](x)\n        x = self.b[i](x)",
    "while": "i = 0\nwhile i < 3:\n    if p:\n        if q and i:\n            return self.b[i](x)\n"
    "        x = self.a[i](x)\n    i += 1",
    "loops in each other": "for i in range(2):\n    for j in range(2):\n        if p:\n            if q:\n                return x\n"
    "            x = self.a[2 * i + j](x)\n        x = self.b[2 * i + j](x)\n    if r:\n        return x",
    "try": "try:\n    for i in range(3):\n        if p:\n            if q:\n                return x\n            x = self.a[i](x)\n"
    "except ValueError:\n    pass",
    "with": "for i in range(3):\n    with torch.no_grad():\n        if p:\n            if q:\n                return x\n"
    "            x = self.a[i](x)\n        x = self.b[i](x)",
    "an exception": "for i in range(3):\n    try:\n        if p:\n            raise ValueError\n        x = self.a[i](x)\n"
    "    except ValueError:\n        if q:\n            return self.b[i](x)\n        if r:\n            return x\n"
    "    x = self.c[i](x)",
    "match": "for i in range(3):\n    match p:\n        case True:\n            if q:\n                return self.b[i](x)\n"
    "            x = self.a[i](x)\n        case False if r:\n            return x\n        case _:\n            x = self.c[i](x)",
    "and a break": "for i in range(3):\n    if p:\n        if q:\n            break\n        if r:\n            return x\n"
    "        x = self.a[i](x)\n    x = self.b[i](x)",
    "and a continue": "for i in range(3):\n    if p:\n        continue\n    if q:\n        return self.b[i](x)\n    x = self.a[i](x)",
}


@pytest.mark.parametrize("call", ["self.inner(x, p, q, r)", "Net.inner(self, self.inner(x, p, q, r), p, q, r)"])
@pytest.mark.parametrize("kind", TURNS)
def test_a_return_in_a_loop_leaves_each_layer_told_as_often_as_it_may_run(tmp_path: Path, kind: str, call: str) -> None:
    text = RETURNS % ("\n".join("        " + each for each in TURNS[kind].splitlines()), call)
    (tmp_path / "net.py").write_text(PRELUDE + text)
    graph = predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=2x4"])
    space: dict[str, type[nn.Module]] = {}
    exec((tmp_path / "net.py").read_text(), space)
    model = space["Net"]().eval()
    met: Counter[str] = Counter()
    for name, module in model.named_modules():
        module.register_forward_hook(lambda *_, name=name: met.update([name]))
    most: Counter[str] = Counter()
    every = [dict(zip("pqr", given, strict=True)) for given in itertools.product([False, True], repeat=3)]
    for options in every:
        met.clear()
        model(torch.zeros(2, 4), **options)
        most |= met
        held = Counter(each.module for each in graph.calls if _may_run(each, options))
        assert not met - held, options
    may_run = Counter(each.module for each in graph.calls if any(_may_run(each, options) for options in every))
    never = {"b.1", "b.2"} if kind == "for" else set()  # behind a test that does not change, whose first turn leaves
    assert {name for name, number in may_run.items() if number > most[name]} <= never


def _may_run(call: Call, options: dict[str, bool]) -> bool:
    """Its condition does not rule it out, whatever turn the loop is in."""
    if call.condition is None:
        return True
    text = call.condition.text.replace("later ", "")
    return any(eval(text, {}, {**options, "i": i}) for i in range(3))
