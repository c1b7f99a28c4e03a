"""Checkpoints, transforms, compilers, scripts, threads, odd layouts and dtypes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph

pytestmark = [pytest.mark.needs_torch, pytest.mark.filterwarnings("ignore")]
X = torch.ones(2, 4)


class Net(nn.Module):
    def __init__(self, forward, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self.function = forward

    def forward(self, x):
        return self.function(self, x)


def lin():
    return nn.Linear(4, 4)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(traced, flows, reentrant):
    def forward(self, x):
        return self.b(checkpoint(self.a, x, use_reentrant=reentrant))

    edges = ["a.0 -> a.1", "a.1 -> b", "b -> output:0", "input:x -> a.0"]
    net = Net(forward, a=nn.Sequential(lin(), nn.Tanh()), b=lin())
    assert flows(traced(net, X)) == edges
    x = X.clone().requires_grad_()
    graph = traced(net, x, options=TraceOptions(backward=True))
    assert flows(graph) == edges
    again = [call.module for call in graph.calls if call.recomputed]
    assert again == ["a", "a.0", "a.1"]
    assert [call.module for call in graph.calls if not call.recomputed] == ["", "a", "a.0", "a.1", "b"]


def test_autocast(traced, flows):
    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self.b(self.a(x))

    graph = traced(Net(forward, a=lin(), b=lin()), X)
    assert flows(graph) == ["a -> b", "b -> output:0", "input:x -> a"]
    assert graph.calls[1].outputs[0].dtype == "bfloat16"


def test_inference_mode_inside_and_outside(traced, flows):
    def forward(self, x):
        with torch.inference_mode():
            y = self.a(x)
            y.add_(1)
            y[0] = 0
            return self.b(y)

    net = Net(forward, a=lin(), b=lin())
    expected = ["__setitem__ -> b", "a -> add_", "add_ -> __setitem__", "b -> output:0", "input:x -> a"]
    assert flows(traced(net, X)) == expected
    with torch.inference_mode():
        graph = trace_graph(net, (X,), {}, TraceOptions())
    assert flows(graph) == expected


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


@pytest.mark.parametrize("backward", [False, True])
def test_autograd_function(traced, flows, backward):
    net = Net(lambda self, x: self.b(Double.apply(self.a(x))), a=lin(), b=lin())
    graph = traced(net, X, options=TraceOptions(backward=backward))
    assert flows(graph) == ["a -> mul", "b -> output:0", "input:x -> a", "mul -> b"]


@pytest.mark.parametrize("backward", [False, True])
def test_autograd_function_that_returns_its_input(traced, flows, backward):
    net = Net(lambda self, x: self.b(Same.apply(self.a(x))), a=lin(), b=lin())
    graph = traced(net, X, options=TraceOptions(backward=backward))
    # torch itself makes a view, so that input and result are two tensors.
    assert flows(graph) == ["a -> view_as", "b -> output:0", "input:x -> a", "view_as -> b"]


def test_functional_call(traced, flows):
    def forward(self, x):
        weights = {name: p * 2 for name, p in self.a.named_parameters()}
        return torch.func.functional_call(self.a, weights, (x,))

    graph = traced(Net(forward, a=lin()), X)
    assert [call.module for call in graph.calls] == ["", "a"]
    assert {"input:x -> a", "a -> output:0", "param:a.weight -> mul"} <= set(flows(graph))


def test_vmap_over_a_module(traced, flows):
    graph = traced(Net(lambda self, x: self.b(torch.vmap(self.a)(x)), a=lin(), b=lin()), X)
    assert [call.module for call in graph.calls] == ["", "a", "b"]
    assert {"input:x -> a", "a -> b", "b -> output:0"} <= set(flows(graph))


def test_grad_transform_in_forward(traced, flows):
    def forward(self, x):
        return self.b(torch.func.grad(lambda y: self.a(y).sum())(x))

    graph = traced(Net(forward, a=lin(), b=lin()), X)
    assert [call.module for call in graph.calls] == ["", "a", "b"]
    assert {"input:x -> a", "a -> sum", "b -> output:0"} <= set(flows(graph))
    assert any(edge.endswith("-> b") for edge in flows(graph))


def test_compiled_in_place_is_seen_through(traced, flows):
    net = Net(lambda self, x: self.b(self.a(x)), a=nn.Sequential(lin(), nn.ReLU()), b=lin())
    net.a.compile(backend="eager")
    graph = traced(net, X)
    assert [call.module for call in graph.calls] == ["", "a", "a.0", "a.1", "b"]
    assert flows(graph) == ["a.0 -> a.1", "a.1 -> b", "b -> output:0", "input:x -> a.0"]


def test_compiled_wrapper_is_seen_through(traced, flows):
    net = torch.compile(nn.Sequential(lin(), nn.ReLU()), backend="eager")
    graph = traced(net, X)
    assert [(c.module, c.direct) for c in graph.calls] == [
        ("", False),
        ("_orig_mod", False),
        ("_orig_mod.0", False),
        ("_orig_mod.1", False),
    ]
    assert flows(graph) == ["_orig_mod.0 -> _orig_mod.1", "_orig_mod.1 -> output:0", "input:input -> _orig_mod.0"]


def test_compiled_and_run_before_the_trace(traced, flows):
    net = Net(lambda self, x: self.b(x), b=torch.compile(nn.Sequential(lin(), nn.ReLU()), backend="eager"))
    with torch.no_grad():
        net(X)
    graph = traced(net, X)
    assert [c.module for c in graph.calls] == ["", "b", "b._orig_mod", "b._orig_mod.0", "b._orig_mod.1"]


def test_compiled_in_forward(traced):
    graph = traced(Net(lambda self, x: torch.compile(self.a, backend="eager")(x), a=lin()), X)
    assert [c.module for c in graph.calls][-1] == "a"


def test_scripted_module_is_a_leaf(traced, flows):
    scripted = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    graph = traced(Net(lambda self, x: self.b(self.s(x)), s=scripted, b=lin()), X)
    assert [c.module for c in graph.calls] == ["", "s", "b"]
    assert flows(graph) == ["b -> output:0", "input:x -> s", "s -> b"]
    assert [n.path for n in graph.modules] == ["", "s", "s.0", "s.1", "b"]


def test_traced_module_is_a_leaf(traced, flows):
    with torch.no_grad():
        module = torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), X)
    graph = traced(Net(lambda self, x: self.b(self.s(x)), s=module, b=lin()), X)
    assert flows(graph) == ["b -> output:0", "input:x -> s", "s -> b"]


def test_tracing_by_torch_inside_forward_is_left_alone(traced, flows):
    graph = traced(Net(lambda self, x: torch.jit.trace(self.a, x)(x), a=lin()), X)
    made = "<TopLevelTracedModule>[0]"
    assert graph.calls[-1].module == made
    assert {f"input:x -> {made}", f"{made} -> output:0"} <= set(flows(graph))


@torch.jit.script
def scripted_double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_scripted_function_is_an_operation(traced, flows):
    graph = traced(Net(lambda self, x: self.b(scripted_double(self.a(x))), a=lin(), b=lin()), X)
    assert graph.operations[0].name.endswith("scripted_double")
    assert flows(graph) == ["a -> scripted_double", "b -> output:0", "input:x -> a", "scripted_double -> b"]


def test_cond(traced, flows):
    def forward(self, x):
        return torch.cond(x.sum() > 0, self.a, self.b, (x,))

    graph = traced(Net(forward, a=lin(), b=lin()), X)
    assert [c.module for c in graph.calls] == ["", "a"]
    assert {"input:x -> a", "a -> output:0"} <= set(flows(graph))


def test_threads_in_forward(traced, flows):
    def forward(self, x):
        found = {}
        for name in ("a", "b"):
            thread = threading.Thread(target=lambda name=name: found.update({name: getattr(self, name)(x)}))
            thread.start()
            thread.join()
        return found["a"] + found["b"]

    graph = traced(Net(forward, a=lin(), b=lin()), X)
    assert [(c.module, c.parent) for c in graph.calls] == [("", None), ("a", 0), ("b", 0)]
    assert flows(graph) == ["a -> add", "add -> output:0", "b -> add", "input:x -> a", "input:x -> b"]


def test_pool_in_forward_and_one_from_before(traced, flows):
    with ThreadPoolExecutor(1) as old:
        old.submit(int).result()

        def forward(self, x):
            y = old.submit(lambda: self.a(x) * 2).result()
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(self.b, y).result()

        graph = traced(Net(forward, a=lin(), b=lin()), X)
    assert [(c.module, c.parent) for c in graph.calls] == [("", None), ("a", 0), ("b", 0)]
    assert flows(graph) == ["a -> mul", "b -> output:0", "input:x -> a", "mul -> b"]


def test_many_threads_at_once():
    def forward(self, x):
        with ThreadPoolExecutor(8) as pool:
            return sum(pool.map(lambda layer: layer(layer(x)), self.layers))

    net = Net(forward, layers=nn.ModuleList(lin() for _ in range(40)))
    graph = trace_graph(net, (X,), {}, TraceOptions())
    assert graph.complete
    assert len(graph.calls) == 81
    assert all(call.parent in (None, 0) for call in graph.calls)


def test_threads_that_do_not_belong_to_the_call_are_ignored():
    stop = threading.Event()
    other = lin()
    started = threading.Event()

    def busy():
        while not stop.is_set():
            other(X)
            started.set()

    thread = threading.Thread(target=busy)
    thread.start()
    started.wait()
    try:
        graph = trace_graph(nn.Sequential(*[lin() for _ in range(50)]), (X,), {}, TraceOptions())
    finally:
        stop.set()
        thread.join()
    assert len(graph.calls) == 51


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2, 4, dtype=torch.bfloat16),
        lambda: torch.ones(2, 4, dtype=torch.complex64),
        lambda: torch.empty(0, 4),
        lambda: torch.ones(2, 4).to_sparse(),
        lambda: torch.ones(2, 4).to_sparse_csr(),
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
        lambda: torch.quantize_per_tensor(torch.ones(2, 4), 0.1, 0, torch.quint8),
    ],
    ids=["bfloat16", "complex", "empty", "sparse", "csr", "nested", "jagged", "quantised"],
)
def test_odd_tensors(traced, flows, make):
    class Step(nn.Module):
        def forward(self, x):
            return x.clone()

    graph = traced(Net(lambda self, x: self.b(self.a(x)), a=Step(), b=nn.Identity()), make())
    assert {"input:x -> a", "a -> b", "b -> output:0"} <= set(flows(graph))
    assert traced(Net(lambda self, x: self.a(x), a=Step()), make(), options=TraceOptions(stats=True)).calls


class Tagged(torch.Tensor):
    """A subclass that counts how often it is asked."""

    asked = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.asked += 1
        return super().__torch_function__(func, types, args, kwargs or {})


def test_tensor_subclass_is_not_disturbed(traced, flows):
    net = Net(lambda self, x: self.b(torch.tanh(self.a(x))), a=lin(), b=lin()).eval()
    x = torch.ones(2, 4).as_subclass(Tagged)
    with torch.no_grad():
        net(x)
        bare, Tagged.asked = Tagged.asked, 0
        net(x)
        bare, Tagged.asked = Tagged.asked, 0
        graph = trace_graph(net, (x,), {}, TraceOptions())
        assert Tagged.asked == bare
    assert {"input:x -> a", "a -> tanh", "tanh -> b", "b -> output:0"} <= set(flows(graph))


def test_other_function_modes_see_what_they_saw():
    from torch.overrides import TorchFunctionMode

    class Counting(TorchFunctionMode):
        seen = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen += 1
            return func(*args, **(kwargs or {}))

    net = Net(lambda self, x: torch.relu(self.a(x)), a=lin()).eval()
    with torch.no_grad(), Counting() as bare:
        net(X)
    with Counting() as mode:
        before = mode.seen
        graph = trace_graph(net, (X,), {}, TraceOptions())
        while_traced = mode.seen - before
    assert graph.complete
    assert while_traced >= bare.seen


def test_quantised_model(traced, calls):
    net = torch.ao.quantization.quantize_dynamic(nn.Sequential(lin(), nn.ReLU()), {nn.Linear}, dtype=torch.qint8)
    assert calls(traced(net, X)) == ["", "0", "1"]


def test_fake_tensors(flows):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        net = nn.Sequential(lin(), nn.BatchNorm1d(4), nn.ReLU(inplace=True), lin())
        x = torch.ones(2, 4)
    with mode:
        graph = trace_graph(net, (x,), {}, TraceOptions())
    assert graph.complete, graph.problems
    assert flows(graph) == ["0 -> 1", "1 -> 2", "2 -> 3", "3 -> output:0", "input:input -> 0"]
    assert graph.calls[4].outputs[0].shape == (2, 4)
    assert net.training


def test_fake_tensors_in_threads_and_views(flows):
    from torch._subclasses.fake_tensor import FakeTensorMode

    def forward(self, x):
        found = []
        thread = threading.Thread(target=lambda: found.append(self.a(torch.ones(2, 4) + x)))
        thread.start()
        thread.join()
        y = found[0]
        y[0].mul_(2)
        return self.b(y)

    with FakeTensorMode() as mode:
        net = Net(forward, a=lin(), b=lin())
        x = torch.ones(2, 4)
        graph = trace_graph(net, (x,), {}, TraceOptions())
    assert mode is not None
    assert graph.complete, graph.problems
    assert {"add -> a", "a -> __getitem__", "__getitem__ -> mul_", "mul_ -> b", "a -> b"} <= set(flows(graph))


def test_meta_device(flows):
    with torch.device("meta"):
        net = nn.Sequential(lin(), nn.ReLU())
        x = torch.ones(2, 4)
    graph = trace_graph(net, (x,), {}, TraceOptions(stats=True))
    assert flows(graph) == ["0 -> 1", "1 -> output:0", "input:input -> 0"]
    assert graph.calls[1].outputs[0].statistics is None


class Doubled(nn.Linear):
    def _call_impl(self, x):
        return super()._call_impl(x * 2)


class DoubledPastHooks(nn.Linear):
    def _call_impl(self, x):
        return self.forward(x * 2)


@pytest.mark.parametrize("kind", [Doubled, DoubledPastHooks])
def test_a_class_of_which_the_inside_of_a_call_is_its_own(traced, kind):
    graph = traced(Net(lambda self, x: self.a(self.b(x)), a=kind(4, 4), b=lin()), X)
    assert [(call.module, call.direct) for call in graph.calls] == [("", False), ("b", False), ("a", False)]
    assert next((operation.name, operation.call) for operation in graph.operations) == ("torch.Tensor.mul", 2)


def test_a_kept_call_and_one_compiled_before_are_no_direct_calls_of_forward(traced):
    part = lin()
    part.compile()
    graph = traced(Net(lambda self, x: self.kept(x), a=part, kept=part.__call__), X)
    assert [(call.module, call.direct) for call in graph.calls] == [("", False), ("a", False)]
    assert part._compiled_call_impl is not None
