"""A model that cannot be built for the run: what is written is what `--static` writes, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

import modgraph

pytestmark = pytest.mark.needs_torch

NET = """
import torch
from torch import nn
{before}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        print(note)
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 2)

    def forward(self, x):
        return self.second(self.first(x).relu())
"""


@pytest.mark.parametrize(
    "before",
    ["import package_that_is_missing as p\nnote = p.setup()", "note = open('no_such_file.txt')", "note = int('none')"],
)
def test_the_prediction_has_its_calls(tmp_path, before):
    file = tmp_path / "net.py"
    file.write_text(NET.format(before=before))
    static = modgraph.analyze(f"{file}:Net", static=True)
    graph = modgraph.analyze(f"{file}:Net")
    assert [call.module for call in graph.calls] == ["", "first", "second"]
    assert graph.calls == static.calls
    assert graph.edges == static.edges
    assert not graph.complete
    assert len(graph.problems) == len(static.problems) + 1
    assert replace(graph, problems=()) == replace(static, problems=())
