"""What `forward` gives where data decides it: torch runs with inputs that decide otherwise, and each run is held against
what is told of all of them."""

from __future__ import annotations

import random
import textwrap
import types
import warnings
from pathlib import Path

import pytest

import modgraph
from modgraph.graph.model import Graph
from tests.oracle.ways_of_data import missed_ways, ways, ways_of_one_tensor
from tests.prediction.forward.judged import PRELUDE, Tensors

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

NET = """
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
    def forward(self, x):
{body}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.inner = nn.Linear(8, 8), Inner()
    def forward(self, x):
        self.first(x)
        return self.inner(x)
"""
BODIES = [
    "if x.sum() > 0: return None\nreturn x",
    "if x.sum() > 0: return self.a(x), x\nreturn x",
    "if x.sum() > 0: return {'a': self.b(x)}\nreturn {'a': x}",
    "if x.sum() > 0: return {'a': self.b(x)}\nreturn {'b': self.a(x), 'a': x}",
    "if x.sum() > 0: return [self.b(x)]\nreturn x",
    "if x.sum() > 0: return self.a(x)\nreturn 0",
    "y = self.a(x)\nif x.sum() > 0: return y\nreturn x, y",
    "y = self.a(x)\nif x.sum() > 0: return (y,), {'k': (x, y)}\nreturn (y, x), {}",
    "y, o = self.a(x), None\nif x.sum() > 0: o = y\nreturn self.b(x), o",
    "y = self.a(x)\nreturn y if y.sum() > 0 else None",
    "y = self.a(x)\nreturn (y, x) if y.sum() > 0 else (x, y)",
    "y = self.a(x)\nreturn (x,) * int(y.sum() > 0) + (y,)",
    "out = [x]\nif x.sum() > 0: out.append(self.a(x))\nreturn out",
    "o = []\nfor t in x:\n    if t.sum() > 0: o.append(self.a(t))\nreturn o",
    "d = {}\nif x.sum() > 0: d['a'] = self.a(x)\nelse: d['b'] = self.b(x)\nreturn d",
    "d = {'x': x}\nif x.sum() > 0: del d['x']\nreturn d",
    "d = [x, self.a(x)]\nif x.sum() > 0: d.pop()\nreturn d",
    "d = [x, self.a(x)]\nif x.sum() > 0: d.reverse()\nreturn d",
    "d = [x, self.a(x)]\nreturn d[:int(x.sum() > 0) + 1]",
    "d = [x, self.a(x)]\nreturn d[int(x.sum() > 0)]",
    "d = {0: x, 1: self.a(x)}\nreturn d.get(int(x.sum() > 0))",
    "return max([x, self.a(x)], key=lambda t: t.sum())",
    "return sorted([x, self.a(x)], key=lambda t: float(t.sum()))",
    "return [t for t in [x, self.a(x)] if t.sum() > 0]",
    "return list(filter(lambda t: t.sum() > 0, [x, self.a(x)]))",
    "y = None\nfor i in range(3):\n    if x.sum() > i: y = self.a(x)\nreturn y",
    "y = x\nwhile y.sum() > 1 and y.sum() < 9: y = self.a(y)\nreturn y",
    "try:\n    assert x.sum() > 0\n    y = self.a(x)\nexcept AssertionError:\n    y = None\nreturn x, y",
    "self.s = None\nif x.sum() > 0: self.s = self.a(x)\nreturn self.s",
    "o = [x, x]\no[int(x.sum() > 0)] = self.a(x)\nreturn o",
    "o = {}\no[int(x.sum() > 0)] = self.a(x)\nreturn o",
    "return {int(t.sum() > 0): self.a(t) for t in x}",
    "o, i = (x, self.a(x)), int(x.sum() > 0)\nreturn o[i], o[1 - i]",
]
NUMBERS = (1, -1, 0)


def text_of(body: str) -> str:
    return PRELUDE + NET.format(body=textwrap.indent(body, " " * 8))


def runs(folder: Path, text: str) -> list[Graph]:
    module = types.ModuleType("net")
    exec(compile(text, str(folder / "net.py"), "exec"), vars(module))
    found = []
    for number in NUMBERS:
        torch.default_generator.manual_seed(0)
        random.seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(modgraph.trace(module.Net().eval(), (torch.full((2, 8), float(number)),)))
    return found


def false(graph: Graph, real: Graph) -> list[str]:
    """What is told and is not so in one run; and what runs, and is not told."""
    run = ways(real, every_way=True, or_from=True)
    sure = {each[0] for each in ways_of_one_tensor(graph) if run.isdisjoint(each)}
    found = [f"{one} does not come to {other}" for one, other in sure if other == "output"]
    if not graph.problems:
        # One that is told in a loop of any number of turns is told once.
        missed = {(one.partition(" #")[0], other) for one, other in missed_ways(real, graph)}
        told = {(one.partition(" #")[0], other) for one, other in ways(graph, every_way=True, or_from=True)}
        found += [f"{one} comes to {other}" for one, other in missed - told if other == "output"]
    for call in real.calls:
        told_calls = [each for each in graph.calls if each.module == call.module]
        if len(told_calls) == 1 and told_calls[0].outputs and _of(told_calls[0]) != _of(call):
            found.append(f"{call.module!r} gives {_of(call)}, not {_of(told_calls[0])}")
    return found


def _of(call: modgraph.graph.model.Call) -> Tensors:
    return [(each.shape, each.dtype) for each in call.outputs]


@pytest.mark.parametrize("body", BODIES)
def test_what_is_told_holds_in_each_run(body: str, tmp_path: Path):
    text = text_of(body)
    (tmp_path / "net.py").write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["2x8"])

    assert [each for real in runs(tmp_path, text) if not real.problems for each in false(graph, real)] == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = self.a(x)\nreturn y, self.b(y)", 2),
        ("y = self.a(x) if x.sum() > 0 else x\nreturn y, self.b(y)", 2),
        ("y = {'k': self.a(x)} if x.sum() > 0 else {'k': x}\nreturn y", 1),
        ("return (self.a(x), self.b(x)) if x.sum() > 0 else (self.b(x), x)", 2),
    ],
)
def test_as_many_as_in_every_run_are_told(body: str, expected: int, tmp_path: Path):
    (tmp_path / "net.py").write_text(text_of(body), encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["2x8"])

    assert [len(call.outputs) for call in graph.calls if call.module in ("", "inner")] == [expected, expected]


@pytest.mark.parametrize(
    "body", ["return x", "x.sum()\nreturn x, x * 2", "return self.a.weight", "x.add_(1)\nreturn x"]
)
def test_a_model_that_calls_none_gives_what_came_to_it(body: str, tmp_path: Path):
    text = PRELUDE + NET.replace("class Net", "class Other").replace("class Inner", "class Net")
    text = text.replace("self.inner = nn.Linear(8, 8), Inner()", "self.inner = nn.Linear(8, 8), Net()")
    text = text.format(body=textwrap.indent(body, " " * 8))
    (tmp_path / "net.py").write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["2x8"])
    real = runs(tmp_path, text)[0]

    def ends(of: Graph) -> set[tuple[str, str]]:
        return {(each.producer, each.consumer) for each in of.edges if each.consumer.startswith("output:")}

    assert ends(graph) == ends(real)
