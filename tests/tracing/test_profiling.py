"""What calls cost: torch's own counter is the judge of operations; the model is left as it was."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import modgraph
from modgraph.export.text import summary

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


def counted(model):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.eval()(X)
    return counter


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
    class Odd(nn.Module):
        seen = 0

        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            Odd.seen += 1
            return self.a(x) if Odd.seen == 1 else self.b(self.a(x))

    found = modgraph.trace(Odd(), (torch.ones(1, 4),), profile=True).profile
    assert found is not None
    assert found.calls == ()
    assert "other calls" in found.problem


def test_the_summary_says_what_takes_the_most():
    text = summary(modgraph.trace(Net(), (X,), profile=True, verify=True))
    assert "FLOP" in text
    assert "not counted" in text
    assert "verified" in text
