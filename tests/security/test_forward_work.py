"""Following `forward` is paid from one purse: looking for inputs, the other flags, and what a run writes down."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph
from modgraph.prediction.domain import budget, limits
from modgraph.prediction.forward import graph_parts, running
from modgraph.prediction.interpreter import Interpreter

HEAD = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
MODELS = {
    "a layer with many hooks, called often": (
        "        self.a = nn.Linear(3, 3)\n"
        "        for _ in range(400):\n"
        "            self.a.register_forward_hook(lambda m, i, o: m.forward(o))\n\n"
        "    def forward(self, x, deep=False, wide=False):\n"
        "        for _ in range(3000):\n"
        "            x = self.a(x)\n"
        "        return x\n"
    ),
    "both ways again and again": (
        "        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)\n\n"
        "    def part(self, x, n):\n"
        "        if n == 0:\n"
        "            return self.a(x)\n"
        "        if x.sum() > n:\n"
        "            return self.part(x, n - 1) + self.part(x, n - 1)\n"
        "        return self.part(x, n - 1) * self.b(x)\n\n"
        "    def forward(self, x):\n"
        "        return self.part(x, 200)\n"
    ),
    "many operations": (
        "        self.a = nn.Linear(3, 3)\n\n"
        "    def forward(self, x):\n"
        "        found = {}\n"
        "        for i in range(500):\n"
        "            for j in range(300):\n"
        "                found[i, j] = x[i % 2 :, j % 3 :] + x.new_zeros(1)\n"
        "        return list(found.values())\n"
    ),
}
PART = 10
"""Of the limits that a command has, so that the test is quick; the proportions are theirs."""


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> list[Interpreter]:
    """Those that predict, with a part of the limits."""
    made: list[Interpreter] = []
    follow = running._follow

    def followed(machine: Interpreter, *given: object) -> object:
        if machine not in made:
            made.append(machine)
        return follow(machine, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "_follow", followed)
    monkeypatch.setattr(budget, "MAX_FORWARD_WORK", limits.MAX_FORWARD_WORK // PART)
    monkeypatch.setattr(budget, "MAX_STEPS", limits.MAX_STEPS // PART)
    return made


@pytest.mark.parametrize("inputs", [["2x3"], []], ids=["given", "looked for"])
@pytest.mark.parametrize("name", MODELS)
def test_all_runs_of_one_prediction_share_a_limit(
    name: str, inputs: list[str], machines: list[Interpreter], tmp_path: Path
):
    file = tmp_path / "net.py"
    file.write_text(HEAD + MODELS[name], encoding="utf-8")
    whole = limits.MAX_FORWARD_WORK // PART

    graph = modgraph.predict(f"{file}:Net", inputs=inputs)

    assert 1 <= len(machines) <= 2
    # Where it is given up, what all open calls have in common is joined beyond the limit, once for each.
    assert all(whole - machine.forward_left <= 2 * whole for machine in machines)
    assert len(graph.operations) + len(graph.calls) <= whole // limits.UNITS_OF_AN_EVENT + 1
    if inputs:
        assert [each.stage for each in graph.problems][-1:] == ["forward"]


def test_dataflow_that_grows_with_the_square_of_the_source_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of n writes into a part of one tensor reaches each later reader of all of it."""
    body = "".join(f"        x[{i}].add_(1)\n" for i in range(30)) + "        z = x + 1\n" * 30
    (tmp_path / "net.py").write_text(
        f"{HEAD}        self.a = nn.ReLU()\n\n    def forward(self, x):\n{body}        return self.a(x)\n"
    )
    whole = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["30x3"])
    monkeypatch.setattr(graph_parts, "MAX_EDGES", 200)
    some = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["30x3"])
    assert whole.complete
    assert len(whole.edges) > 800
    assert 0 < len(some.edges) <= 200
    assert [each.message for each in some.problems] == [
        "not all of the dataflow is told: there are more than 200 edges"
    ]
    assert (some.calls, some.operations) == (whole.calls, whole.operations)
    assert {(each.producer, each.consumer) for each in some.edges} < {
        (each.producer, each.consumer) for each in whole.edges
    }
