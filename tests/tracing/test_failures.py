"""Runs that fail: the graph so far, where it failed, and everything put back."""

from pathlib import Path

import pytest
import torch
from torch import nn

from modgraph.errors import GraphError
from modgraph.graph.events import Event, replay
from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph

pytestmark = pytest.mark.needs_torch
X = torch.ones(2, 4)


class Raises(nn.Module):
    def __init__(self, error):
        super().__init__()
        self.error = error
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count += 1
        torch.rand(1)
        raise self.error


class Net(nn.Module):
    def __init__(self, inner, catch=()):
        super().__init__()
        self.a, self.inner, self.b = nn.Linear(4, 4), inner, nn.Linear(4, 4)
        self.catch = catch

    def forward(self, x):
        y = self.a(x)
        try:
            y = self.inner(y)
        except self.catch:
            y = y * 2
        return self.b(y)


def line_of(text):
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def test_exception_that_escapes(traced, calls, flows):
    graph = traced(Net(nn.Sequential(Raises(ValueError("no good")))), X, complete=False)
    assert calls(graph) == ["", "a", "inner", "inner.0"]
    assert [call.error for call in graph.calls] == ["ValueError: no good", None, *["ValueError: no good"] * 2]
    (problem,) = graph.problems
    assert (problem.stage, problem.module, problem.message) == ("trace", "inner.0", "ValueError: no good")
    assert problem.file.endswith("test_failures.py")
    assert problem.line == line_of("raise self.error")
    assert not graph.complete
    assert "a -> inner.0" in flows(graph)


def test_exception_that_the_parent_catches(traced, calls, flows):
    graph = traced(Net(Raises(ValueError("no good")), catch=(ValueError,)), X)
    assert [call.error for call in graph.calls] == [None, None, "ValueError: no good", None]
    assert graph.complete
    assert {"a -> inner", "a -> mul", "mul -> b"} <= set(flows(graph))


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit("gone"), MemoryError("full")])
def test_every_exception_of_the_user_becomes_a_problem(traced, error):
    graph = traced(Net(Raises(error)), X, complete=False)
    assert graph.problems[0].module == "inner"
    assert graph.problems[0].message.startswith(type(error).__name__)


def test_keyboard_interrupt_goes_through_and_all_is_put_back():
    net = Net(Raises(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        trace_graph(net, (X,), {}, TraceOptions())
    assert net.inner.count.item() == 0
    assert net.training
    assert nn.Module.__call__ is nn.Module._wrapped_call_impl


def test_error_of_torch_names_the_line_of_the_user(traced):
    graph = traced(Net(nn.Linear(3, 3)), X, complete=False)
    (problem,) = graph.problems
    assert problem.module == "inner"
    assert problem.line == line_of("y = self.inner(y)")
    assert "shapes cannot be multiplied" in problem.message


def test_wrong_arguments_fail_in_the_root(traced):
    graph = traced(Net(nn.Identity()), X, X, complete=False)
    assert graph.problems[0].module == ""
    assert graph.problems[0].message.startswith("TypeError: ")


def test_recursion_without_end():
    class Endless(nn.Module):
        def forward(self, x):
            return self(x)

    graph = trace_graph(Net(Endless()), (X,), {}, TraceOptions())
    assert graph.problems[0].module == "inner"
    assert graph.problems[0].message.startswith("RecursionError")


def test_error_with_a_text_that_fails(traced):
    class Bad(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    graph = traced(Net(Raises(Bad())), X, complete=False)
    assert "Bad" in graph.problems[0].message


def test_error_in_a_pre_hook_is_of_its_module(traced):
    net = Net(nn.Identity())

    def hook(module, args):
        raise ValueError("hook")

    net.inner.register_forward_pre_hook(hook)
    assert traced(net, X, complete=False).problems[0].module == "inner"


def test_train_that_fails_leaves_flags_set_one_by_one(traced):
    class Stubborn(Net):
        def train(self, mode=True):
            raise RuntimeError("never")

    net = Stubborn(nn.Dropout())
    assert traced(net, X).complete
    assert net.training


def events_of(model, *args, options=None):
    lines = []
    trace_graph(model, args, {}, options or TraceOptions(), emit=lambda event: lines.append(event.to_json()))
    return [Event.from_json(line) for line in lines]


@pytest.mark.parametrize("broken", [False, True])
def test_every_beginning_of_a_stream_is_a_graph(broken):
    inner = Raises(ValueError("x")) if broken else nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True))
    events = events_of(Net(inner), X, options=TraceOptions(backward=True))
    for end in range(1, len(events) + 1):
        graph = replay(events[:end])
        assert graph.complete is (end == len(events) and not broken)
        assert len(graph.problems) <= 1
    with pytest.raises(GraphError):
        replay([])
    with pytest.raises(GraphError):
        replay(events[1:])


def test_stream_that_breaks_off_names_the_innermost_open_call():
    events = events_of(Net(nn.Sequential(nn.Linear(4, 4))), X)
    names = [type(event).__name__ for event in events]
    last_enter = next(i for i, event in enumerate(events) if getattr(event, "module", None) == "inner.0")
    assert names[last_enter] == "EnterEvent"
    (problem,) = replay(events[: last_enter + 1]).problems
    assert problem.module == "inner.0"
    assert "inner.0" in problem.message
