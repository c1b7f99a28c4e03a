"""A part of the sweep over torch's own operators: what the prediction says of each is what torch gives."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))
try:
    import operator_shapes
finally:
    sys.path.pop(0)

GROUPS = {
    "reductions": [
        "std*",
        "var*",
        "max*",
        "min*",
        "aminmax",
        "median",
        "nanmedian",
        "mode",
        "kthvalue",
        "logsumexp",
        "norm",
    ],
    "arithmetic": [
        "div",
        "fmod",
        "remainder",
        "logical_*",
        "atan2",
        "lerp",
        "masked_fill",
        "where",
        "inner",
        "abs",
        "square",
    ],
    "parts": [
        "unique*",
        "index_select",
        "unfold",
        "*split*",
        "*chunk",
        "cat",
        "meshgrid",
        "gather",
        "narrow",
        "diagonal",
    ],
    "along a dimension": [
        "softmax",
        "log_softmax",
        "cum*",
        "nn.functional.softmin",
        "round",
        "bucketize",
        "searchsorted",
    ],
    "making": ["arange", "empty_strided", "scalar_tensor", "normal", "full", "zeros_like", "linspace", "eye"],
    "several": [
        "svd",
        "qr",
        "frexp",
        "histogram",
        "gradient",
        "lu*",
        "geqrf",
        "triangular_solve",
        "block_diag",
        "addbmm",
    ],
}


@pytest.mark.parametrize("group", GROUPS)
def test_operators_give_what_torch_gives(group: str) -> None:
    rows = list(operator_shapes.sweep(GROUPS[group], 2, (torch.float32, torch.int64), only_known=True))
    assert sum(row.calls for row in rows) > 100
    assert [f"{row.name}: {wrong}" for row in rows for wrong in row.wrong] == []
