"""Many ways to write `forward`, each predicted and run: the same calls, the same ways of data, the same shapes."""

from __future__ import annotations

import re
import runpy
import sys
import textwrap
import types
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import modgraph
from modgraph.graph.model import Graph
from modgraph.merge import merge

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")
ways = runpy.run_path(str(Path(__file__).parents[2] / "oracle" / "ways_of_data.py"))["ways"]

PRELUDE = "import torch, math\nimport torch.nn.functional as F\nfrom torch import nn\n"
GAP = " (gap)"


class Idiom(NamedTuple):
    name: str
    inputs: list[str]
    text: str


def _idioms() -> list[Idiom]:
    cases = re.split(r"^### ", Path(__file__).with_name("idioms.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [_idiom(case) for case in cases[1:]]


def _idiom(case: str) -> Idiom:
    head, _, body = case.partition("\n")
    name, _, shapes = head.partition(" | ")
    before, _, body = body.rpartition("===\n")
    adds, _, forward = body.rpartition("---\n")
    inputs = shapes.split("; ") if shapes else ["2x8"]
    names = ", ".join(["self", "x", *(f"y{place}" for place in range(1, len(inputs)))])
    text = (
        f"{PRELUDE}{before}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a, self.b, self.c = nn.Linear(8, 8), nn.Identity(), nn.Identity()\n"
        f"{textwrap.indent(adds, ' ' * 8)}    def forward({names}):\n{textwrap.indent(forward, ' ' * 8)}"
    )
    return Idiom(name, inputs, text)


def _traced(idiom: Idiom, file: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    module = types.ModuleType("net")
    monkeypatch.setitem(sys.modules, "net", module)  # where `dataclass` looks
    exec(compile(idiom.text, str(file), "exec"), vars(module))
    given = tuple(torch.ones(tuple(map(int, each.split("x")))) for each in idiom.inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return modgraph.trace(module.Net().eval(), given)


def _calls(graph: Graph) -> list[tuple[str, Any]]:
    """With what each gives; the model's own outputs may be one tensor twice, which a trace tells once."""
    return [
        (call.module, [(each.shape, each.dtype) for each in call.outputs] if call.module else None)
        for call in graph.calls
        if call.certain
    ]


def _arguments(graph: Graph) -> list[tuple[str, Any]]:
    """What operations are given besides tensors, those inside of torch's layers left out: a trace alone tells of them."""
    return [(each.name, each.arguments) for each in graph.operations if each.predicted and each.certain]


IDIOMS = _idioms()


@pytest.mark.parametrize("idiom", IDIOMS, ids=[each.name for each in IDIOMS])
def test_it_is_predicted_as_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idiom: Idiom) -> None:
    file = tmp_path / "net.py"
    file.write_text(idiom.text, encoding="utf-8")
    real = _traced(idiom, file, monkeypatch)
    assert real.problems == ()
    predicted = modgraph.predict(f"{tmp_path}/net.py:Net", inputs=idiom.inputs)
    assert ways(predicted) <= ways(real, or_from=True)
    if idiom.name.endswith(GAP):
        return
    assert predicted.problems == ()
    assert _calls(predicted) == _calls(real)
    assert _arguments(predicted) == _arguments(merge(predicted, real))
    assert ways(predicted) == ways(merge(predicted, real))
