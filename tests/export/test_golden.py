"""Exports of samples, compared with what was read and found good. Rewrite them with `pytest --update-golden`."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.api import analyze
from modgraph.export import render

SAMPLES = Path(__file__).parents[2] / "samples"

pytestmark = pytest.mark.needs_torch


@pytest.mark.parametrize(
    ("sample", "name", "formats"),
    [
        ("resnet.py", "resnet", ("dot", "text")),
        ("plain_list.py", "plain_list", ("json", "dot", "text")),
        ("raises.py", "raises", ("json", "dot", "text")),
        ("shared_layer.py", "shared_layer", ("dot", "text")),
        ("transformer_lm.py", "transformer_lm", ("dot", "text")),
    ],
)
def test_traced(golden, sample, name, formats):
    graph = analyze(str(SAMPLES / sample))
    for each in formats:
        golden(f"{name}.{each}", str(render(graph, each)))


@pytest.mark.parametrize("name", ["two_files/model", "moe"])
def test_predicted(golden, name):
    graph = analyze(str(SAMPLES / f"{name}.py"), static=True)
    for each in ("json", "dot", "text"):
        golden(f"{name.partition('/')[0]}-static.{each}", str(render(graph, each)))
