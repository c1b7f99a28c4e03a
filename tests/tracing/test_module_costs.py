"""What modules cost, from shapes and as measured: torch's own counter and its tensors are the judges."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import modgraph
from modgraph.graph.flops import flops_by_call
from modgraph.graph.index import GraphIndex
from modgraph.graph.module_costs import ModuleCosts
from modgraph.graph.serial import from_json

pytestmark = pytest.mark.needs_torch


def torch_counts(model, *given):
    """By the kernels that torch's counter knows: not those of attention that only a CPU has."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, torch.no_grad():
        model.eval()(*given)
    return counter.get_total_flops()


class Products(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6, 8))
        self.passing = nn.Identity()

    def forward(self, x):
        x = self.passing(x)
        scores = torch.bmm(x, x.transpose(1, 2))
        x = F.linear(torch.matmul(scores, x), self.weight)
        flat = torch.addmm(torch.ones(6), x.flatten(0, 1), torch.ones(6, 6))
        query, key, value = (flat.reshape(1, 2, -1, 6) for _ in range(3))
        return F.scaled_dot_product_attention(query, key, value)


class Convolutions(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=2),
            nn.ConvTranspose2d(8, 6, 2, stride=2),
            nn.Flatten(2),
            nn.Conv1d(6, 3, 5),
            nn.Dropout(0.5),
            nn.Linear(252, 7),
        )


@pytest.mark.parametrize(
    ("make", "shape"),
    [(Products, (2, 5, 8)), (Convolutions, (2, 4, 16, 16)), (lambda: nn.Linear(3, 4, bias=False), (2, 5, 3))],
)
def test_operations_from_shapes_are_those_that_torch_counts(make, shape):
    model, given = make(), torch.randn(shape)
    graph = modgraph.trace(model, (given,))
    found = flops_by_call(graph)[0]
    assert found.known == torch_counts(model, given) > 0
    assert not found.partial


def test_what_has_no_formula_makes_the_figure_a_lower_bound_and_never_a_smaller_number_in_silence():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    given = torch.randn(3, 4)
    graph = modgraph.trace(model, (given,))
    costs = ModuleCosts(GraphIndex(graph))
    assert costs[""].flops.known == torch_counts(model, given)
    assert costs[""].flops.partial
    assert costs["1"].flops.text == "?"
    assert not costs["0"].flops.partial


def test_a_layer_that_is_called_again_counts_each_time_and_one_inside_itself_once():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4)])

        def forward(self, x, deeper=True):
            x = self.layers[0](self.layers[0](x))
            return self(x, deeper=False) if deeper else x

    model, given = Twice(), torch.randn(3, 4)
    costs = ModuleCosts(GraphIndex(modgraph.trace(model, (given,))))
    whole = torch_counts(model, given)
    assert [costs[path].flops.known for path in ("", "layers", "layers.0")] == [whole] * 3


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_memory_is_what_the_tensors_hold_that_a_call_leaves_behind(device):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.relu = nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace=True)
            self.view, self.head = nn.Flatten(), nn.Linear(256, 5)

        def forward(self, x):
            return self.head(self.view(self.relu(self.conv(x))))

    graph = modgraph.trace(Net(), (torch.randn(2, 3, 8, 8),), profile=True, device=device)
    held = {graph.calls[one.call].module: one.allocated for one in graph.profile.calls}
    assert held["conv"] == torch.empty(2, 4, 8, 8).untyped_storage().nbytes()
    assert held["relu"] == held["view"] == 0
    assert held["head"] == held[""] == torch.empty(2, 5).untyped_storage().nbytes()


def test_each_call_says_how_much_of_it_is_not_counted():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.ReLU()))
    graph = modgraph.trace(model, (torch.randn(3, 4),), profile=True)
    left_out = {graph.calls[one.call].module: one.not_counted for one in graph.profile.calls}
    assert left_out == {"": 2, "0": 0, "1": 2, "1.0": 1, "1.1": 1}
    again = from_json(graph.to_json())
    assert again.profile == graph.profile
