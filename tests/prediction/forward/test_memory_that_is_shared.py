"""Writes into tensors that share memory, and hooks that compute: edges of each operation, held against a trace.

What is certain has been seen, what was seen is predicted, and what is not certain is said by name in `OPEN`.
"""

from __future__ import annotations

import linecache
import re
import sys
import types
import warnings
from pathlib import Path

import pytest

import modgraph
from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n"
LAYERS = "self.a, self.b, self.h, self.g = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(3, 3)"
OPEN = {
    "one of two on a test": 2,
    "two exchanged on a test": 4,
    "a row that is not known": 1,
    "reshaped before": 1,
    "flattened before": 1,
}
"""By case: how many edges may be there or not, as far as it is known."""
UNLIKE = frozenset({"a loop of unknown length", "a loop with a test", "hook before a layer"})
"""A loop is told once; an operation in front of a layer belongs to its call. What is certain holds there, too."""
CASES = {
    name: (size, body)
    for name, size, body in re.findall(
        r"^### ([^|\n]+) \| (\S+)\n(.*?)(?=^### |\Z)",
        Path(__file__).with_name("memory.txt").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
}


def _source(body: str) -> str:
    made, _, run = body.rpartition("---\n")
    lines = [
        *HEAD.splitlines(),
        "        super().__init__()",
        *(f"        {line}" for line in (made or LAYERS).splitlines()),
    ]
    return "\n".join([*lines, "    def forward(self, x):", *(f"        {line}" for line in run.splitlines()), ""])


def _edges(graph: Graph, certain: bool) -> set[tuple[str, str]]:
    names = {each.id: f"{each.id} {each.name}" for each in graph.operations}
    found = ((each.producer, each.consumer) for each in graph.edges if each.certain or not certain)
    return {(names.get(first, first), names.get(second, second)) for first, second in found}


@pytest.mark.parametrize("name", CASES)
def test_edges_are_those_of_a_trace(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size, body = CASES[name]
    file = tmp_path / "net.py"
    file.write_text(_source(body), encoding="utf-8")
    module = types.ModuleType("net_of_memory")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "net_of_memory", module)
    linecache.clearcache()
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), vars(module))
    torch.default_generator.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = modgraph.trace(module.Net().eval(), (torch.rand(tuple(map(int, size.split("x")))),))
    predicted = modgraph.predict(f"{file}:Net", inputs=[size])
    assert (traced.problems, predicted.problems) == ((), ())
    real, certain, may_be = (
        _edges(traced, certain=True),
        _edges(predicted, certain=True),
        _edges(predicted, certain=False),
    )
    assert certain - real == set()
    if name not in UNLIKE:
        assert real - may_be == set()
        assert len(may_be - certain) == OPEN.get(name, 0)


@pytest.mark.parametrize("shared", ["torch.Tensor(y)", "copy.copy(y)", "torch.FloatTensor(y)", "torch.Tensor([1.0])"])
def test_what_is_written_comes_out_of_what_shares_its_memory(shared: str, tmp_path: Path) -> None:
    """Where a run has no operation that is the constructor or the copy: whether what `b` gives reaches `h`."""
    body = f"import copy\ny = self.a(x).detach()\nu = {shared}\nu.add_(self.b(x).sum())\nreturn self.h(y)"
    file = tmp_path / "net.py"
    file.write_text(_source(body), encoding="utf-8")
    module = types.ModuleType("net_of_shared")
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), vars(module))
    traced = modgraph.trace(module.Net().eval(), (torch.rand(2, 6),))
    assert _reaches(modgraph.predict(f"{file}:Net", inputs=["2x6"]), "b", "h") == _reaches(traced, "b", "h")


def _reaches(graph: Graph, first: str, last: str) -> bool:
    """There is a way of data from a call of one module to that of the other."""
    called = {f"call:{call.index}": call.module for call in graph.calls}
    reached = {name for name, module in called.items() if module == first}
    for _ in graph.edges:
        reached |= {edge.consumer for edge in graph.edges if edge.producer in reached}
    return any(called.get(name) == last for name in reached)


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 58
    assert OPEN.keys() | UNLIKE <= CASES.keys()
