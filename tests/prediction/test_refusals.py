"""What torch and Python refuse is told with the exception that they raise, and what they take is not."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

REFUSED = [
    "nn.Linear(1,1).load_state_dict({})",
    "nn.Linear(1,1).load_state_dict(nn.Linear(2,2).state_dict())",
    "nn.Linear(1,1).load_state_dict({'weight': torch.ones(1,1), 'bias': torch.ones(1), 'x': torch.ones(1)})",
    "nn.Linear(1,1).load_state_dict({'weight': torch.ones(1,2)}, strict=False)",
    "nn.Linear(1,1).load_state_dict(3)",
    "a = nn.Sequential(nn.Linear(1, 2), nn.BatchNorm1d(2))\na.load_state_dict({f'm.{k}': v for k, v in a.state_dict().items()})",
    "nn.Linear(2,2).weight.zero_()",
    "w = nn.Linear(2,2).weight\nw[0] = 1",
    "w = nn.Linear(2,2).weight\nw += 1",
    "nn.Parameter(torch.ones(2)).fill_(1)",
    "nn.Linear(2,2).weight[0].fill_(1)",
    "torch.ones(2, requires_grad=True).mul_(2)",
    "nn.Linear(2,2).weight.copy_(torch.ones(2,2))",
    "nn.Linear(2,2).weight.normal_()",
    "nn.Linear(2,2).weight.erf_()",
    "nn.Linear(2,2).weight.numpy()",
    "bool(torch.rand(2))",
    "if torch.rand(2) > 0: pass",
    "int(torch.rand(2))",
    "torch.rand(3).item()",
    "bool(torch.zeros(2))",
    "float(torch.rand(2,2))",
    "torch.rand(2) and 1",
    "not torch.rand(2)",
    "nn.Linear(1,1)()",
    "nn.Linear(2,2)(3)",
    "nn.ReLU()()",
    "nn.Sequential(nn.ReLU())()",
    "nn.Linear(1,1)(torch.ones(1), torch.ones(1))",
    "nn.Conv2d(1,1,1)(3)",
    "nn.init.xavier_uniform_(torch.ones(2))",
    "nn.init.xavier_uniform_(nn.Linear(2,2).bias)",
    "nn.init.kaiming_normal_(torch.ones(3))",
    "nn.init.orthogonal_(torch.ones(3))",
    "nn.init.dirac_(torch.ones(3))",
    "nn.init.eye_(torch.ones(3))",
    "nn.init.sparse_(torch.ones(3), 0.1)",
    "nn.init.xavier_normal_(torch.ones(2))",
    "nn.init.kaiming_uniform_(torch.ones(2))",
    "nn.utils.weight_norm(nn.ReLU())",
    "nn.utils.spectral_norm(nn.Linear(1,1), 'q')",
    "object().x = 1",
    "(1).x = 1",
    "reversed({1})",
    "itertools.islice([1], -1)",
    "type('A', (int, str), {})",
    "[].x = 1",
    "reversed(3)",
]
TAKEN = [
    "with torch.no_grad():\n    nn.Linear(2,2).weight.zero_()",
    "nn.Linear(2,2).weight.data.zero_()",
    "nn.Linear(2,2).weight.data[0].zero_()",
    "nn.Linear(2,2).weight.detach().numpy()",
    "w = nn.Parameter(torch.ones(2), requires_grad=False)\nw.zero_()\nw[0] = 3",
    "w = torch.ones(2, requires_grad=True) * 2\nw += 1\nw[0] = 2",
    "nn.init.zeros_(nn.Linear(2,2).weight)",
    "a = nn.BatchNorm2d(3)\na.load_state_dict(nn.BatchNorm2d(3).state_dict())",
    "a = nn.Sequential(nn.Linear(1,2), nn.BatchNorm1d(2))\na.load_state_dict({k: v for k, v in a.state_dict().items()})",
    "a = nn.Linear(1,1)\na.load_state_dict({'weight': torch.ones(1,1), 'y': torch.ones(1)}, strict=False)",
    "a = nn.BatchNorm1d(1)\na.load_state_dict({'weight': torch.ones(1), 'bias': torch.ones(1), 'running_mean': torch.ones(1), 'running_var': torch.ones(1)})",
    "l = nn.Linear(2,2)\nl.requires_grad_(False)\nl.weight.zero_()",
    "bool(torch.rand(1, 1))",
    "nn.Linear(2,2)(torch.ones(1,2))",
    "class O: pass\nO().x = 1",
    "nn.init.xavier_uniform_(torch.ones(2,2))",
    "list(reversed({1: 2}))",
    "w = nn.Linear(2,2).weight\nwith torch.no_grad():\n    w[0].fill_(1); w[1] = 3",
    "l = nn.Linear(2, 2)\nl2 = nn.Linear(2, 2)\nl2.weight.data.copy_(l.weight)\nl.half()",
    "def f(n): return n if n > 60 else f(n + 1)\nf(0)",
    "def f(m):\n    if isinstance(m, nn.Linear): m.weight.data.normal_(0, 1); nn.init.constant_(m.bias, 0)\nself.apply(f)",
    "type('A', (int,), {})",
    "class M: pass\ntype('A', (M, int), {})",
    "a=nn.Linear(1,1)\na.load_state_dict({**a.state_dict(), 'weight': torch.zeros(1,1)})",
    "e = nn.Embedding.from_pretrained(torch.ones(3,2))\ne.weight[0] = 2",
]


def module(body: str) -> str:
    lines = textwrap.indent(f"{body}\nself.a = nn.Linear(1, 1)", " " * 8)
    return f"import itertools\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}\n"


def built(source: str) -> Exception | None:
    """What torch raises while it builds the model."""
    import torch
    from torch import nn

    namespace: dict[str, Any] = {"torch": torch, "nn": nn}
    exec(source, namespace)
    try:
        namespace["Net"]()
    except Exception as error:
        return error
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body", REFUSED)
def test_what_is_refused_is_told(predict_source: Callable[..., Graph], body: str) -> None:
    error = built(module(body))
    graph = predict_source(module(body))
    assert error is not None
    assert any(f"raises {type(error).__name__}" in problem.message for problem in graph.problems)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body", TAKEN)
def test_what_is_taken_is_not(predict_source: Callable[..., Graph], body: str) -> None:
    assert built(module(body)) is None
    assert not predict_source(module(body)).problems
