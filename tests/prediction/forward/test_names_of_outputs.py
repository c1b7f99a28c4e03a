"""What `forward` gives inside tuples, dicts, data classes and lists has the name of its place, as a trace has it."""

from __future__ import annotations

import sys
import types

import pytest

import modgraph
from tests.prediction.forward.judged import PRELUDE
from tests.prediction.forward.traced import both

pytestmark = pytest.mark.needs_torch

NET = """
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple

Pair = namedtuple("Pair", "left right")

class Named(NamedTuple):
    key: torch.Tensor
    value: torch.Tensor

@dataclass
class Output:
    logits: torch.Tensor
    cache: tuple = ()
    more: dict = field(default_factory=dict)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x{parameters}):
        a, b, c = self.a(x), self.b(x), self.c(x)
        {body}
"""
RESULTS = [
    "a",
    "(a,)",
    "a, b, c",
    "a, None, (b, c)",
    "a, [(a, b), (b, c)]",
    "[[a], [b, [c]]]",
    "{'x': a, 'y': (b, c)}",
    "{'x.y': a, 'y[0]': {'z': b}, \"it's\": c}",
    "{1: a, (2, 3): b, None: c, True: (a,)}",
    "OrderedDict(x=a, y=OrderedDict(z=b))",
    "Pair(a, (b, c))",
    "Named(a, b), Pair(b, c)",
    "Output(a)",
    "Output(a, ((a, b), (b, c)), {'k': c, 'p': Pair(a, b)})",
    "Output(a, (Output(b), Output(c, (a,))))",
    "[Output(each) for each in (a, b, c)]",
    "tuple({'k': each, 'v': [each]} for each in (a, b))",
    "a, 3, 'text', b",
    "dict(zip('abc', (a, b, c)))",
    "(a, (a, b)), a",
]


@pytest.fixture(autouse=True)
def _the_module_is_found(monkeypatch):
    monkeypatch.setitem(sys.modules, "net", types.ModuleType("net"))  # data classes look their annotations up in it


def ends(graph: modgraph.Graph) -> list[str]:
    return sorted({edge.consumer for edge in graph.edges if edge.consumer.startswith("output:")})


def inner(graph: modgraph.Graph) -> list[str]:
    return [tensor.name for tensor in graph.calls[0].outputs]


@pytest.mark.parametrize("result", RESULTS)
def test_they_are_those_of_the_trace(tmp_path, result):
    predicted, real = both(tmp_path, NET.format(parameters="", body=f"return {result}"), "2x4")
    assert ends(predicted) == ends(real)
    assert inner(predicted) == inner(real)


GROWING = """cache = []
        for each in (a, b, c):
            if keep:
                cache.append({item})
        return x, cache
"""


@pytest.mark.parametrize("item", ["each", "(each, each * 2)", "{'k': each}", "[each]"])
def test_what_may_stand_anywhere_in_a_list_has_no_number_there(tmp_path, item):
    """Of several that may be there or not, all but the first may stand at other places than the first."""
    text = NET.format(parameters=", keep=False", body=GROWING.format(item=item))
    predicted, _ = both(tmp_path, text, "2x4")
    space = {"__name__": "net"}
    exec(PRELUDE + text, space)
    torch = pytest.importorskip("torch")
    real = modgraph.trace(space["Net"](), (torch.rand(2, 4),), {"keep": True})
    told = {}
    for edge in predicted.edges:
        told.setdefault(edge.consumer, set()).add(edge.producer)
    makers = {}
    for edge in real.edges:
        makers.setdefault(edge.consumer, set()).add(edge.producer)
    for end in ends(predicted):
        if "?" not in end:
            assert len(told[end]) == len(makers.get(end, told[end]))
