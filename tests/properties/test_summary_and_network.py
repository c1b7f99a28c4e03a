"""Whatever the graph: a summary that fits, and a network with its modules and edges."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modgraph.export.text.summary import MAX_LINES, summary
from modgraph.export.text.table import text_width

RELAXED = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@RELAXED
@given(data=st.data(), width=st.integers(90, 200), unicode=st.booleans())
def test_any_graph_has_a_summary_that_fits(graphs, data, width, unicode):
    graph = data.draw(graphs)
    text = summary(graph, width=width, unicode=unicode)
    assert text.endswith("\n")
    assert all(text_width(line) <= width for line in text.splitlines())
    assert all(line.isprintable() for line in text.splitlines())
    assert unicode or text.isascii()
    table = text.split("\n\n")[1].splitlines()
    assert len(table) <= MAX_LINES + 1


@RELAXED
@given(data=st.data(), depth=st.integers(0, 3), fold=st.booleans())
def test_a_depth_is_kept(graphs, data, depth, fold):
    graph = data.draw(graphs)
    levels = [
        line.count("│") + line.count("├") + line.count("└")
        for line in summary(graph, depth=depth, fold=fold).splitlines()
    ]
    assert max(levels) <= depth


@RELAXED
@given(data=st.data())
def test_any_graph_is_a_network(graphs, data):
    graph = data.draw(graphs)
    network = graph.to_networkx()
    kinds = [kind for _, _, kind in network.edges(data="kind")]
    assert kinds.count("dataflow") == len(graph.edges)
    assert kinds.count("contains") == len(graph.modules) - 1
    assert kinds.count("calls") == len(graph.calls)
    assert all("kind" in facts for _, facts in network.nodes(data=True))
    assert set(graph.to_networkx("hierarchy")) <= set(network)
    assert set(graph.to_networkx("dataflow")) <= set(network)
