"""Outputs of `forward` that are one tensor object are outputs each: in a prediction, in a run, and in both joined."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.needs_torch
pytest.importorskip("torch")

import modgraph  # noqa: E402 needs torch

SOURCE = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.p = nn.Linear(4, 4), nn.Identity()

    def forward(self, x):
        h = self.f(x)
        pair = [h, self.p(h)]
        return {GIVEN}
"""
F, P = "call:1", "call:2"


@pytest.mark.parametrize(
    ("given", "outputs"),
    [
        ("h, pair[1], h", {"0": F, "1": P, "2": F}),
        ("{'a': h, 'b': pair[1]}", {"a": F, "b": P}),
        ("pair[1], h", {"0": P, "1": F}),
        ("pair[1], pair[1]", {"0": P, "1": P}),
        ("[pair, pair]", {"0[0]": F, "0[1]": P, "1[0]": F, "1[1]": P}),
        ("h, x", {"0": F, "1": "input:x"}),
    ],
)
def test_each_output_has_its_edge(tmp_path, given, outputs):
    path = tmp_path / "net.py"
    path.write_text(SOURCE.replace("{GIVEN}", given), encoding="utf-8")
    for static in (True, False):
        graph = modgraph.analyze(f"{path}:Net", inputs=["x=2x4"], static=static)
        assert graph.complete
        found = {edge.consumer: edge.producer for edge in graph.edges if edge.consumer.startswith("output:")}
        assert found == {f"output:{name}": producer for name, producer in outputs.items()}
        assert not any(edge.is_open for edge in graph.edges)


def test_a_list_that_holds_itself_ends():
    torch = pytest.importorskip("torch")

    class Loop(torch.nn.Module):
        def forward(self, x):
            found = [x.relu()]
            found.append(found)
            return found

    edges = modgraph.trace(Loop(), torch.ones(2)).edges
    assert [edge.consumer for edge in edges if edge.consumer.startswith("output:")] == ["output:0"]
