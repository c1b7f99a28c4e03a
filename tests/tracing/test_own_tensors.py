"""A layer whose parameters or buffers the run itself has made or changed depends on what made them."""

import copy

import pytest
import torch
from torch import nn

from modgraph.options import TraceOptions

pytestmark = pytest.mark.needs_torch
X = torch.randn(2, 4, generator=torch.Generator().manual_seed(0))


class Two(nn.Module):
    """Two layers, a norm, and a forward that is a function of itself and x."""

    def __init__(self, forward):
        super().__init__()
        self.a, self.b, self.bn = nn.Linear(4, 4), nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.function = forward

    def forward(self, x):
        return self.function(self, x)


def reaches(graph, source, target):
    """Whether values of one module get to another, through operations only."""
    after = {}
    for edge in graph.edges:
        after.setdefault(edge.producer, []).append(edge.consumer)
    goals = {f"call:{call.index}" for call in graph.calls if call.module == target}
    pending = [f"call:{call.index}" for call in graph.calls if call.module == source]
    seen = set()
    while pending:
        for end in after.get(pending.pop(), ()):
            if end in goals:
                return True
            if end.startswith("op:") and end not in seen:
                seen.add(end)
                pending.append(end)
    return False


def generated(self, x):
    weight = self.a(x).mean(0).expand(4, 4)
    return torch.func.functional_call(self.b, {"weight": weight}, (x,))


def copied_into(self, x):
    self.b.weight.copy_(self.a(x).mean(0).expand(4, 4))
    return self.b(x)


def copied_into_a_view(self, x):
    self.b.weight[0].copy_(self.a(x).mean(0))
    return self.b(x)


def copied_into_data(self, x):
    self.b.weight.data.copy_(self.a(x).mean(0).expand(4, 4))
    return self.b(x)


def given_as_data(self, x):
    self.b.weight.data = self.a(x).mean(0).expand(4, 4).contiguous()
    return self.b(x)


def as_a_plain_tensor(self, x):
    del self.b.weight
    self.b.weight = self.a(x).mean(0).expand(4, 4)
    return self.b(x)


def into_a_buffer(self, x):
    self.bn.running_mean.copy_(self.a(x).mean(0))
    return self.bn(x)


@pytest.mark.parametrize(
    ("forward", "reader"),
    [
        (generated, "b"),
        (copied_into, "b"),
        (copied_into_a_view, "b"),
        (copied_into_data, "b"),
        (given_as_data, "b"),
        (as_a_plain_tensor, "b"),
        (into_a_buffer, "bn"),
    ],
)
@pytest.mark.parametrize("options", [TraceOptions(), TraceOptions(stats=True)], ids=["plain", "stats"])
def test_a_weight_made_by_another_layer_is_an_input(traced, forward, reader, options):
    assert reaches(traced(Two(forward), X, options=options), "a", reader)


def test_a_plain_tensor_weight_that_was_there_before_and_is_replaced(traced):
    def forward(self, x):
        self.b.weight = self.a(x).mean(0).expand(4, 4)
        return self.b(x)

    model = Two(forward)
    del model.b.weight
    model.b.weight = torch.zeros(4, 4)
    assert reaches(traced(model, X), "a", "b")


def test_a_weight_of_a_layer_made_in_forward(traced):
    def forward(self, x):
        made = nn.Linear(4, 4)
        made.weight.data = self.a(x).mean(0).expand(4, 4).contiguous()
        return made(x)

    graph = traced(Two(forward), X)
    assert reaches(graph, "a", "<Linear>[0]")


def test_an_untouched_layer_shows_no_operations(traced):
    """Where nothing changed a layer's own tensors, its inside stays unrecorded, whatever else was written."""

    def forward(self, x):
        self.bn.running_mean.add_(1)
        return self.b(self.a(x))

    graph = traced(Two(forward), X)
    assert [operation.name for operation in graph.operations] == ["torch.Tensor.add_"]


def test_a_change_between_two_calls_reaches_the_second_only(traced):
    def forward(self, x):
        first = self.b(x)
        self.b.bias.copy_(self.a(x).mean(0))
        return first, self.b(x)

    graph = traced(Two(forward), X)
    first, _, second = (call for call in graph.calls if call.module in ("a", "b"))
    producers = {edge.consumer: set() for edge in graph.edges}
    for edge in graph.edges:
        producers[edge.consumer].add(edge.producer)
    assert producers[f"call:{first.index}"] == {"input:x"}
    copy_ = next(operation.id for operation in graph.operations if operation.name.endswith("copy_"))
    assert copy_ in producers[f"call:{second.index}"]


def test_a_copy_of_a_layer_made_in_forward_reads_the_copied_weights(traced):
    def forward(self, x):
        return copy.deepcopy(self.a)(x)

    graph = traced(Two(forward), X)
    sources = {edge.producer for edge in graph.edges if edge.consumer.startswith("op:")}
    assert "param:a.weight" in sources
