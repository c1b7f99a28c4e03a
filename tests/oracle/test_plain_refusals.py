"""A part of the sweep over what torch refuses: a class that does nothing else never seems to run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))
try:
    import plain_refusals
finally:
    sys.path.pop(0)

FUNCTIONS = ["bmm", "matmul", "cat", "clamp", "flatten", "squeeze", "max", "nn.functional.pad", "nn.functional.softmax"]
LAYERS = ["Conv2d", "ConvTranspose1d", "Linear", "GroupNorm", "LayerNorm", "MaxPool1d", "AdaptiveAvgPool2d", "Flatten"]


def test_a_function_that_torch_refuses_does_not_seem_to_run() -> None:
    rows = list(plain_refusals.of_functions(FUNCTIONS, 1))
    assert [told for row in rows for told in row.wrong] == []
    assert sum(row.refused for row in rows) > 80
    assert sum(row.seen for row in rows) > 50


def test_a_layer_that_torch_refuses_does_not_seem_to_run() -> None:
    rows = list(plain_refusals.of_layers(LAYERS, 1))
    assert [told for row in rows for told in row.wrong] == []
    assert sum(row.refused for row in rows) > 80
    assert sum(row.seen for row in rows) > 80


def test_the_judge_sees_what_is_wrong() -> None:
    assert plain_refusals.seems_to_run((), "torch.zeros(2, 3).flatten()")
    assert not plain_refusals.seems_to_run((), "torch.zeros(2, 3).view(7)")
    row = plain_refusals.Row("torch.mm")
    taken = ((), "torch.zeros(2, 3).flatten()")
    plain_refusals.count(row, [taken], [(torch.mm, ((torch.zeros(2, 3), torch.zeros(2, 3)), {}))])
    assert row.wrong == ["torch.zeros(2, 3).flatten()"]
