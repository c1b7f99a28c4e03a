"""Of two ways that exclude each other a run takes one: no total adds both."""

from __future__ import annotations

from pathlib import Path

from modgraph.export.text.summary import summary
from modgraph.graph.index import GraphIndex
from modgraph.graph.module_costs import ModuleCosts
from tests.prediction.forward.judged import predicted

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        if x.sum() > 0:
            return %s
        return %s
"""


def test_calls_are_told_apart(tmp_path: Path) -> None:
    graph = predicted(tmp_path, NET % ("self.a(x)", "self.b(self.a(x)) + 1"), ["x=3x4"])
    text = summary(graph, columns=["calls"])
    assert "1 call + 3 conditional · 2 operations + 1 conditional" in text
    rows = {line.split()[1]: line.split()[2:] for line in text.splitlines() if line.startswith(("├", "└"))}
    assert rows == {"a": ["≤", "2"], "b": ["1"]}


def test_operations_of_one_way_are_no_more_than_at_least(tmp_path: Path) -> None:
    one = ModuleCosts(GraphIndex(predicted(tmp_path, NET % ("self.a(x)", "self.b(x)"), ["x=3x4"])))
    assert one["a"].flops == one["b"].flops
    assert one[""].flops is not None
    assert (one[""].flops.known, one[""].flops.partial) == (0, True)
    both = ModuleCosts(GraphIndex(predicted(tmp_path, NET % ("self.a(x)", "self.a(x) + 1"), ["x=3x4"])))
    assert both["a"].flops is not None
    assert one["a"].flops is not None
    assert (both["a"].flops.known, both["a"].flops.partial) == (one["a"].flops.known, True)
