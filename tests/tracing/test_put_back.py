"""State that a forward may change by other ways than through modules' attributes and operations on their weights."""

import array
import itertools

import pytest
import torch
from torch import nn

import modgraph
from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph

pytestmark = [pytest.mark.needs_torch, pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")]
X = torch.ones(2, 4)


def traced(model, *args, **options):
    graph = trace_graph(model, args or (X,), {}, TraceOptions(**options))
    assert graph.problems == ()
    return graph


def state_of(script):
    return {name: tensor.detach().clone() for name, tensor in script.state_dict().items()}


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.calls, self.seen, self.last = 0, [1], torch.zeros(1)
        self.register_buffer("total", torch.zeros(2, 4))

    def forward(self, x):
        self.calls += 1
        self.seen.append(2)
        self.last = x
        self.total = self.total + 1
        self.inner.weight.mul_(2)
        return self.norm(self.inner(x))


@pytest.mark.parametrize("kind", ["script", "trace"])
def test_a_scripted_module_is_as_before_though_it_writes_in_compiled_code(kind):
    norm = nn.BatchNorm1d(4)
    inner = torch.jit.script(norm) if kind == "script" else torch.jit.trace(norm, torch.randn(3, 4), check_trace=False)
    scripted = torch.jit.script(Counting()) if kind == "script" else inner
    models = [nn.Sequential(inner), nn.Sequential(scripted), scripted]
    for model in models:
        before = state_of(model)
        traced(model, torch.randn(8, 4)[:2] + 5, mode="train")
        for name, tensor in state_of(model).items():
            assert torch.equal(tensor, before[name]), name
    if kind == "script":
        assert (scripted.calls, scripted.seen, scripted.last.tolist()) == (0, [1], [0.0])


@pytest.mark.parametrize("how", ["copy", "data", "slot"])
def test_weights_of_a_scripted_module_that_python_writes(how):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = torch.jit.script(nn.Linear(4, 4))

        def forward(self, x):
            if how == "copy":
                self.c.weight.copy_(torch.zeros(4, 4))
            elif how == "data":
                self.c.weight.data = x.T @ x
            else:
                self.c.weight = nn.Parameter(torch.zeros(4, 4))
            return self.c(x)

    model = Net()
    weight, value = model.c.weight, model.c.weight.detach().clone()
    traced(model)
    assert model.c.weight is weight
    assert torch.equal(weight, value)


def forgets(parameter):
    parameter.grad.zero_()


def test_hooks_and_attributes_set_on_tensors():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)
            self.lin.bias.register_hook(lambda gradient: gradient * 10)
            self.lin.bias.kept = [1]

        def forward(self, x):
            self.lin.weight.register_hook(lambda gradient: gradient * 2)
            self.lin.bias.register_hook(lambda gradient: gradient * 2)
            self.lin.weight.register_post_accumulate_grad_hook(forgets)
            self.lin.weight.fresh = x
            self.lin.bias.kept.append(2)
            return self.lin(x)

    model = Net()
    model.lin(X).sum().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    traced(model)
    traced(model, backward=True)
    model.zero_grad()
    model.lin(X).sum().backward()
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        assert torch.equal(parameter.grad, gradient)
    assert not hasattr(model.lin.weight, "fresh")
    assert model.lin.bias.kept == [1]


class OnItsClass(nn.Module):
    count, log, table = 0, [], torch.zeros(4)

    def forward(self, x):
        type(self).count += 1
        type(self).log.append(1)
        type(self).table.add_(1)
        type(self).new = 1
        return x + self.table


class OnItsBase(OnItsClass):
    pass


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("kind", [OnItsClass, OnItsBase])
def test_what_stands_on_classes(kind, device):
    table = OnItsClass.table
    modgraph.trace(kind(), X, device=device)
    assert (kind.count, kind.log, hasattr(kind, "new")) == (0, [], False)
    assert "count" not in vars(OnItsBase)
    assert OnItsClass.table is table
    assert torch.equal(table, torch.zeros(4))


def test_deep_containers_and_raw_bytes():
    innermost = {}

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.deep = innermost
            for _ in range(40):
                self.deep = {"x": [self.deep]}
            self.raw, self.numbers = bytearray(b"00"), array.array("i", [1, 2])

        def forward(self, x):
            inner = self.deep
            while "x" in inner:
                inner = inner["x"][0]
            inner["new"] = x
            self.raw[0] = 65
            self.raw += b"more"
            self.numbers.append(3)
            return x * 2

    model = Net()
    traced(model)
    assert innermost == {}
    assert (model.raw, model.numbers) == (bytearray(b"00"), array.array("i", [1, 2]))


def test_iterators_go_on_where_they_stood():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.count, self.items = itertools.count(5), iter([1, 2, 3])

        def forward(self, x):
            return x * next(self.count) + next(self.items)

    model = Net()
    count = model.count
    traced(model)
    traced(model, profile=True)
    assert model.count is count
    assert (next(model.count), list(model.items)) == (5, [1, 2, 3])


def test_a_backward_pass_inside_forward_adds_to_no_gradient_of_the_callers():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            with torch.enable_grad():
                self.lin(x).sum().backward()
            self.lin.bias.grad.mul_(3)
            return self.lin(x)

    model = Net()
    model.lin(X).sum().backward()
    gradients = [(parameter.grad, parameter.grad.clone()) for parameter in model.parameters()]
    for options in ({}, {"profile": True}, {"mode": "train"}):
        modgraph.trace(model, X, **options)
        for parameter, (gradient, value) in zip(model.parameters(), gradients, strict=True):
            assert parameter.grad is gradient
            assert torch.equal(gradient, value)


@pytest.mark.parametrize("option", ["profile", "verify"])
def test_weights_written_in_forward_are_put_back_after_further_runs(option):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            self.lin.weight.data.mul_(2)
            return self.lin(x)

    model = Net()
    before = model.lin.weight.detach().clone()
    modgraph.trace(model, X, **{option: True})
    assert torch.equal(model.lin.weight, before)


def test_gradients_are_not_copied_where_nobody_writes_into_them(monkeypatch):
    from modgraph.tracing.restoring import kept_tensor

    copied = []
    original = kept_tensor._copy
    monkeypatch.setattr(kept_tensor, "_copy", lambda tensor: copied.append(tensor.data_ptr()) or original(tensor))
    model = nn.Linear(4, 4)
    model(X).sum().backward()
    traced(model)
    traced(model, backward=True)
    assert model.weight.grad.data_ptr() not in copied
