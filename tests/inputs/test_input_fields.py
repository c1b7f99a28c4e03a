"""Inputs of recommenders, of packed sequences, and in data classes: what `forward` reads of them one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import pytest
import torch
from torch import nn

from modgraph.inputs.making import Inputs, make_inputs
from modgraph.options import TraceOptions


def inferred(model: nn.Module) -> Inputs:
    return make_inputs(model, [], None, TraceOptions())


def shapes(inputs: Inputs) -> dict[str, tuple[int, ...]]:
    return {tensor.name: tuple(tensor.shape) for info in inputs.infos for tensor in info.tensors}


class _Tables(nn.Module):
    """A table for each column, which is cut out as a slice of one: one past the end is empty, and no error by itself."""

    def __init__(self, join: Any) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(20 + index, 4) for index in range(19))
        self.dense = nn.Linear(13, 4)
        self.join = join

    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        rows = [table(self.join(sparse, i)) for i, table in enumerate(self.tables)]
        return torch.stack([self.dense(dense), *rows], 1)


def test_columns_that_are_cut_out_one_by_one_are_counted() -> None:
    inputs = inferred(_Tables(lambda sparse, i: sparse[:, i : i + 1]))
    assert inputs.warning is None
    assert shapes(inputs) == {"dense": (1, 13), "sparse": (1, 19)}


class _Listener(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, (1, 2), 1)
        self.rnn = nn.LSTM(4 * 20, 6, batch_first=True)

    def forward(self, mel: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        x = self.conv(mel.unsqueeze(1)).transpose(1, 2).flatten(2)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        out, _ = self.rnn(packed)
        return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0]


def test_a_packed_sequence_has_the_width_that_the_recurrent_layer_takes() -> None:
    # torch itself does not compare them: it reads what lies behind the tensor, or crashes.
    inputs = inferred(_Listener())
    assert inputs.warning is None
    assert shapes(inputs)["mel"][-1] == 40


@dataclass
class _Batch:
    ids: torch.Tensor
    heads: int
    mask: torch.Tensor | None = None
    scale: float = 2.5


class _Fields(NamedTuple):
    ids: torch.Tensor
    mask: torch.Tensor
    heads: int = 4
    scale: float = 2.5


class _Read(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 8)

    def read(self, batch: Any) -> torch.Tensor:
        assert type(batch.scale) is float
        assert type(batch.heads) is int
        return self.embed(batch.ids).unflatten(-1, (batch.heads, -1)) * batch.scale * batch.mask[..., None, None]


class _ReadsDataClass(_Read):
    def forward(self, batch: _Batch) -> torch.Tensor:
        return self.read(batch)


class _ReadsNamedTuple(_Read):
    def forward(self, batch: _Fields) -> torch.Tensor:
        return self.read(batch)


@pytest.mark.parametrize("model", [_ReadsDataClass, _ReadsNamedTuple])
def test_numbers_among_the_fields_are_numbers(model: type[nn.Module]) -> None:
    inputs = inferred(model())
    assert inputs.warning is None
    assert inputs.args[0].scale == 2.5
    assert shapes(inputs) == {"batch.ids": (1, 8), "batch.mask": (1, 8)}


class _Typed(TypedDict):
    ids: torch.Tensor


class _ReadsTypedDict(_Read):
    def forward(self, batch: _Typed) -> torch.Tensor:
        return self.embed(batch["ids"])


def test_a_typed_dict_is_a_dict() -> None:
    inputs = inferred(_ReadsTypedDict())
    assert inputs.warning is None
    assert isinstance(inputs.args[0], dict)
