"""What calls cost: torch's own counter is the judge of operations; the model is left as it was."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import modgraph
from modgraph.export.text.summary import summary

pytestmark = pytest.mark.needs_torch


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 5)
        self.runs = 0

    def forward(self, x):
        self.runs += 1
        tokens = self.stem(x).flatten(2).transpose(1, 2)
        tokens, _ = self.attention(tokens, tokens, tokens)
        tokens = tokens + (tokens.unsqueeze(1) @ torch.ones(8, 8)).squeeze(1)
        return self.head(tokens.mean(1)).softmax(-1)


X = torch.randn(2, 3, 8, 8)


@pytest.fixture
def plain_attention():
    """torch's counter knows no operations of the kernel that stands for all of attention."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    yield
    torch.backends.mha.set_fastpath_enabled(before)


def counted(model):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.eval()(X)
    return counter


@pytest.mark.usefixtures("plain_attention")
@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_operations_are_those_that_torch_counts(device):
    graph = modgraph.trace(Net(), (X,), profile=True, device=device)
    found = graph.profile
    assert found is not None
    counter = counted(Net())
    assert found.flops == counter.get_total_flops() > 0
    by_module = {graph.calls[one.call].module: one.flops for one in found.calls}
    assert by_module["head"] == 2 * 2 * 8 * 5
    assert by_module["stem"] == by_module["stem.0"] == sum(counter.get_flop_counts()["Net.stem"].values())
    assert by_module[""] == found.flops
    assert [one.call for one in found.calls] == [call.index for call in graph.calls]
    assert any("softmax" in name for name, _ in found.not_counted)
    assert not any("view" in name or "reshape" in name or "transpose" in name for name, _ in found.not_counted)
    assert (found.seconds is None) == (device == "fake")


def test_times_of_calls_lie_within_those_around_them():
    graph = modgraph.trace(Net(), (X,), profile=True)
    assert graph.profile is not None
    seconds = {one.call: one.seconds for one in graph.profile.calls}
    assert all(spent > 0 for spent in seconds.values())
    for call in graph.calls:
        if call.parent is not None:
            assert seconds[call.index] <= seconds[call.parent]
    assert graph.profile.seconds == seconds[0]


def test_the_model_is_left_as_it_was():
    net = Net().train()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    state = torch.get_rng_state()
    modgraph.trace(net, (X,), profile=True, mode="train")
    assert torch.equal(state, torch.get_rng_state())
    assert net.runs == 0
    assert net.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())


def test_a_run_that_goes_otherwise_has_no_cost_by_call():
    seen = []

    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            seen.append(None)
            return self.a(x) if len(seen) == 1 else self.b(self.a(x))

    found = modgraph.trace(Odd(), (torch.ones(1, 4),), profile=True).profile
    assert found is not None
    assert found.calls == ()
    assert "other calls" in found.problem


def test_the_summary_says_what_takes_the_most():
    text = summary(modgraph.trace(Net(), (X,), profile=True, verify=True))
    assert "FLOP" in text
    assert "not counted" in text
    assert "verified" in text


class Parallel(nn.Module):
    workers = 2

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 64, bias=False), nn.Sequential(nn.Linear(64, 32, bias=False), nn.ReLU())

    def forward(self, x):
        with ThreadPoolExecutor(self.workers) as pool:
            first, second = pool.map(lambda module: module(x), [self.a, self.b])
        return first.sum() + second.sum()


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_work_in_a_pool_is_counted_where_it_was_done(device):
    model = Parallel()
    model.workers = 1 if device == "fake" else 2  # torch's fake tensors are not made for several threads at once
    graph = modgraph.trace(model, torch.ones(8, 64), profile=True, device=device)
    assert graph.problems == ()
    assert graph.profile.problem is None
    assert graph.profile.flops == 2 * 8 * 64 * (64 + 32)
    by_module = {graph.calls[cost.call].module: cost.flops for cost in graph.profile.calls}
    assert by_module == {"": 98304, "a": 65536, "b": 32768, "b.0": 32768, "b.1": 0}


