"""The dtype of what functions of torch give, of each dtype that they may be given; torch is the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import is_whole, predicted, wrong

pytestmark = pytest.mark.needs_torch

NET = """
class Seen(nn.Module):
    def forward(self, x):
        return x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = nn.ModuleList([Seen() for _ in range(%s)])

    def forward(self, x):
        %s
"""
DTYPES = ("float16", "bfloat16", "float32", "float64", "int32", "uint8", "bool", "complex64", "complex128")
WITH_NUMBERS = [
    "x + 1",
    "x * 1.5",
    "x + 1j",
    "True * x",
    "x.sum() + 1",
    "x.sum() * 1.5",
    "1j * x.sum()",
    "x[0, 0] * 2.5",
]
WITH_TENSORS = [f"x + torch.ones({size}dtype=torch.{dtype})" for size in ("2, 3, ", "(), ") for dtype in DTYPES]
WITHOUT_DIMENSIONS = [
    f"x[0, 0] * torch.ones({size}dtype=torch.{dtype})" for size in ("2, ", "(), ") for dtype in DTYPES
]
REAL = [
    *("x.clamp(0, 1)", "x.clamp(0., 1.)", "x.clamp(max=2)", "x.clamp_min(0)", "x.clip(0, 1.)", "x[0, 0].clamp(0, 1)"),
    *("torch.einsum('ij->', x)", "torch.einsum('ij->j', x)", "torch.einsum('ij', x)", "torch.einsum('...j->...', x)"),
    *("torch.einsum('ij,ij->ij', x, x)", "torch.einsum('ij->ji', x)", "torch.einsum('...j->j...', x)"),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_are_those_of_torch(dtype: str, tmp_path: Path) -> None:
    tried = [*WITH_NUMBERS, *WITH_TENSORS, *WITHOUT_DIMENSIONS, *(REAL if "complex" not in dtype else ())]
    body = "\n        ".join(f"self.seen[{place}]({each})" for place, each in enumerate(tried))
    text = NET % (len(tried), body)
    assert wrong(tmp_path, text, [f"2x3:{dtype}"]) == []
    graph = predicted(tmp_path, text, [f"2x3:{dtype}"])
    assert is_whole(graph)
    assert [call for call in graph.calls[1:] if call.outputs[0].dtype is None] == []
