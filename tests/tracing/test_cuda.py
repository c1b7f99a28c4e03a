"""What a machine with a CUDA device adds; elsewhere `test_statistics.py` simulates what can be simulated."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph
from modgraph.tracing.recording import statistics

pytestmark = [
    pytest.mark.needs_torch,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device that this PyTorch can use"),
]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.drop = nn.Dropout(0.5)
        self.second = nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.drop(torch.relu(self.first(x))))


@pytest.fixture
def case() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return Net().cuda(), torch.randn(16, 64, device="cuda")


def test_calls_name_the_device_and_statistics_are_those_of_the_cpu(case: tuple[nn.Module, torch.Tensor]) -> None:
    model, x = case
    graph = trace_graph(model, (x,), {}, TraceOptions(stats=True, device="cuda"))
    on_cpu = trace_graph(Net().cpu(), (x.cpu(),), {}, TraceOptions(stats=True))

    assert graph.complete, graph.problems
    assert {t.device for call in graph.calls for t in call.outputs} == {"cuda:0"}
    assert [call.module for call in graph.calls] == [call.module for call in on_cpu.calls]
    expected = model.first(x)
    seen = next(call for call in graph.calls if call.module == "first").outputs[0].statistics
    assert seen is not None
    assert seen.mean == pytest.approx(expected.mean().item(), rel=1e-4, abs=1e-6)


def test_statistics_are_read_in_one_transfer(
    case: tuple[nn.Module, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, x = case
    transfers: list[int] = []
    read = statistics._read

    def counted(numbers: list[torch.Tensor]) -> list[list[float]]:
        transfers.append(len(numbers))
        return read(numbers)

    monkeypatch.setattr(statistics, "_read", counted)
    graph = trace_graph(model, (x,), {}, TraceOptions(stats=True, device="cuda"))
    assert graph.complete, graph.problems
    assert len(transfers) == 1


def test_random_numbers_of_the_device_go_on_as_if_nothing_had_run(case: tuple[nn.Module, torch.Tensor]) -> None:
    model, x = case
    before = torch.cuda.get_rng_state_all()
    trace_graph(model, (x,), {}, TraceOptions(mode="train", backward=True, device="cuda"))
    assert all(map(torch.equal, torch.cuda.get_rng_state_all(), before))


def test_seconds_and_memory_of_calls_are_those_of_the_device(case: tuple[nn.Module, torch.Tensor]) -> None:
    model, x = case
    graph = trace_graph(model, (x,), {}, TraceOptions(profile=True, device="cuda"))
    assert graph.profile is not None
    assert graph.complete, graph.problems
    assert all(call.seconds is not None and call.seconds > 0 for call in graph.profile.calls)
    assert any(call.allocated for call in graph.profile.calls)
