"""Inputs in the shape that a model's author wrote down, and only where it is one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from modgraph.inputs.making import make_inputs
from modgraph.options import TraceOptions

pytestmark = pytest.mark.needs_torch


def shape_of(model: nn.Module, name: str = "x") -> Any:
    inputs = make_inputs(model, [], None, TraceOptions())
    assert inputs.warning is None
    model.eval()(*inputs.args, **inputs.kwargs)
    return next(info.tensors[0].shape for info in inputs.infos if info.name == name)


class Spectrogram(nn.Module):
    """Positions are fixed by two sizes at once, neither of which any layer tells of."""

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(max_length=100, num_bins=48, width=6)
        self.patches = nn.Conv2d(1, 6, 8, stride=8)
        self.positions = nn.Parameter(torch.zeros(1, 12 * 6, 6))

    def forward(self, values: torch.Tensor | None = None) -> torch.Tensor:
        """Args:
        values (`torch.Tensor` of shape `(batch_size, max_length, num_bins)`):
            Features of a signal (see (a, b)).
        """
        made = self.patches(values[:, None]).flatten(2).transpose(1, 2)
        return made + self.positions


class Commented(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seq_len = 24
        self.over_time = nn.Linear(24, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # x: [Batch, seq_len, 7]
        return self.over_time(x.transpose(1, 2)).transpose(1, 2)


class Sized(nn.Module):
    """x: Tensor[B, C, H, W]."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, _, height, width = x.shape
        return (x - self.mean).view(batch, -1, height * width)


class Prose(nn.Module):
    """x: what is looked at (as it is, and as it was), y (a, b)."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One layer (of two, or more).

        Args:
            x: a tensor.

        Returns:
            something of shape (3, 4, 9).
        """
        return self.layer(x)


class Wrong(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv1d(3, 2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, 9, 9, 9)."""
        return self.layer(x)


@pytest.mark.parametrize(
    ("model", "name", "shape"),
    [
        (Spectrogram(), "values", (1, 100, 48)),
        (Commented(), "x", (1, 24, 7)),
        (Sized(), "x", (1, 3, 224, 224)),
        (Prose(), "x", (1, 5)),
        (Wrong(), "x", (1, 3, 64)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else None,
)
def test_the_shape_is_the_one_written_down_where_that_runs(model: nn.Module, name: str, shape: Any) -> None:
    assert shape_of(model, name) == shape
