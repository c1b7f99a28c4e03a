"""The first value that is not finite, and parameters without a gradient: torch and autograd are the judges."""

from __future__ import annotations

import inspect
import json

import pytest
import torch
from torch import nn

import modgraph
from modgraph.export.text.summary import summary
from modgraph.graph.no_gradient import FROZEN, NEVER_USED, NO_OUTPUT

pytestmark = pytest.mark.needs_torch


class Divides(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        x = self.fc(x).relu() + 1
        x = x / 0
        return x - x


class Alone(nn.Module):
    def forward(self, x):
        x = x + 1
        return x / 0


def line_of(kind, text):
    lines, first = inspect.getsourcelines(kind)
    return first + next(number for number, line in enumerate(lines) if text in line)


def test_the_first_infinite_value_and_the_first_nan_are_named_with_operation_and_line():
    model, given = Divides(), torch.randn(2, 4)
    graph = modgraph.trace(model, (given,), stats=True)
    inf, nan = graph.nonfinite
    values = model.fc(given).relu() + 1
    assert (inf.kind, inf.name, inf.values, inf.numel) == ("inf", "op div", int((values / 0).isinf().sum()), 8)
    assert (nan.kind, nan.name) == ("nan", "op sub")
    assert nan.values == int(model(given).isnan().sum())
    assert (inf.source.line, nan.source.line) == (line_of(Divides, "x / 0"), line_of(Divides, "x - x"))
    assert f"first inf: op div, {inf.source.file}:{inf.source.line}, 8 of 8 values" in summary(graph, width=200)
    assert [each["name"] for each in json.loads(graph.to_json())["nonfinite"]] == ["op div", "op sub"]


def test_it_is_named_also_where_no_module_is_called():
    (inf,) = modgraph.trace(Alone(), (torch.ones(2, 4),), stats=True).nonfinite
    assert (inf.name, inf.source.line) == ("op div", line_of(Alone, "x / 0"))


def test_what_came_in_so_is_the_input_and_a_layer_is_named_by_its_path():
    broken = torch.ones(2, 4)
    broken[1, 2] = float("nan")
    (nan,) = modgraph.trace(nn.Sequential(nn.Linear(4, 4)), (broken,), stats=True).nonfinite
    assert (nan.name, nan.values, nan.numel) == ("input input", 1, 8)
    layer = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    layer[1].weight.data[0, 0] = float("inf")
    found = modgraph.trace(layer, (torch.ones(2, 4),), stats=True).nonfinite
    assert [each.name for each in found] == ["1"]
    assert found[0].values == int(layer(torch.ones(2, 4)).isinf().sum())


def test_nothing_is_said_where_all_is_finite_or_nothing_was_measured():
    assert modgraph.trace(nn.Linear(4, 4), (torch.ones(2, 4),), stats=True).nonfinite == ()
    graph = modgraph.trace(Alone(), (torch.ones(2, 4),))
    assert graph.nonfinite == ()
    assert "nonfinite" not in graph.to_json()


class Cuts(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused, self.frozen = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.detached, self.dropped = nn.Linear(4, 4), nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.ones(4))
        self.frozen.requires_grad_(False)

    def forward(self, x):
        y = self.frozen(self.used(x))
        self.dropped(y)
        return y * self.detached(y).detach()


def test_parameters_without_a_gradient_are_those_of_autograd_each_with_its_reason():
    model, given = Cuts(), torch.randn(2, 4)
    graph = modgraph.trace(model, (given,), backward=True)
    model(given).sum().backward()
    found = {each.parameter: each.reason for each in graph.without_gradient}
    assert list(found) == [name for name, held in model.named_parameters() if held.grad is None]
    detach = f":{line_of(Cuts, 'detach()')}) alone, which passes no gradient on"
    assert found["unused.weight"] == found["scale"] == NEVER_USED
    assert found["frozen.bias"] == FROZEN
    assert found["dropped.weight"] == NO_OUTPUT
    assert "op detach (" in found["detached.weight"]
    assert found["detached.weight"].endswith(detach)
    text = summary(graph, width=300)
    assert "no gradient for 9 of 11 parameters" in text
    assert f"frozen.weight, frozen.bias: {FROZEN}" in text
    told = json.loads(graph.to_json())["without_gradient"]
    assert {each["parameter"]: each["reason"] for each in told} == found


def test_where_nothing_needs_a_gradient_every_parameter_is_named():
    class Detached(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return self.fc(x).detach()

    found = modgraph.trace(Detached(), (torch.ones(2, 4),), backward=True).without_gradient
    assert [each.parameter for each in found] == ["fc.weight", "fc.bias"]
    assert all("op detach" in each.reason for each in found)


def test_weights_that_are_used_without_a_call_and_tied_ones_are_not_said_to_be_unused():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
            self.head.weight = self.table.weight
            self.attention = nn.MultiheadAttention(4, 2)

        def forward(self, ids):
            x, _ = self.attention(*[self.table(ids)] * 3)
            return x @ self.head.weight.T

    graph = modgraph.trace(Net(), (torch.zeros(3, 2, dtype=torch.int64),), backward=True)
    assert graph.without_gradient == ()


def test_nothing_is_said_of_gradients_that_nobody_asked_for_or_of_a_run_that_failed():
    class Fails(Cuts):
        def forward(self, x):
            super().forward(x)
            raise ValueError("no")

    assert modgraph.trace(Cuts(), (torch.ones(2, 4),)).without_gradient == ()
    assert modgraph.trace(Fails(), (torch.ones(2, 4),), backward=True).without_gradient == ()
