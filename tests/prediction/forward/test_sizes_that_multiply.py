"""Sizes that together must be a number, as of a product: of those that are left open some are found with which the model
runs, and what is told of them is what torch takes, and no more."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import modgraph
from tests.prediction.forward.judged import PRELUDE

EXPRESSIONS: dict[str, tuple[int | str, ...]] = {
    "x.reshape(x.shape[0], -1)": ("batch", "d", "n"),
    "x.flatten()": ("d", "n"),
    "x.reshape(-1)[1:]": ("d", "n"),
    "x[:, ::2].flatten()": ("d", "n"),
    "x[1:, 2:].flatten()": ("d", "n"),
    "torch.cat([x[0], x[:, 0]])": ("d", "n"),
    "torch.cat([x.flatten(), x[0]])": ("d", "n"),
    "F.max_pool2d(x, 2).flatten(1)": ("batch", 2, "h", "w"),
    "F.pad(x, (1, 1)).flatten(1)": ("batch", "d", "n"),
    "(x if x.shape[1] == 3 else x[:, :1]).flatten(1)": ("batch", "d", "n"),
    "x.new_zeros(x.shape[0] - x.shape[1])": ("d", "n"),
    "x.new_zeros(x.shape[0] ** 2 * x.shape[1])": ("d", "n"),
}
MODEL = """
class Net(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.fc = nn.Linear(features, 3)

    def forward(self, x):
        return self.fc(EXPRESSION)
"""
FEATURES = (10, 18)
SIZES = range(1, 21)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_some_are_found_and_what_is_told_of_them_is_what_torch_takes(tmp_path: Path, expression: str) -> None:
    text, shape = MODEL.replace("EXPRESSION", expression), EXPRESSIONS[expression]
    (tmp_path / "net.py").write_text(PRELUDE + text)
    space: dict[str, Any] = {"torch": torch, "nn": nn, "F": F}
    exec(text, space)
    free = [size for size in shape if isinstance(size, str) and size != "batch"]
    for features in FEATURES:
        graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net({features})", inputs=[" x ".join(map(str, shape))])
        told = [each for given in graph.model.inputs for each in (*given.constraints, *given.followed)]
        model = space["Net"](features)
        taken = []
        for sizes in itertools.product(SIZES, repeat=len(free)):
            held = {"batch": 2, **dict(zip(free, sizes, strict=True))}
            try:
                model(torch.ones([held[each] if isinstance(each, str) else each for each in shape]))
            except (RuntimeError, IndexError):
                assert graph.problems or not all(eval(each, {}, held) for each in told), (held, told)
            else:
                taken.append(held)
        assert bool(graph.problems) is not bool(taken), (features, told, taken[:1])
        assert all(eval(each, {}, held) for held in taken for given in graph.model.inputs for each in given.constraints)


def test_the_sizes_that_differ_stay_open_where_nobody_gave_inputs(tmp_path: Path) -> None:
    text = PRELUDE + MODEL.replace("nn.Linear(features, 3)", "nn.Linear(480, 3)").replace(", features", "")
    text = text.replace("        self.fc", "        self.conv = nn.Conv2d(3, 8, 3, padding=1)\n        self.fc")
    (tmp_path / "net.py").write_text(text.replace("EXPRESSION", "F.max_pool2d(self.conv(x), 2).flatten(1)"))
    (given,) = modgraph.predict(f"{tmp_path / 'net.py'}:Net").model.inputs
    assert given.tensors[0].shape == ("batch", 3, "h", "w")
    assert "(h // 2)*(w // 2) == 60" in given.constraints
