"""The recorded graph run again from its edges: it holds for what is recorded right, and fails for what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import modgraph
from modgraph.errors import ConfigError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.parsing import parse_graph
from modgraph.options import TraceOptions
from modgraph.tracing import run as tracing_run
from modgraph.tracing.recording import verification

pytestmark = pytest.mark.needs_torch
X = torch.randn(2, 4)


class Net(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.bn, self.drop, self.same = nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Identity()
        self.relu = nn.ReLU(inplace=True)
        self.register_buffer("total", torch.zeros(4))
        self.function = forward

    def forward(self, x):
        return self.function(self, x)


def rows(self, x):
    out = torch.empty(2, 4)
    for row, piece in zip(out.unbind(), self.a(x), strict=True):
        row.copy_(piece * 2)
    return self.b(out)


def through_a_view(self, x):
    y = self.a(x)
    y[:, :2].mul_(3)
    y.view(-1)[0] = 7
    return self.b(y)


def a_buffer(self, x):
    self.total.add_(x.mean(0))
    return self.a(x) + self.total


def out_argument(self, x):
    out = torch.empty(2, 4)
    torch.add(self.a(x), self.b(x), out=out)
    return out * 2


def by_data(self, x):
    y = self.a(x)
    y.data.mul_(2)
    return y.detach() + self.b(y)


def numbers(self, x):
    return self.a(x) * float(self.b(x).sum()) + torch.rand(4)


def only_the_shape(self, x):
    return self.a(x) + torch.zeros_like(self.b(x)) + torch.ones_like(x)


def containers(self, x):
    pieces = list(self.a(x).chunk(2, dim=1))
    return {"all": torch.cat(pieces, 1), "max": torch.stack(pieces).max(0)}


def by_identity(self, x):
    return self.a(self.same(x)) + self.same(self.b(x))


def in_place_layer(self, x):
    y = self.bn(self.a(x))
    return self.drop(self.relu(y)) + y


def autocast(self, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.gelu(self.a(x)) @ self.b(x).T


def over_itself(self, x):
    y = self.a(x)
    return torch.mul(y, 2, out=y.data) + y


def experts(self, x):
    out, choice = torch.zeros_like(x), self.a(x).argmax(-1) % 2
    for number, expert in enumerate((self.a, self.b)):
        chosen = choice == number
        if chosen.any():
            out[chosen] = expert(x[chosen])
    return out


def made_in_forward(self, x):
    made = nn.Linear(4, 4)
    made.weight.data = self.a(x).mean(0).expand(4, 4).contiguous()
    return made(x)


RIGHT = (rows, a_buffer, out_argument, only_the_shape, containers, by_identity, in_place_layer)


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize(
    "forward", [*RIGHT, through_a_view, by_data, numbers, autocast, over_itself, experts, made_in_forward]
)
def test_what_is_recorded_right_is_proven(forward, mode):
    net = Net(forward)
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    given = X.clone()
    graph = modgraph.trace(net, (given,), mode=mode, verify=True)
    found = graph.verification
    assert found is not None
    assert (found.differences, found.not_repeated, graph.problems) == ((), (), ())
    assert found.steps == found.repeated == found.identical > 1
    assert torch.equal(given, X)
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())
    assert parse_graph(graph.to_json()) == graph


@pytest.mark.parametrize("forward", RIGHT)
def test_every_edge_that_is_left_out_is_noticed(forward, monkeypatch):
    """Without any one of the edges the graph does not give what the run gave: none of them is there for nothing.

    (Who wrote all of a tensor stands for what had made it, whose own edge is then not needed.)
    """
    graph = modgraph.trace(Net(forward), (X.clone(),), verify=True)
    edges = graph.edges
    assert graph.verification is not None
    assert graph.verification.proven
    unnoticed = []
    for way in dict.fromkeys((edge.producer, edge.consumer) for edge in edges):
        if way[0].startswith(("const:", "input:", "param:")):
            continue  # what no step made is given as it was

        def without(graph, recipes, *more, way=way):
            builder = GraphBuilder.of(graph)
            builder.edges[:] = [edge for edge in edges if (edge.producer, edge.consumer) != way]
            return verification.verified(builder.build(), recipes, *more)

        monkeypatch.setattr(tracing_run, "verified", without)
        again = modgraph.trace(Net(forward), (X.clone(),), verify=True).verification
        monkeypatch.undo()
        if again.proven and again.steps == graph.verification.steps:
            unnoticed.append(way)
    assert unnoticed == []


def test_a_value_that_comes_past_torch_is_told():
    def forward(self, x):
        y = self.a(x)
        y.detach().numpy()[0, 0] = 5
        return self.b(y)

    graph = modgraph.trace(Net(forward), (X.clone(),), verify=True)
    assert graph.verification is not None
    assert [one.node for one in graph.verification.differences] == ["call:2"]
    assert [(problem.stage, problem.module) for problem in graph.problems] == [("trace", "b")]
    assert "gives another output" in graph.problems[0].message


def test_what_cannot_be_run_again_is_named():
    def forward(self, x):
        return torch.vmap(self.a)(x) + 1

    graph = modgraph.trace(Net(forward), (X.clone(),), verify=True)
    found = graph.verification
    assert found is not None
    assert not found.proven
    assert found.differences == ()
    assert "vmap" in found.not_repeated[0].reason
    assert graph.complete


def test_a_run_that_failed_is_not_verified():
    def forward(self, x):
        return self.b(self.a(x)) + None

    graph = modgraph.trace(Net(forward), (X.clone(),), verify=True)
    assert graph.verification is None
    assert not graph.complete


def test_fake_tensors_have_no_values_to_compare():
    with pytest.raises(ConfigError, match="fake tensors have none"):
        TraceOptions(device="fake", verify=True)


def test_the_graph_is_the_same_as_without():
    plain = modgraph.trace(Net(in_place_layer), (X.clone(),))
    verified = modgraph.trace(Net(in_place_layer), (X.clone(),), verify=True)
    assert replace(verified, verification=None) == plain
