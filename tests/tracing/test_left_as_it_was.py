"""What a run changes beside the model's registered state, and a trace puts back all the same."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import torch
from torch import nn

import modgraph
from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph

pytestmark = pytest.mark.needs_torch
X = torch.ones(2, 4)


class Writes(nn.Module):
    def __init__(self, write):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.write = write

    def forward(self, x):
        self.write(self.lin.weight)
        return self.lin(x)


@pytest.mark.parametrize(
    "write",
    [
        lambda w: w.data.mul_(2),
        lambda w: w.data.lerp_(torch.zeros(4, 4), 0.5),
        lambda w: w.detach().mul_(2),
        lambda w: w.detach()[1:].view(-1)[2:].zero_(),
        lambda w: w.data.__setitem__(0, 7.0),
        lambda w: torch._foreach_mul_([w], 2),
        lambda w: torch._foreach_add_([w.data], [torch.ones(4, 4)]),
        lambda w: torch.ops.aten.mul_(w, 2),
        lambda w: torch.ops.aten.mul_.Scalar(w.data, 2),
        lambda w: torch.mul(w, 2, out=w.data),
        lambda w: nn.functional.relu(w.data, True),
        lambda w: nn.functional.relu(w.data, inplace=True),
        lambda w: w.detach().numpy().fill(3),
        lambda w: torch.utils.swap_tensors(w, nn.Parameter(torch.zeros(4, 4))),
    ],
)
def test_weights_written_by_any_way(traced, write):
    traced(Writes(write), X)


def test_a_buffer_that_was_expanded_and_holds_nan(traced):
    class Expanded(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", torch.tensor([float("nan"), -0.0]).expand(3, 2))

        def forward(self, x):
            self.mask[0].fill_(5)
            return x * 2

    model = Expanded()
    bits = model.mask.contiguous().view(torch.int32).clone()
    traced(model, X)
    assert torch.equal(model.mask.contiguous().view(torch.int32), bits)


def test_what_cannot_be_put_back_is_a_problem_and_the_graph_stays():
    class Stuck(random.Random):
        def setstate(self, state):
            raise RuntimeError("no way back")

    class Stubborn(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.random = nn.Linear(4, 4), Stuck(1)

        def forward(self, x):
            return self.lin(x)

    graph = trace_graph(Stubborn(), (X,), {}, TraceOptions())
    assert [call.module for call in graph.calls] == ["", "lin"]
    assert [problem.message.partition(":")[0] for problem in graph.problems] == [
        "a part of the model could not be put back as it was"
    ]


OUTSIDE = nn.BatchNorm1d(4)


@pytest.mark.parametrize("backward", [False, True])
def test_a_module_met_during_the_run_only(backward):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            return OUTSIDE(self.lin(x))

    trace_graph(Net(), (X,), {}, TraceOptions(mode="train", backward=backward))
    assert OUTSIDE.num_batches_tracked == 0
    assert torch.equal(OUTSIDE.running_mean, torch.zeros(4))
    assert OUTSIDE.weight.grad is None


def test_a_tensor_of_a_closure_gets_no_gradient():
    scale = torch.ones(4, requires_grad=True)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            return self.lin(x) * scale

    graph = trace_graph(Net(), (X,), {}, TraceOptions(backward=True))
    assert graph.backward
    assert scale.grad is None


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: {"x": [x]}], ids=["alone", "nested"])
def test_an_input_with_a_history_keeps_it(wrap):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            return self.lin(x["x"][0] if isinstance(x, dict) else x)

    source = torch.ones(2, 4, requires_grad=True)
    middle = source * source
    graph = trace_graph(Net(), (wrap(middle),), {}, TraceOptions(backward=True))
    assert graph.problems == ()
    assert graph.backward
    assert source.grad is None
    middle.sum().backward()
    assert torch.equal(source.grad, torch.full((2, 4), 2.0))


class Cache:
    def __init__(self):
        self.keys, self.steps = [], 0
        self.inner = {"seen": set()}


class Slotted:
    __slots__ = ("count", "new")

    def __init__(self):
        self.count = 0


def test_plain_objects_containers_and_generators_of_the_model(traced):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache, self.slotted = Cache(), Slotted()
            self.numpy, self.python = numpy.random.default_rng(1), random.Random(2)
            self.array = numpy.zeros(3)

        def forward(self, x):
            self.cache.keys.append(x)
            self.cache.steps += 1
            self.cache.inner["seen"].add(1)
            self.slotted.count += 1
            self.slotted.new = 1
            self.array[0] = 1
            return x * self.numpy.random() * self.python.random()

    model = Net()
    states = model.numpy.bit_generator.state, model.python.getstate()
    traced(model, X)
    assert (model.cache.keys, model.cache.steps, model.cache.inner) == ([], 0, {"seen": set()})
    assert model.slotted.count == 0
    assert not hasattr(model.slotted, "new")
    assert model.array.tolist() == [0, 0, 0]
    assert (model.numpy.bit_generator.state, model.python.getstate()) == states


def test_the_callers_containers(traced):
    class Net(nn.Module):
        def forward(self, batch, past):
            past.append(batch.pop("x"))
            batch["new"] = 1
            return past[-1] * 2

    batch, past = {"x": X}, []
    traced(Net(), batch, past)
    assert list(batch) == ["x"]
    assert past == []


def test_two_threads_trace_at_once():
    before = nn.Module.__call__, nn.Module._call_impl, nn.Linear.forward
    gate = threading.Barrier(2)
    graphs = []

    class Slow(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            return self.lin(x)

    def work(args):
        gate.wait()
        graphs.append(modgraph.trace(Slow(), *args))

    threads = [threading.Thread(target=work, args=(args,)) for args in ((X,), ())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (nn.Module.__call__, nn.Module._call_impl, nn.Linear.forward) == before
    assert [[call.module for call in graph.calls] for graph in graphs] == [["", "lin"]] * 2


@pytest.mark.parametrize("options", [{}, {"profile": True}], ids=["plain", "profile"])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("by", ["thread", "pool"])
def test_a_trace_in_a_thread_of_the_traced_model_is_refused_and_one_in_its_own_thread_is_not(by, given, options):
    inner, raised = nn.Linear(4, 4), []

    def trace_inner():
        try:
            modgraph.trace(inner, X)
        except modgraph.ModgraphError as error:
            raised.append(error)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            if by == "thread":
                thread = threading.Thread(target=trace_inner, daemon=True)
                thread.start()
                thread.join(30)
                assert not thread.is_alive(), "deadlock"
            else:
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(trace_inner).result(30)
            modgraph.trace(inner, X)
            return self.lin(x)

    graph = modgraph.trace(Net(), X, **options) if given else modgraph.trace(Net(), **options)
    assert graph.calls[0].module == ""
    assert graph.problems == ()
    assert raised
    assert all(isinstance(error, modgraph.TraceError) and "thread" in error.message for error in raised)
    before = len(raised)
    thread = threading.Thread(target=trace_inner)
    thread.start()
    thread.join()
    assert len(raised) == before
