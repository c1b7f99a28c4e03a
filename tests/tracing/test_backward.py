"""Gradients per call, by an independent count: autograd itself."""

import pytest
import torch
from torch import nn

from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph

pytestmark = pytest.mark.needs_torch
BACKWARD = TraceOptions(backward=True, stats=True)


class Block(nn.Module):
    def __init__(self, inplace):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=inplace)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.conv2(y)
        if self.relu.inplace:
            y += x
        else:
            y = y + x
        return self.relu(y)


def net(inplace):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), Block(inplace), Block(inplace), nn.Flatten(), nn.Linear(4 * 36, 2))


def means(graph):
    return {
        (record.module, record.call): [round(t.statistics.mean, 9) for t in record.grad_outputs]
        for record in graph.backward
    }


def test_in_place_model_gets_the_gradients_of_its_out_of_place_twin(traced):
    x = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    inplace, plain = (traced(net(flag), x, options=BACKWARD) for flag in (True, False))
    assert means(inplace) == means(plain)
    assert {record.call for record in plain.backward} == {call.index for call in plain.calls}


def test_gradients_are_those_of_autograd(traced):
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).eval()
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
    graph = traced(model, x, options=BACKWARD)
    hidden = model[0](x)
    active = model[1](hidden)
    out = model[2](active)
    expected = torch.autograd.grad(out.sum(), [out, active, hidden])
    by_module = {record.module: record for record in graph.backward}
    for module, gradient in zip(["2", "1", "0"], expected, strict=True):
        seen = by_module[module].grad_outputs[0]
        assert seen.shape == tuple(gradient.shape)
        assert seen.statistics.mean == pytest.approx(gradient.mean().item())
    assert by_module["2"].grad_inputs[0].statistics.mean == pytest.approx(expected[1].mean().item())
    assert by_module["2"].grad_inputs[0].name == "input"


def test_gradient_of_an_input_with_several_users_is_not_claimed(traced):
    class Forked(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            y = self.a(x)
            return self.b(y) + self.c(y)

    graph = traced(Forked(), torch.ones(1, 4), options=BACKWARD)
    by_module = {record.module: record for record in graph.backward}
    assert by_module["b"].grad_inputs == ()
    assert by_module["b"].grad_outputs != ()


def test_output_view_written_in_place_later(traced):
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.f = nn.Linear(4, 4), nn.Flatten(0)

        def forward(self, x):
            y = self.a(x)
            view = self.f(y)
            y.mul_(2)
            return view * 3

    graph = traced(Views(), torch.ones(2, 4), options=BACKWARD)
    assert "f" in [record.module for record in graph.backward]


def test_gradients_of_the_user_are_put_back(traced):
    model = nn.Linear(4, 2)
    model(torch.ones(1, 4)).sum().backward()
    x = torch.ones(1, 4, requires_grad=True)
    before = [p.grad for p in model.parameters()]
    values = [g.clone() for g in before]
    traced(model, x, options=BACKWARD)
    assert all(p.grad is g for p, g in zip(model.parameters(), before, strict=True))
    assert all(torch.equal(g, v) for g, v in zip(before, values, strict=True))
    assert x.grad is None


def test_nothing_that_requires_a_gradient(traced):
    graph = traced(nn.Linear(2, 2).requires_grad_(False), torch.ones(1, 2), options=BACKWARD)
    assert graph.backward == ()
    graph = traced(nn.Identity(), torch.ones(1, 2, dtype=torch.int64), options=BACKWARD)
    assert graph.backward == ()


def test_train_mode_backward_leaves_batchnorm_as_it_was(traced):
    model = net(True)
    graph = traced(model, torch.randn(2, 3, 8, 8), options=TraceOptions(backward=True, mode="train"))
    assert graph.backward


def test_backward_that_fails_is_a_problem(traced):
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("backward failed")

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(4, 4)

        def forward(self, x):
            return Bad.apply(self.a(x))

    graph = traced(Net(), torch.ones(1, 4), options=BACKWARD, complete=False)
    assert "backward failed" in graph.problems[0].message
    assert len(graph.calls) == 2


def test_a_layers_own_backward_hook_still_runs():
    heard = []
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].register_full_backward_hook(lambda *_: heard.append("full"))
    model[0].register_full_backward_pre_hook(lambda *_: heard.append("pre"))
    trace_graph(model, (torch.ones(2, 4),), {}, TraceOptions(backward=True))
    assert heard == ["full", "pre"]


def test_operations_that_a_checkpoint_runs_again_are_listed_once():
    from torch.utils.checkpoint import checkpoint

    class Net(nn.Module):
        def __init__(self, again):
            super().__init__()
            self.lin, self.again = nn.Linear(4, 4), again

        def block(self, x):
            return self.lin(x).relu() * 2

        def forward(self, x):
            return checkpoint(self.block, x, use_reentrant=False) if self.again else self.block(x)

    names = [
        [operation.name for operation in graph.operations if operation.name.endswith(("relu", "mul"))]
        for graph in (
            trace_graph(Net(again), (torch.ones(2, 4, requires_grad=True),), {}, TraceOptions(backward=True))
            for again in (False, True)
        )
    ]
    assert names[0] == names[1]
    assert len(names[0]) == 2


def test_a_model_that_writes_into_an_input_with_a_history():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            return self.lin(x.mul_(2))

    source = torch.ones(2, 4, requires_grad=True)
    middle = source * 1
    graph = trace_graph(Net(), (middle,), {}, TraceOptions(backward=True))
    assert graph.problems == ()
    assert [gradient.call for gradient in graph.backward if gradient.call == 1]
    assert torch.equal(middle, torch.ones(2, 4))
    assert source.grad is None
