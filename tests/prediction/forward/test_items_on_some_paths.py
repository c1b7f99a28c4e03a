"""Collections that hold a tensor on some paths only, read by whatever reads collections: torch runs with inputs that
decide otherwise, and every way that data takes there is told."""

from __future__ import annotations

import textwrap
import types
from pathlib import Path

import pytest

import modgraph
from tests.oracle.ways_of_data import missed_ways
from tests.prediction.forward.judged import PRELUDE

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

NET = """
import collections, functools, math, operator
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.d = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
    def forward(self, x):
        y = {empty}
        if x.sum() > 0:
            {add_first}
        if x.min() > -1:
            {add_second}
        {read}
        return self.d(x)
"""
FILLED = {
    "[]": "y.append({})",
    "()": "y = (*y, {})",
    "set()": "y.add({})",
    "collections.deque()": "y.appendleft({})",
}
READ = [
    "x = x + sum(y)",
    "x = sum(y, x)",
    "x = sum([x, *y])",
    "x = sum(t for t in [*y, x])",
    "x = x * math.prod(y)",
    "x = math.prod(y, start=x)",
    "x = math.prod([*y, x])",
    "x = functools.reduce(operator.add, y, x)",
    "x = functools.reduce(torch.add, [x, *y])",
    "x = max(y, key=lambda t: 1, default=x)",
    "x = min((t for t in y), key=id, default=x)",
    "x = sorted([*y, x], key=id)[0]",
    "x = torch.stack([*y, x]).sum(0)",
    "x = torch.stack((x, *y)).sum(0)",
    "x, *_ = [*y, x]",
    "x = torch.add(*([*y, x][:1] * 2))",
    "x = next(iter(y), x)",
    "for i, t in enumerate(y):\n            x = x + t",
    "for t, _ in zip(y, range(3)):\n            x = x + t",
    "for t in map(lambda t: t + 1, y):\n            x = x + t",
]


def missed(folder: Path, text: str) -> set[tuple[str, str]]:
    """Ways of data in runs that are not told."""
    (folder / "net.py").write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{folder / 'net.py'}:Net", inputs=["2x8"])
    if graph.problems:
        return set()
    module = types.ModuleType("net")
    exec(compile(text, str(folder / "net.py"), "exec"), vars(module))
    found: set[tuple[str, str]] = set()
    for number in (1.0, -2.0, 0.0):
        real = modgraph.trace(module.Net().eval(), (torch.full((2, 8), number),))
        assert not real.problems
        found |= missed_ways(real, graph)
    return found


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("empty", FILLED)
def test_each_way_of_data_is_told(empty: str, read: str, tmp_path: Path):
    first, second = (FILLED[empty].format(f"self.{name}(x)") for name in "ab")

    assert missed(tmp_path, PRELUDE + NET.format(empty=empty, add_first=first, add_second=second, read=read)) == set()


@pytest.mark.parametrize("read", ["x = x + sum(y.values())", "x = math.prod(y.values(), start=x)"])
def test_so_it_is_of_a_dict(read: str, tmp_path: Path):
    first, second = (f'y["{name}"] = self.{name}(x)' for name in "ab")

    assert missed(tmp_path, PRELUDE + NET.format(empty="{}", add_first=first, add_second=second, read=read)) == set()


@pytest.mark.parametrize("empty", FILLED)
def test_a_sum_of_them_is_followed(empty: str, tmp_path: Path):
    first, second = (FILLED[empty].format(f"self.{name}(x)") for name in "ab")
    text = PRELUDE + NET.format(empty=empty, add_first=first, add_second=second, read="x = x + sum(y)")
    (tmp_path / "net.py").write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["2x8"])

    assert graph.problems == ()


@pytest.mark.parametrize("exponent", ["2", "0.5", "x"])
def test_pow_of_a_tensor_is_its_operator(exponent: str, tmp_path: Path):
    body = textwrap.indent(f"x = pow(x, {exponent})\nreturn self.d(x)\n", " " * 8)
    text = PRELUDE + NET.split("        y = {empty}")[0] + body
    (tmp_path / "net.py").write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["2x8"])
    module = types.ModuleType("net")
    exec(compile(text, str(tmp_path / "net.py"), "exec"), vars(module))
    real = modgraph.trace(module.Net().eval(), (torch.ones(2, 8),))

    assert [each.name for each in graph.operations] == [each.name for each in real.operations]
    assert missed_ways(real, graph) == set()
