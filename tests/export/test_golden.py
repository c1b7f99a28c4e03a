"""Exports of static graphs, compared with what was read and found good; those of runs are in `cli/test_samples.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.api import analyze
from modgraph.export import FORMATS, render

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.mark.parametrize("name", ["two_files/model", "moe"])
def test_predicted(golden, name):
    graph = analyze(str(SAMPLES / f"{name}.py"), static=True)
    for each in ("json", "dot", "mermaid", "text", "csv", "markdown"):
        golden(f"{name.partition('/')[0]}-static.{FORMATS[each].extension}", str(render(graph, each)))
