"""Shapes and layout of grouped products and histograms, and what torch refuses of them: as torch says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not hasattr(torch.nn.functional, "grouped_mm"), reason="this torch has no grouped products"
)

PROGRAM = """
import torch
import torch.nn.functional as F
offs = torch.zeros(3, dtype=torch.int32)
def is_flat(tensor):
    try:
        return tensor.view(-1).dim() == 1
    except RuntimeError:
        return False
def told(call):
    try:
        result = call()
    except RuntimeError:
        return "refused"
    return (tuple(result.shape), is_flat(result), [torch.float32, torch.float64, torch.bfloat16].index(result.dtype))
"""
CALLS = [
    "F.grouped_mm(torch.ones(6, 8), torch.ones(3, 8, 4), offs=offs)",
    "F.grouped_mm(torch.ones(6, 8), torch.ones(3, 4, 8).transpose(-2, -1), offs=offs)",
    "F.grouped_mm(torch.ones(6, 16).bfloat16(), torch.ones(3, 12, 16).transpose(-1, -2).bfloat16(), offs=offs)",
    "F.grouped_mm(torch.ones(3, 8, 8), torch.ones(3, 8, 4))",
    "F.grouped_mm(torch.ones(3, 8, 8), torch.ones(8, 8), offs=offs)",
    "F.grouped_mm(torch.ones(4, 8), torch.ones(8, 4), offs=offs)",
    "F.grouped_mm(torch.ones(6, 12), torch.ones(3, 8, 4), offs=offs)",
    "F.grouped_mm(torch.ones(6, 8), torch.ones(2, 8, 4), offs=offs)",
    "F.grouped_mm(torch.ones(8), torch.ones(3, 8, 4), offs=offs)",
    "F.grouped_mm(torch.ones(6, 8), torch.ones(3, 8, 5), offs=offs)",
    "torch._grouped_mm(torch.ones(6, 8), torch.ones(3, 8, 4), offs)",
    "torch.histc(torch.rand(9), bins=4, min=0, max=3)",
    "torch.rand(2, 3).double().histc()",
    "torch.histc(torch.ones(3), bins=0)",
    "torch.histc(torch.ones(3), bins=2, min=3, max=1)",
]


@pytest.mark.parametrize("call", CALLS)
def test_they_are_as_in_torch(call: str, evaluated: Any) -> None:
    namespace: dict[str, Any] = {}
    exec(f"{PROGRAM}\nRESULT = told(lambda: {call})", namespace)
    predicted = evaluated(f"{PROGRAM}\nRESULT = told(lambda: {call})")
    assert predicted in (namespace["RESULT"], evaluated.UNKNOWN)


@pytest.mark.parametrize("call", CALLS[:1] + CALLS[3:8] + CALLS[10:14])
def test_most_is_known(call: str, evaluated: Callable[[str], Any]) -> None:
    namespace: dict[str, Any] = {}
    exec(f"{PROGRAM}\nRESULT = told(lambda: {call})", namespace)
    assert evaluated(f"{PROGRAM}\nRESULT = told(lambda: {call})") == namespace["RESULT"]
