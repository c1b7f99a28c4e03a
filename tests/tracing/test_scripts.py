"""Models that TorchScript runs: what stands below them is called past Python, and is said to be unseen."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

import modgraph
from modgraph.export.text.summary import summary


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x))) * self.scale


class Around(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.idle = inner, nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


@pytest.fixture(scope="module", params=["script", "trace"])
def compiled(request: pytest.FixtureRequest) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(Pair()) if request.param == "script" else torch.jit.trace(Pair(), torch.ones(1, 4))


def test_a_compiled_model_shows_what_it_holds(compiled: nn.Module) -> None:
    graph = modgraph.trace(compiled, torch.ones(1, 4))
    assert graph.complete
    assert [node.path for node in graph.modules] == [path for path, _ in compiled.named_modules()]
    shown = {f"{node.path}.{held.name}" for node in graph.modules for held in node.parameters}
    assert shown == {name for name, _ in compiled.named_parameters()}
    assert [buffer.name for buffer in graph.modules[0].buffers] == ["scale"]
    assert "parameters  40 " in summary(graph)


def test_what_a_script_calls_is_not_said_to_be_never_called(compiled: nn.Module) -> None:
    text = summary(modgraph.trace(Around(compiled), torch.ones(1, 4)))
    said = {
        name: next(line for line in text.splitlines() if f"─ {name} " in line) for name in ("inner", "first", "idle")
    }
    assert "✕ never called" in said["idle"]
    assert "never called" not in said["first"]
    assert "◇ scripted, not observable" in said["first"]
    assert "◇" not in said["inner"]


def test_inputs_of_a_compiled_model_are_inferred(compiled: nn.Module) -> None:
    assert modgraph.trace(compiled).complete
