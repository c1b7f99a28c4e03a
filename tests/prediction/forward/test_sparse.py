"""Sparse matrices, as graph networks make and multiply them; torch is the judge of shapes and dtypes."""

from __future__ import annotations

import textwrap
import warnings
from pathlib import Path

import pytest
import torch

import modgraph

pytestmark = pytest.mark.needs_torch

MADE = [
    "torch.sparse.FloatTensor(i, torch.ones(2), torch.Size([2, 5]))",
    "torch.sparse.LongTensor(i, torch.ones(2, dtype=torch.int64), torch.Size([3, 5]))",
    "torch.sparse.DoubleTensor(2, 5)",
    "torch.sparse_coo_tensor(i, torch.ones(2), (2, 5))",
    "torch.sparse_coo_tensor(i, [1, 2], size=(2, 5), dtype=torch.float64)",
    "torch.spmm(torch.sparse_coo_tensor(i, torch.ones(2), (2, 5)), torch.ones(5, 3))",
    "torch.sparse.mm(torch.sparse_coo_tensor(i, torch.ones(2), (2, 5)), torch.ones(5, 4))",
    "torch.sparse_coo_tensor(i, torch.ones(2), (2, 5)) @ torch.ones(5, 4)",
]


@pytest.mark.parametrize("text", MADE)
def test_shapes_and_dtypes_are_those_of_torch(tmp_path: Path, text: str) -> None:
    made = f"""
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, x):
            i = torch.LongTensor([[0, 1], [1, 0]])
            return {text}
    """
    file = tmp_path / "net.py"
    file.write_text(textwrap.dedent(made))
    graph = modgraph.predict(f"{file}:Net", inputs=["1"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        i = torch.LongTensor([[0, 1], [1, 0]])
        real = eval(text, {"torch": torch, "i": i})
    assert graph.complete, graph.problems
    (output,) = graph.calls[0].outputs
    assert (output.shape, f"torch.{output.dtype}") == (tuple(real.shape), str(real.dtype))


def test_without_a_size_the_shape_is_not_known(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        textwrap.dedent("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return torch.sparse_coo_tensor(torch.LongTensor([[0, 1], [1, 0]]), torch.ones(2))
        """)
    )
    graph = modgraph.predict(f"{file}:Net", inputs=["1"])
    assert graph.calls[0].outputs[0].shape is None
