"""Which buffers are persistent, by the module's own set of names; copies and joins of tensors that torch refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

NET = """
import copy
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(2))
        self.register_buffer("c", torch.zeros(2), persistent=False)
        names = self._non_persistent_buffers_set
        {body}
"""


@pytest.mark.parametrize(
    "body",
    [
        "names.add('b')",
        "names.discard('c'); names.discard('d')",
        "names.remove('c')",
        "names.update(['b', 'c']); names.difference_update({'c'})",
        "names.clear()",
        "names.add('d'); self._buffers['d'] = torch.zeros(1)",
        "self._non_persistent_buffers_set |= {'b'}",
        "self._non_persistent_buffers_set = {'b'}",
        "self.n = nn.BatchNorm1d(2); self.n._non_persistent_buffers_set.update(self.n._buffers)",
        "self.n = nn.ReLU() if 'c' in names and 'b' not in names else nn.Tanh()",
    ],
)
def test_the_set_of_names_writes_through(agrees: Callable[[str], Graph], body: str) -> None:
    agrees(NET.format(body=body))


def test_a_name_that_is_not_known_may_be_any(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(NET.format(body="import os; names.add(os.environ['NAME'])"))
    assert not any(each.persistent is True for each in graph.modules[0].buffers)
    assert graph.problems != ()


@pytest.mark.parametrize(
    "body",
    [
        "self.d = copy.deepcopy(nn.utils.weight_norm(nn.Linear(1, 2)))",
        "self.d = copy.deepcopy(nn.Sequential(nn.utils.weight_norm(nn.Linear(1, 2))))",
        "self.p = nn.Parameter(torch.zeros(2)); self.q = self.p * 2; self.d = copy.deepcopy(self)",
        "self.register_buffer('d', torch.cat([torch.zeros(2, 3), torch.zeros(2, 4)]))",
        "self.register_buffer('d', torch.cat([torch.zeros(2, 3), torch.zeros(2)]))",
        "self.register_buffer('d', torch.stack([torch.zeros(2, 3), torch.zeros(2, 4)]))",
    ],
)
def test_what_torch_refuses_is_said(predict_source: Callable[..., Graph], body: str) -> None:
    import torch

    text = NET.format(body=body)
    names = {"torch": torch, "nn": torch.nn, "__name__": "net"}
    exec(text, names)
    with pytest.raises(RuntimeError):
        names["Net"]()
    assert "raises RuntimeError" in predict_source(text).problems[0].message


@pytest.mark.parametrize(
    "body",
    [
        "self.d = copy.deepcopy(nn.utils.spectral_norm(nn.Linear(1, 2)))",
        "self.q = torch.zeros(2, requires_grad=True); self.d = copy.deepcopy(self)",
        "self.q = torch.zeros(2).requires_grad_(); self.d = copy.deepcopy(self)",
        "self.register_buffer('d', torch.cat([torch.zeros(2, 3), torch.zeros(0)]))",
        "self.register_buffer('d', torch.cat([torch.zeros(2, 3), torch.zeros(2, 4)], -1))",
    ],
)
def test_what_torch_takes_is_made(agrees: Callable[[str], Graph], body: str) -> None:
    agrees(NET.format(body=body))
