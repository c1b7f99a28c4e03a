"""What the outputs of a model are called: as its trace calls them, and in words that can be read."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import modgraph
from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

HEAD = """\
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import NamedTuple
import torch
from torch import nn

Pair = namedtuple("Pair", "mean log_variance")

class Typed(NamedTuple):
    logits: torch.Tensor
    cache: tuple

@dataclass
class Data:
    last: torch.Tensor
    states: tuple = ()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        h = self.a(x)
        return """
GIVEN = {
    "h": ["output"],
    "(h,)": ["output"],
    "h, h + 1": ["output 0", "output 1"],
    "[h, h + 1, h + 2]": ["output 0", "output 1", "output 2"],
    "h, (h + 1, [h + 2])": ["output 0", "output 1[0]", "output 1[1][0]"],
    "{'logits': h, 'aux': {'loss': h.sum(), 'all': [h + 1]}}": ["logits", "aux.loss", "aux.all[0]"],
    "{'p2': h, 'a b': h + 1}": ["p2", "a b"],
    "OrderedDict([(0, h), (1, h + 1)])": ["output 0", "output 1"],
    "Pair(h, h + 1)": ["mean", "log_variance"],
    "(h, Pair(h + 1, h + 2))": ["output 0", "output 1.mean", "output 1.log_variance"],
    "Typed(logits=h, cache=(h + 1, h + 2))": ["logits", "cache[0]", "cache[1]"],
    "Data(h, (h + 1, h + 2))": ["last", "states[0]", "states[1]"],
}


def outputs(graph: Graph) -> list[str]:
    return [edge.consumer for edge in graph.edges if edge.consumer.startswith("output:")]


@pytest.mark.parametrize("text", GIVEN)
def test_an_output_is_called_as_the_trace_calls_it(tmp_path: Path, text: str) -> None:
    import torch

    file = tmp_path / "net.py"
    file.write_text(f"{HEAD}{text}\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("net_of_outputs", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "net_of_outputs", module)
        spec.loader.exec_module(module)
        traced = modgraph.trace(module.Net(), (torch.zeros(2, 4),))
    predicted = modgraph.predict(f"{file}:Net", inputs=["2x4"])
    assert sorted(outputs(predicted)) == sorted(outputs(traced))
    for graph in (predicted, traced):
        assert sorted(titles(graph, tmp_path)) == sorted(GIVEN[text])


def titles(graph: Graph, folder: Path) -> list[str]:
    """The words in the pills of a picture, but for that of the input."""
    graph.save(folder / "net.mmd")
    text = (folder / "net.mmd").read_text("utf-8").replace("#91;", "[").replace("#93;", "]")
    found = re.findall(r"\(\[\"<b>(.*?)</b>", text)
    return [each for each in found if each != "input"]
