"""What a run may change and a trace puts back, beyond what every other test here checks."""

import gc
import random
import weakref

import numpy
import pytest
import torch
from torch import nn

from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph

pytestmark = pytest.mark.needs_torch
X = torch.ones(2, 4)


class Busy(nn.Module):
    """Changes all that a forward can change."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.frozen = nn.Dropout().eval()
        self.register_buffer("count", torch.zeros(1))
        self.plain = torch.zeros(2)
        self.history, self.table, self.seen = [1], {"a": [2]}, {3}
        self.generator = torch.Generator().manual_seed(5)
        self.steps = 0

    def forward(self, x):
        self.count += 1
        self.plain[0] = 9
        self.plain_new = x
        self.steps += 1
        self.history.append(x)
        self.table["a"].append(x)
        self.table["b"] = 1
        self.seen.add(4)
        self.late = nn.Linear(4, 4)
        self.lin.weight.requires_grad_(False)
        self.frozen.train()
        self.register_forward_hook(lambda *_: None)
        random.random()
        numpy.random.rand()
        torch.rand(2)
        torch.rand(2, generator=self.generator)
        with torch.no_grad():
            self.lin.weight.view(-1)[0].fill_(100)
            self.lin.bias.mul_(0)
        self.count = self.count + 1
        return self.late(self.lin(x))


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_forward_that_changes_everything(traced, mode, backward):
    model = Busy()
    generator = model.generator.get_state()
    graph = traced(model, X, options=TraceOptions(mode=mode, backward=backward))
    assert [call.module for call in graph.calls] == ["", "lin", "late"]
    assert (model.history, model.table, model.seen, model.steps) == ([1], {"a": [2]}, {3}, 0)
    assert torch.equal(model.generator.get_state(), generator)
    assert torch.equal(model.plain, torch.zeros(2))
    assert not hasattr(model, "late")
    assert not hasattr(model, "plain_new")


def test_buffer_given_other_memory(traced):
    class Grows(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("state", torch.zeros(2))

        def forward(self, x):
            self.state.data = torch.ones(7)
            self.state.fill_(3)
            return x + 1

    model = Grows()
    pointer = model.state.data_ptr()
    traced(model, X)
    assert model.state.shape == (2,)
    assert model.state.data_ptr() == pointer


def test_buffer_resized(traced):
    class Grows(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("state", torch.tensor([1.0, 2.0]))

        def forward(self, x):
            self.state.resize_(500).fill_(1)
            return x + 1

    model = Grows()
    traced(model, X)
    assert model.state.tolist() == [1.0, 2.0]


def test_nan_in_a_buffer_is_no_change(traced):
    model = nn.BatchNorm1d(4)
    model.running_mean.fill_(float("nan"))
    version = model.running_var._version
    traced(model, X)
    assert model.running_var._version == version


def test_nothing_of_the_model_is_kept_alive():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    alive = weakref.ref(model)
    weight = weakref.ref(model[0].weight)
    graph = trace_graph(model, (X,), {}, TraceOptions(stats=True, backward=True))
    del model
    assert alive() is None
    assert weight() is None
    assert graph.calls


def test_no_tensor_of_the_run_is_kept_alive():
    seen = []

    class Net(nn.Module):
        def forward(self, x):
            y = x * 2
            seen.append(weakref.ref(y))
            z = torch.tanh(y)
            del y
            assert seen[0]() is None
            return z

    graph = trace_graph(Net(), (X,), {}, TraceOptions())
    assert graph.complete, graph.problems
    gc.collect()


def test_trained_as_before_after_a_trace():
    def trained(with_trace):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            if with_trace and step == 1:
                trace_graph(model, (X,), {}, TraceOptions(mode="train", backward=True, stats=True))
            loss = model(torch.randn(5, 4)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [p.detach().clone() for p in [*model.parameters(), *model.buffers()]]

    assert all(torch.equal(a, b) for a, b in zip(trained(False), trained(True), strict=True))