def test_calls_of_parallel_threads_are_matched_in_whatever_order_they_run():
    runs = []

    class Turns(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(64, 64, bias=False), nn.Linear(64, 32, bias=False)

        def forward(self, x):
            runs.append(None)
            order = [self.a, self.b] if len(runs) % 2 else [self.b, self.a]
            threads = [threading.Thread(target=module, args=(x,)) for module in order]
            for thread in threads:
                thread.start()
                thread.join()
            return x * 2

    graph = modgraph.trace(Turns(), torch.ones(8, 64), profile=True)
    assert graph.profile.problem is None
    by_module = {graph.calls[cost.call].module: cost.flops for cost in graph.profile.calls}
    assert by_module == {"": 98304, "a": 65536, "b": 32768}


@pytest.mark.parametrize("own", [False, True])
def test_a_forward_called_directly_has_its_cost(own):
    class Direct(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(64, 64, bias=False)
            if own:
                self.a.forward = lambda x: x @ self.a.weight

        def forward(self, x):
            return self.a.forward(x) + self.a(x)

    graph = modgraph.trace(Direct(), torch.ones(8, 64), profile=True)
    assert graph.profile.problem is None
    assert [(graph.calls[cost.call].direct, cost.flops) for cost in graph.profile.calls] == [
        (False, 131072),
        (True, 65536),
        (False, 65536),
    ]
    assert all(cost.seconds > 0 for cost in graph.profile.calls)


def test_a_class_with_a_call_of_its_own_is_measured():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(64, 64, bias=False)

        def __call__(self, x):
            return self.a(x)

    class Through(Own):
        def __call__(self, x):
            return nn.Module.__call__(self, x)

        def forward(self, x):
            return self.a(x)

    graph = modgraph.trace(nn.Sequential(Own(), Through()), torch.ones(8, 64), profile=True)
    assert graph.profile.problem is None
    assert [cost.flops for cost in graph.profile.calls] == [131072, 65536, 65536, 65536, 65536]


def test_models_that_other_threads_run_are_not_measured():
    other, busy = nn.Linear(4, 4), threading.Event()

    def work():
        while not busy.is_set():
            other(torch.ones(1, 4))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            graph = modgraph.trace(Parallel(), torch.ones(8, 64), profile=True)
            assert graph.profile.problem is None
            assert graph.profile.flops == 98304
            assert len(graph.profile.calls) == 5
    finally:
        busy.set()
        thread.join()


class Scores(nn.Module):
    def forward(self, x):
        return nn.functional.scaled_dot_product_attention(x, x[..., :3, :], x[..., :3, :])


def by_plain_kernels(model, *args):
    """Operations where no kernel stands for many."""
    with (
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        torch.backends.mkldnn.flags(enabled=False),
        FlopCounterMode(display=False) as counter,
        torch.no_grad(),
    ):
        model(*args)
    return counter.get_total_flops()


@pytest.mark.parametrize(
    ("model", "x"),
    [
        (Scores(), torch.randn(2, 4, 5, 16)),
        (nn.LSTM(6, 8, 2, bidirectional=True), torch.randn(4, 3, 6)),
        (nn.LSTM(6, 8, batch_first=True), torch.randn(3, 4, 6)),
        (nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval(), torch.randn(2, 5, 16)),
    ],
    ids=["attention", "layers of lstm", "lstm", "encoder layer"],
)
def test_operations_of_one_kernel_for_many_are_those_of_the_many(model, x):
    before = torch.backends.mha.get_fastpath_enabled()
    graph = modgraph.trace(model, x, profile=True)
    assert graph.profile.problem is None
    assert graph.profile.flops == by_plain_kernels(_slow(model), x) > 0
    assert torch.backends.mha.get_fastpath_enabled() == before


def _slow(model):
    """The same layer where attention has no shortcut: in training, without chance."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model.train() if isinstance(model, nn.TransformerEncoderLayer) else model


def test_what_is_not_counted_makes_the_figure_the_least():
    def said(model, *args):
        text = summary(modgraph.trace(model, *args, profile=True))
        return next(line for line in text.splitlines() if line.startswith("cost"))

    assert "at least" in said(nn.Sequential(nn.Linear(4, 4), nn.Softmax(-1)), torch.ones(2, 4))
    assert "at least" not in said(nn.Linear(4, 4), torch.ones(2, 4))
