"""Paths that leave a loop, or the function, from inside a branch: each layer is told as often as it may run. The model
itself is the judge, in either mode, whether it leaves or goes on to the end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn

from modgraph import Graph, predict
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
