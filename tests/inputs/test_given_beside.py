"""What is told of inputs that are no tensors, and how long inputs are looked for."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from modgraph import trace
from modgraph.inputs import search
from modgraph.inputs.making import Inputs, make_inputs
from modgraph.inputs.sides import search_sides
from modgraph.options import TraceOptions

pytestmark = pytest.mark.needs_torch


def inferred(model: nn.Module) -> Inputs:
    return make_inputs(model.eval(), [], None, TraceOptions())


class _Array(nn.Module):
    """Takes an array; what it is made into decides whether it runs."""

    def __init__(self, use: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)
        self.use = [use]

    def forward(self, features: Any) -> torch.Tensor:
        return self.layer(self.use[0](features))


USES = {
    "cast": lambda x: torch.from_numpy(x.astype(np.float32)),
    "copied": lambda x: torch.from_numpy(x.copy()),
    "taken over": lambda x: torch.from_numpy(x),
    "multiplied": lambda x: (
        torch.from_numpy(np.multiply(np.ones(x.shape, np.float32), x, dtype=np.float32)).mul_(1)
        if x.flat is not None
        else x
    ),
}


@pytest.mark.parametrize("use", USES)
def test_an_array_is_told_as_one(use: str) -> None:
    inputs = inferred(_Array(USES[use]))
    assert inputs.warning is None
    (info,) = inputs.infos
    assert isinstance(inputs.args[0], np.ndarray)
    assert (info.tensors, info.literal, info.origin) == ((), "numpy array 1x6:float32", "inferred")
    assert any("array of numpy" in rule for rule in info.rules)


def test_an_array_that_is_given_in_vain_is_no_option_of_the_command() -> None:
    class Never(_Array):
        def forward(self, features: Any) -> torch.Tensor:
            return self.layer(torch.from_numpy(features.astype(np.float32))).reshape(7, 7, 7)

    inputs = inferred(Never(None))
    assert inputs.warning is not None
    assert "example_inputs" in inputs.warning
    assert "--input" not in inputs.warning


def test_an_array_of_the_users_is_told_too() -> None:
    graph = trace(_Array(USES["cast"]), (np.zeros((2, 6)),))
    assert graph.model.inputs[0].literal == "numpy array 2x6:float64"
    assert graph.complete is True or not graph.problems


class _Looped(nn.Module):
    """Indices as (steps, batch): of one step, nothing is decoded."""

    def __init__(self, loops: bool) -> None:
        super().__init__()
        self.embed, self.cell, self.out = nn.Embedding(9, 4), nn.GRUCell(4, 4), nn.Linear(4, 9)
        self.loops = loops

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        h = torch.zeros(words.shape[1], 4)
        found = [self.embed(words[0])]
        for step in range(1, words.shape[0] if self.loops else 1):
            h = self.cell(self.embed(words[step]), h)
            found.append(self.out(h)[:, :4])
        return torch.stack(found)


def test_a_loop_gets_steps_where_layers_stand_still_without() -> None:
    assert inferred(_Looped(True)).infos[0].tensors[0].shape == (8, 1)
    idle = inferred(_Looped(False))  # more steps call no more
    assert idle.infos[0].tensors[0].shape == (1, 8)
    assert idle.tries == 2


class _Tied(nn.Module):
    """A table that is read and never called."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.shared = nn.Embedding(9, 4), nn.Embedding(9, 4)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.embed(words) @ self.shared.weight.T


def test_without_a_loop_no_run_more_is_made() -> None:
    assert inferred(_Tied()).tries == 1


class _Pooled(nn.Module):
    """As many features for any number of points; what is missing is a label."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.out = nn.Conv1d(3, 512, 1), nn.Conv1d(528, 2, 1)

    def forward(self, points: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        pooled = torch.max(self.conv(points), 2, keepdim=True)[0].view(-1, 512)
        return self.out(torch.cat([pooled, label.squeeze(1)], 1).view(-1, 528, 1))


def test_a_side_that_changes_nothing_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    sides: list[str] = []

    def spied(attempt: Any, run: Any) -> Any:
        def counted(candidate: Any) -> Any:
            sides.append(candidate.text())
            return run(candidate)

        return search_sides(attempt, counted)

    monkeypatch.setattr(search, "search_sides", spied)
    inputs = inferred(_Pooled())
    assert inputs.warning is None
    assert len(sides) <= 4


class _Slow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)
        self.runs = [0]

    def forward(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        self.runs[0] += 1
        time.sleep(0.2)
        return self.layer(x) @ z.reshape(4, 3, 5, 7, -1)


def test_a_slow_forward_is_tried_no_longer_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_SECONDS", 0.7)
    model = _Slow()
    inputs = inferred(model)
    assert inputs.tries <= 6
    assert inputs.warning is not None
    assert f"{inputs.tries} tries in 0.7 s" in inputs.warning
