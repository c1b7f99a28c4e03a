"""What is given to an operation or a module, of which it is not known whether it is a tensor: it has its place, and what
it may be has an edge that is not certain. A run is the judge."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

import modgraph
from modgraph.graph.model import Graph
from tests.prediction.forward.judged import PRELUDE

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

MODEL = """
import os

class Join(nn.Module):
    def forward(self, u, v):
        return u - v

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.j, self.l, self.drop = Join(), nn.GRU(4, 4, batch_first=True), nn.Dropout()
    def forward(self, x):
        y = self.b(x)
        z = {given}.get(os.environ.get("A_NAME_THAT_NOBODY_SETS", "k"))
        {body}
"""

OPERATIONS = [
    *(f"z {operator} y" for operator in ("-", "+", "*", "/", "**", "//", "%")),
    *(f"y {operator} z" for operator in ("-", "+", "*", "/")),
    "self.j(z, y)",
    "self.j(y, z)",
    "self.j(v=z, u=y)",
    "torch.cat([z, y], 0)",
    "torch.cat((y, z), 0)",
    "torch.stack([y, z, y])",
    "torch.sub(z, y)",
    "torch.where(y > 0, z, y)",
    "torch.addmm(x, y, z)",
    "self.c(z)",
    "y.add(z)",
    "y.add_(z)",
    "z",
    "(y, z)",
]


def both(folder: Path, text: str) -> tuple[Graph, Graph]:
    """Predicted and traced."""
    file = folder / "net.py"
    file.write_text(PRELUDE + text, encoding="utf-8")
    module = types.ModuleType("net_of_unknown_operands")
    sys.modules[module.__name__] = module
    exec(compile(PRELUDE + text, str(file), "exec"), vars(module))
    return modgraph.predict(f"{file}:Net", inputs=["4x4"]), modgraph.trace(module.Net().eval(), torch.rand(4, 4))


def ends(graph: Graph) -> dict[tuple[str, str, str | None], bool]:
    """Of each edge into a call or an operation its ends and its place, and whether it is certain."""
    named = {f"call:{call.index}": call.module for call in graph.calls}
    named |= {operation.id: operation.name for operation in graph.operations}
    return {
        (
            named.get(each.producer, each.producer),
            named.get(each.consumer, each.consumer),
            each.tensor.name,
        ): each.certain
        for each in graph.edges
        if not each.consumer.startswith("output:")
    }


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operand_has_its_place(tmp_path: Path, operation: str) -> None:
    predicted, real = both(tmp_path, MODEL.format(given='{"k": self.a(x)}', body=f"return {operation}"))
    told, ran = ends(predicted), ends(real)
    assert {each for each, is_certain in told.items() if is_certain} <= ran.keys()
    assert ran.keys() <= told.keys()
    assert all(not is_certain for (producer, *_), is_certain in told.items() if producer == "a")


@pytest.mark.parametrize("operation", ["z @ y", "z + 1", "z - z", "-z", "z < y", "y >= z", "z == 1", "2 ** z"])
def test_an_operation_of_it_alone_is_not_left_out_silently(tmp_path: Path, operation: str) -> None:
    predicted, real = both(tmp_path, MODEL.format(given='{"k": self.a(x)}', body=f"return {operation}"))
    told, ran = ends(predicted), ends(real)
    assert {each for each, is_certain in told.items() if is_certain} <= ran.keys()
    assert not predicted.complete or ran.keys() <= told.keys()


@pytest.mark.parametrize("given", ['{"k": self.a(x), "m": self.c(x)}', "dict(k=[self.a(x), self.c(x)][0])"])
def test_all_that_it_may_be_are_told(tmp_path: Path, given: str) -> None:
    predicted, real = both(tmp_path, MODEL.format(given=given, body="return z - y"))
    told, ran = ends(predicted), ends(real)
    assert ran.keys() <= told.keys()
    assert {each for each, is_certain in told.items() if is_certain} <= ran.keys()


@pytest.mark.parametrize("scale", ["float(os.environ.get('NO_SCALE', '2'))", "len(os.environ)", "os.getpid() * 1e-5"])
@pytest.mark.parametrize("operation", ["y * {}", "{} - y", "F.layer_norm(y, (4,), eps={})"])
def test_a_number_that_is_not_known_is_no_tensor(tmp_path: Path, scale: str, operation: str) -> None:
    text = MODEL.format(given="{}", body=f"return {operation.format(scale)}")
    predicted, real = both(tmp_path, text)
    assert predicted.complete
    assert ends(predicted) == ends(real)


@pytest.mark.parametrize("body", ["return z + h", "return h - z", "return torch.cat([h, z], 0)"])
def test_another_tensor_of_the_giver_of_one_that_is_not_known(tmp_path: Path, body: str) -> None:
    """The other one is not taken for it where a run leaves open from where it was taken."""
    body = f"o, h = self.l(x)\n        z = {{'k': self.drop(o)}}.get(os.environ.get('NO_NAME', 'k'))\n        {body}"
    predicted, real = both(tmp_path, MODEL.format(given="{}", body=body))
    merged = modgraph.analyze(f"{tmp_path / 'net.py'}:Net", inputs=["4x4"])
    ways = {place: giver for giver, _, place in ends(merged)}
    assert ways == {place: giver for giver, _, place in ends(real)}
    assert {each for each, is_certain in ends(predicted).items() if is_certain} <= ends(real).keys()
