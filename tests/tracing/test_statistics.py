"""Statistics of a tensor's values, and that a device that computes meanwhile is waited for once."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from modgraph.errors import GraphError
from modgraph.graph.events import AmendedEvent, Event, replay
from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph
from modgraph.tracing.recording import statistics
from modgraph.tracing.recording.statistics import Pending, measured, settle, statistics_of

pytestmark = pytest.mark.needs_torch
WAITS = {"_local_scalar_dense", "item", "nonzero", "masked_select", "index", "equal", "is_nonzero"}
"""Operations whose result, or its size, is a value that Python must have before it goes on."""


class Waits(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func._schema.name.rpartition("::")[2] in WAITS:
            self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


TENSORS = {
    "plain": torch.arange(24.0).reshape(2, 3, 4).cos() * 100,
    "far from zero": torch.full((1000,), 1e4) + torch.arange(1000.0).sin(),
    "half": torch.arange(9.0).half(),
    "bfloat16": torch.arange(9.0).bfloat16(),
    "double": torch.arange(9.0, dtype=torch.float64) / 7,
    "integers": torch.arange(-4, 50),
    "booleans": torch.tensor([True, False, True]),
    "complex": torch.complex(torch.arange(4.0), torch.ones(4)),
    "one element": torch.tensor(3.5),
    "empty": torch.empty(0, 3),
    "some not finite": torch.tensor([1.0, math.nan, math.inf, -math.inf, 3.0]),
    "none finite": torch.tensor([math.nan, math.inf]),
}


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every tensor counts as one of a device that computes meanwhile; gives how much each transfer brought."""
    transfers: list[int] = []
    read = statistics._read

    def counted(numbers: list[torch.Tensor]) -> list[list[float]]:
        transfers.append(len(numbers))
        return read(numbers)

    monkeypatch.setattr(statistics, "computes_meanwhile", lambda _: True)
    monkeypatch.setattr(statistics, "_read", counted)
    return transfers


@pytest.mark.parametrize("kind", TENSORS)
def test_what_is_read_later_is_what_is_read_at_once(kind: str, meanwhile: list[int]) -> None:
    tensor = TENSORS[kind]
    with Waits() as waits:
        found = measured(tensor)
    assert waits.seen == []
    if isinstance(found, Pending):
        settle([found])
        found = found.settled
    expected = statistics_of(tensor)
    assert found is not None
    assert expected is not None
    for name in ("numel", "nan", "inf"):
        assert getattr(found, name) == getattr(expected, name), name
    for name in ("mean", "std", "min", "max"):
        value = getattr(expected, name)
        assert getattr(found, name) == (value if value is None else pytest.approx(value, rel=1e-5)), name


def test_a_whole_run_is_read_in_one_transfer(meanwhile: list[int]) -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 8), nn.Dropout()), nn.Linear(8, 2))
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    options = TraceOptions(stats=True, backward=True)
    with Waits() as waits:
        graph = trace_graph(model, (x,), {}, options)

    assert len(meanwhile) == 1
    assert "_local_scalar_dense" not in " ".join(waits.seen)
    tensors = [t for call in graph.calls for t in (*call.inputs, *call.outputs)]
    tensors += [t for record in graph.backward for t in record.grad_outputs]
    tensors += list(graph.parameter_gradients)
    assert tensors
    assert all(tensor.statistics is not None and tensor.statistics.mean is not None for tensor in tensors)


def test_a_run_whose_events_are_told_as_they_happen_is_read_in_one_transfer(meanwhile: list[int]) -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Linear(8, 2))
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    lines: list[str] = []
    before: list[int] = []

    def told(event: Event) -> None:
        lines.append(event.to_json())
        before.append(len(meanwhile))

    graph = trace_graph(model, (x,), {}, TraceOptions(stats=True, backward=True), emit=told)
    assert len(meanwhile) == 1
    assert before.index(1) > next(number for number, line in enumerate(lines) if '"event":"grad"' in line)
    heard = replay(map(Event.from_json, lines))
    assert heard == graph
    tensors = [tensor for call in heard.calls for tensor in (*call.inputs, *call.outputs)]
    tensors += [tensor for record in heard.backward for tensor in record.grad_outputs]
    assert all(tensor.statistics is not None and tensor.statistics.mean is not None for tensor in tensors)
    # A process that ends early has told all but the figures.
    cut = replay(map(Event.from_json, lines[: before.index(1)]))
    assert [call.module for call in cut.calls] == [call.module for call in graph.calls]


def test_an_amendment_of_another_kind_is_a_contradiction() -> None:
    events: list[Event] = []
    trace_graph(nn.Linear(2, 2), (torch.ones(1, 2),), {}, TraceOptions(), emit=events.append)
    for number in (0, 1, len(events) + 5):
        with pytest.raises(GraphError, match="another kind"):
            replay([*events, AmendedEvent(number=number, text=events[-1].to_json())])


def test_statistics_that_were_read_late_stand_where_those_read_at_once_do(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 2))
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    at_once = trace_graph(model, (x,), {}, TraceOptions(stats=True))
    monkeypatch.setattr(statistics, "computes_meanwhile", lambda _: True)
    later = trace_graph(model, (x,), {}, TraceOptions(stats=True))

    for one, other in zip(at_once.calls, later.calls, strict=True):
        for seen, expected in zip((*other.inputs, *other.outputs), (*one.inputs, *one.outputs), strict=True):
            assert seen.statistics.mean == pytest.approx(expected.statistics.mean, rel=1e-5, abs=1e-9)
            assert seen.statistics.std == pytest.approx(expected.statistics.std, rel=1e-5, abs=1e-9)
