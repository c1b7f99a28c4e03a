"""Control flow that depends on what nobody can tell: what is claimed is what every run gives."""

from __future__ import annotations

import copy
import os
import runpy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

import modgraph

pytestmark = pytest.mark.needs_torch

_flows = runpy.run_path(str(Path(__file__).with_name("undecided_flow.py")))
undecided_flows, GIVEN, NET = _flows["undecided_flows"], _flows["GIVEN"], _flows["NET"]
NAMES = ("x", "y", "acc", "d")


def outcomes(text: str) -> list[tuple[int, ...]]:
    """The widths with which `Net` is built, of each run that raises nothing."""
    namespace: dict[str, Any] = {"__name__": "net"}
    exec(compile(text.removesuffix(NET), "net.py", "exec"), namespace)
    found = []
    for given_to in GIVEN:
        try:
            values = namespace["run"](*copy.deepcopy(given_to))
        except Exception:
            continue
        if len(values) == len(NAMES) and all(type(each) is int and each + 1 >= 0 for each in values):
            found.append(tuple(each + 1 for each in values))
    return found


def claimed(text: str, folder: Path) -> tuple[dict[str, int | None], list[str]]:
    """The width of each child that is known to be there, None where it is not known; and the messages of problems."""
    file = folder / "net.py"
    file.write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{file}:Net", path=[str(folder)], assume=False)
    widths = {}
    for node in graph.modules:
        if node.path and node.class_name == "torch.nn.modules.linear.Linear":
            shape = next((each.shape for each in node.parameters if each.name == "weight"), None)
            widths[node.path] = shape[1] if shape is not None else None
    return widths, [problem.message for problem in graph.problems]


def false_claims(text: str, folder: Path) -> list[str]:
    """What is claimed with certainty and is not so in a run that builds the model."""
    runs = outcomes(text)
    widths, messages = claimed(text, folder)
    false = [f"raises: {each}" for each in messages if each.startswith("raises ")]
    for position, name in enumerate(NAMES):
        real = {run[position] for run in runs}
        if name in widths and widths[name] is not None and real != {widths[name]}:
            false.append(f"{name} is {widths[name]}, and in runs {sorted(real)}")
    return false


@settings(
    max_examples=int(os.environ.get("MODGRAPH_EXAMPLES", "60")),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(text=undecided_flows())
def test_nothing_that_depends_on_the_way_is_claimed(text: str, tmp_path: Path) -> None:
    assume(outcomes(text))
    assert false_claims(text, tmp_path) == []
