"""A part of the sweep over what torch refuses: the prediction refuses it or leaves it open, and refuses nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from modgraph.prediction.deep_stack import with_deep_stack

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))
try:
    import operator_refusals
finally:
    sys.path.pop(0)

OPERATORS = {
    "indices": ["scatter*", "put", "index_fill", "select_scatter", "slice_scatter", "masked_*", "where"],
    "products": ["addmm", "addmv", "baddbmm", "nn.functional.linear", "nn.functional.bilinear"],
    "losses": ["nn.functional.*loss", "nn.functional.kl_div", "nn.functional.binary_*"],
    "resolution": ["nn.functional.pad", "nn.functional.interpolate", "nn.functional.adaptive_avg_pool2d"],
    "elements": ["exp", "cos", "addcmul", "lerp", "flip", "sort", "select", "softmax", "log_softmax"],
}
LAYERS = ["MSELoss", "PReLU", "BatchNorm2d", "GroupNorm", "Softmax", "CircularPad1d", "GRUCell", "LSTMCell"]


def _wrong(rows: list[operator_refusals.Row]) -> list[str]:
    return [f"{row.name}: {told}" for row in rows for told in (*row.certain, *row.false)]


@pytest.mark.parametrize("group", OPERATORS)
def test_what_torch_refuses_is_not_certain_to_run(group: str) -> None:
    asked = operator_refusals.Asked()
    rows = list(operator_refusals.of_operators(asked, OPERATORS[group], 1))

    assert sum(row.right for row in rows) > 40
    assert sum(row.taken for row in rows) > 50
    assert _wrong(rows) == []


def test_layers_refuse_what_torch_refuses() -> None:
    asked = operator_refusals.Asked()
    rows = with_deep_stack(lambda: list(operator_refusals.of_layers(asked, LAYERS, 1)))

    assert sum(row.right for row in rows) > 100
    assert sum(row.taken for row in rows) > 100
    assert _wrong(rows) == []
