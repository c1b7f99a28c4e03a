"""Samples, likelihoods, entropies and divergences of `torch.distributions` in a forward: followed as torch runs them.

Which function computes a divergence is found by an order that `functools.total_ordering` completes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
pytest.importorskip("torch")

from tests.prediction.forward.traced import both, wrong_shapes  # noqa: E402 needs torch

NET = """
from torch.distributions import Bernoulli, Categorical, Independent, Normal, kl_divergence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        p, q = {p}, {q}
        z = p.{drawn}
        return z, p.log_prob(z), p.entropy(), kl_divergence(p, q)
"""
NORMAL = "Normal(self.a(x), self.b(x).exp())", "Normal(torch.zeros(8), torch.ones(8))"
PAIRS = {
    "Normal": NORMAL,
    "Independent": tuple(f"Independent({each}, 1)" for each in ("Normal(self.a(x), 1.0)", "Normal(self.b(x), 2.0)")),
    "Categorical": ("Categorical(logits=self.a(x))", "Categorical(probs=self.b(x).softmax(-1))"),
    "Bernoulli": ("Bernoulli(logits=self.a(x))", "Bernoulli(self.b(x).sigmoid())"),
}


@pytest.mark.parametrize("drawn", ["sample()", "sample((3,))", "rsample((3, 2))"])
@pytest.mark.parametrize("name", PAIRS)
def test_it_is_followed(name: str, drawn: str, tmp_path: Path) -> None:
    if drawn.startswith("rsample") and name in ("Categorical", "Bernoulli"):
        pytest.skip("torch has no rsample of it")
    p, q = PAIRS[name]
    predicted, real = both(tmp_path, NET.format(p=p, q=q, drawn=drawn), "4x8")
    assert predicted.problems == ()
    assert wrong_shapes(predicted, real) == []
    assert [each.shape for each in predicted.calls[0].outputs] == [each.shape for each in real.calls[0].outputs]
    ends = [
        sorted(edge.consumer for edge in graph.edges if edge.consumer.startswith("output:"))
        for graph in (predicted, real)
    ]
    assert ends[0] == ends[1]


ORDERED = """
import functools

@functools.total_ordering
class Version:
    def __init__(self, *number):
        self.number = number

    def __eq__(self, other):
        return self.number == other.number

    def __{sign}__(self, other):
        if not isinstance(other, Version):
            return NotImplemented
        return self.number {symbol} other.number

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        a, b, c = Version(1, 2), Version(1, 3), Version(1, 2)
        told = [a < b, a <= b, a > b, a >= b, b < a, a < c, a <= c, a > c, a >= c]
        told += [min(b, a).number, max([a, b]).number, sorted([b, a])[0].number]
        self.register_module("_".join(map(str, told)).translate(str.maketrans("", "", ".")), nn.Linear(2, 2))

    def forward(self, x):
        return x + 1
"""


@pytest.mark.parametrize(("sign", "symbol"), [("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")])
def test_what_total_ordering_adds_is_answered(sign: str, symbol: str, tmp_path: Path) -> None:
    predicted, real = both(tmp_path, ORDERED.format(sign=sign, symbol=symbol), "4x2")
    assert [each.path for each in predicted.modules] == [each.path for each in real.modules]
