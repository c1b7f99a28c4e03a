"""What is recorded in few steps is what is recorded in many: `tracing/recording/shortcuts.py` beside `calls.py`, `operations.py`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import modgraph
from modgraph.tracing.recording.operations import OperationMode
from modgraph.tracing.recording.recorder import Recorder
from modgraph.tracing.recording.shortcuts import NOT_PLAIN, Leaves, PlainOperations


class Views(nn.Module):
    """Views that are written into, tensors that are made outside, slices, literals, one tensor given twice."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("shift", torch.zeros(4))

    def forward(self, x):
        high = torch.relu(self.up(x))
        first, second = high.chunk(2, -1)
        first[:, 0] = 1.0
        high[..., 1:3].mul_(2)
        low = self.down(high) * self.scale + self.shift + torch.full((4,), 2.0)
        low = torch.cat([low, first, second], dim=1)
        return {"low": low[:, ::2], "sum": low + low, "kept": x, "number": low.sum().item()}


class Calls(nn.Module):
    """Layers that are called twice, hooked, in training, in place, past their `__call__`, and with a keyword."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.shared = nn.Linear(4, 4)
        self.hooked = nn.Linear(4, 4)
        self.hooked.register_forward_hook(lambda _module, _args, result: result + 1)
        self.steps = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Dropout(), nn.Identity(), nn.Flatten())
        self.held = [nn.Linear(4, 4)]

    def forward(self, x):
        x = self.norm(self.shared(self.shared(x)))
        x = self.steps(self.hooked(input=x))
        x = self.held[0](self.shared.forward(x))
        return x.transpose(0, 1).reshape(-1), nn.functional.relu(x, inplace=True)


class Ends(nn.Module):
    """A layer that raises."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(5, 5)

    def forward(self, x):
        return self.second(self.first(x) + 1)


def convolutions() -> nn.Module:
    """Every layer twice: the first of its class is recorded in many steps."""
    layers: list[nn.Module] = []
    for channels in (3, 4):
        layers += [nn.Conv2d(channels, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4), nn.LayerNorm(4))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "views": (Views, (2, 4)),
    "calls": (Calls, (3, 4)),
    "ends": (Ends, (2, 4)),
    "convolutions": (convolutions, (2, 3, 12, 12)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (1, 5, 8)),
    "lstm": (lambda: nn.LSTM(4, 6, num_layers=2), (3, 1, 4)),
}


def recorded(name: str, options: dict) -> str:
    make, shape = MODELS[name]
    torch.manual_seed(0)
    model, given = make(), torch.randn(shape)
    return modgraph.trace(model, (given,), **options).to_json()


@pytest.mark.parametrize("options", [{}, {"mode": "train", "backward": True}], ids=["eval", "train"])
@pytest.mark.parametrize("name", MODELS)
def test_the_shortcuts_record_the_same(name: str, options: dict, monkeypatch: pytest.MonkeyPatch):
    short = recorded(name, options)
    for kind in (Leaves, PlainOperations):
        monkeypatch.setattr(kind, "call", lambda *_: NOT_PLAIN)
    assert short.splitlines() == recorded(name, options).splitlines()


@pytest.mark.parametrize(
    ("name", "way"), [("convolutions", (Recorder, "enter")), ("views", (OperationMode, "recorded"))]
)
def test_the_shortcuts_are_taken(name: str, way: tuple[type, str], monkeypatch: pytest.MonkeyPatch):
    """Else the test above compares nothing."""
    original, steps = getattr(*way), []
    monkeypatch.setattr(*way, lambda *given, **named: steps.append(None) or original(*given, **named))
    recorded(name, {})
    taken = len(steps)
    for kind in (Leaves, PlainOperations):
        monkeypatch.setattr(kind, "call", lambda *_: NOT_PLAIN)
    recorded(name, {})
    assert taken < len(steps) - taken
