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


class BasicBlock(nn.Module):
    """As in ResNet-18; without `inplace`, the same sums and activations in tensors of their own."""

    def __init__(self, before, channels, stride, inplace):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=inplace)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or before != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if self.relu.inplace:
            out += identity
        else:
            out = out + identity
        return self.relu(out)


class ResNet18(nn.Module):
    def __init__(self, inplace, width=8):
        super().__init__()
        torch.manual_seed(0)
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=inplace)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        before = width
        for stage in range(4):
            channels = width * 2**stage
            first = BasicBlock(before, channels, 2 if stage else 1, inplace)
            setattr(self, f"layer{stage + 1}", nn.Sequential(first, BasicBlock(channels, channels, 1, inplace)))
            before = channels
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(before, 10)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def gradients_by_autograd(model, x):
    """By call, mean and standard deviation of the gradient of its output: hooks of another kind, on outputs alone."""
    outputs = []
    hooks = [module.register_forward_hook(lambda *given: outputs.append(given[2])) for module in model.modules()]
    try:
        with torch.enable_grad():
            result = model.eval()(x)
    finally:
        for hook in hooks:
            hook.remove()
    return sorted(
        (gradient.mean().item(), gradient.std(correction=0).item())
        for gradient in torch.autograd.grad(result.sum(), outputs)
    )


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_in_place_resnet18_has_every_gradient_of_its_out_of_place_twin(mode):
    options = TraceOptions(backward=True, stats=True, mode=mode)
    x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    inplace, plain = (trace_graph(ResNet18(flag), (x,), {}, options) for flag in (True, False))

    assert {record.call for record in plain.backward} == {call.index for call in plain.calls}
    assert len(plain.calls) == len(inplace.calls) == 76
    twins = {record.call: record for record in plain.backward}
    assert [record.call for record in inplace.backward] == [record.call for record in plain.backward]
    for record in inplace.backward:
        (seen,), (expected,) = record.grad_outputs, twins[record.call].grad_outputs
        assert record.module == twins[record.call].module
        assert seen.statistics.mean == pytest.approx(expected.statistics.mean, rel=1e-4, abs=1e-9), record.module
        assert seen.statistics.std == pytest.approx(expected.statistics.std, rel=1e-4, abs=1e-9), record.module
    assert {t.name: t.statistics.std for t in inplace.parameter_gradients} == pytest.approx(
        {t.name: t.statistics.std for t in plain.parameter_gradients}, rel=1e-4, abs=1e-9
    )


def test_gradients_of_the_twin_are_those_of_autograd():
    x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    graph = trace_graph(ResNet18(inplace=True), (x,), {}, BACKWARD)
    seen = sorted((r.grad_outputs[0].statistics.mean, r.grad_outputs[0].statistics.std) for r in graph.backward)
    for ours, expected in zip(seen, gradients_by_autograd(ResNet18(inplace=False), x), strict=True):
        assert ours == pytest.approx(expected, rel=1e-3, abs=1e-7)


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
