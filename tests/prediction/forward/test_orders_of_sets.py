"""A loop over a set, run in every order: what is claimed of dataflow holds in each of them."""

from __future__ import annotations

import itertools
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import modgraph
from tests.prediction.forward.judged import PRELUDE, predicted

ways = runpy.run_path(str(Path(__file__).parents[2] / "oracle" / "ways_of_data.py"))["ways"]

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(4, 4)
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.full_rate, self.near_rate, self.far_rate = (nn.Parameter(torch.ones(4)) for _ in range(3))

    def made(self, x, name):
        return getattr(self, f"{name}_rate") * x

    def forward(self, x):
{body}
"""
BODIES = {
    "each is used": """
        out = {}
        for name in {names}:
            out[name] = self.shared(x)
        return self.a(out["full"]), self.b(out["near"])
""",
    "of a method": """
        out = {}
        for name in {names}:
            out[name] = self.shared(self.made(x, name))
        return self.a(out["full"]), self.b(out["near"])
""",
    "operations alone": """
        out = {}
        for name in {names}:
            out[name] = self.made(x, name).relu()
        return self.a(out["full"]), self.b(out["near"])
""",
    "one after the other": """
        out = {}
        for name in {names}:
            x = self.shared(x)
            out[name] = x
        return self.a(out["full"]), self.b(out["near"]), self.c(x)
""",
    "chained before": """
        x = self.c(x)
        out = {"near": x}
        for name in {names}:
            out[name] = self.shared(out.get("full", x))
        return self.a(out["full"]), self.b(out["near"])
""",
    "written into": """
        out = {}
        for name in {names}:
            out[name] = self.shared(x)
            out[name] += self.full_rate
        return self.a(out["full"]), self.b(out["near"])
""",
    "of a list": """
        out = [self.shared(x), None]
        for name in {names}:
            out[1] = self.shared(out[0]) if name == "full" else out[1]
            out[0] = self.b(x) if name == "near" else out[0]
        return self.a(out[0]), self.c(out[1])
""",
    "given back": """
        out = {}
        for name in {names}:
            out[name] = self.shared(x) if name == "near" else x
        return self.a(out["full"]), self.b(out["near"])
""",
}


def real_ways(folder: Path, body: str, names: tuple[str, ...]) -> Iterator[tuple[set[tuple[str, str]], ...]]:
    """Dataflow as traced in each order: by any tensor that was given back as it was, and by the one that counts."""
    for order in itertools.permutations(names):
        space: dict[str, type[torch.nn.Module]] = {}
        exec(PRELUDE + NET.replace("{body}", body.replace("{names}", repr(order)).strip("\n")), space)
        traced = modgraph.trace(space["Net"](), torch.randn(2, 4))
        assert traced.complete
        yield ways(traced), ways(traced, or_from=True)


def modules(found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Without which call of a module it is: on several ways each has calls of its own."""
    return {(producer.split(" #")[0], consumer.split(" #")[0]) for producer, consumer in found}


@pytest.mark.parametrize("names", [("full", "near"), ("full", "near", "far")])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_dataflow_that_is_certain_is_that_of_every_order(body: str, names: tuple[str, ...], tmp_path: Path) -> None:
    text = NET.replace("{body}", body.replace("{names}", repr(set(names))).strip("\n"))
    graph = predicted(tmp_path, text, ["x=2x4"])
    told, possible = ways(graph), ways(graph, every_way=True, or_from=True)
    assert not graph.problems
    for exactly, any_of in real_ways(tmp_path, body, names):
        assert told <= any_of
        assert modules(exactly) <= modules(possible)
