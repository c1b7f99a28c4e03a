"""Processes that did the same are one graph: that of any of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from modgraph.graph import serial
from modgraph.ranks import merge_ranks


def of_rank(graph, rank, world):
    return replace(graph, model=replace(graph.model, ranks=(rank,), world_size=world), rank_differences=())


@settings(
    max_examples=20,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data(), world=st.integers(1, 4))
def test_equal_graphs_are_that_graph_with_the_ranks_noted(graphs, data, world):
    graph = data.draw(graphs)
    merged = merge_ranks([of_rank(graph, rank, world) for rank in range(world)])
    ranks = tuple(range(world))
    modules = [replace(node, ranks=ranks if node.calls else (), repeat=None) for node in graph.modules]
    assert merged.modules == tuple(modules)
    assert merged.model == replace(graph.model, ranks=ranks, world_size=world)
    for part in ("calls", "operations", "edges", "parameter_gradients", "verification", "profile", "rank_differences"):
        assert getattr(merged, part) == getattr(of_rank(graph, 0, world), part), part
    assert set(merged.problems) == set(graph.problems)


@settings(
    max_examples=20,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_any_graphs_of_one_run_are_a_graph_that_can_be_read_back(graphs, data):
    first, second = data.draw(graphs), data.draw(graphs)
    halves = [
        replace(
            of_rank(graph, rank, 2),
            modules=tuple(replace(node, predicted=None, observed=True) for node in graph.modules),
        )
        for rank, graph in enumerate((first, second))
    ]
    merged = merge_ranks(halves)
    assert serial.from_json(serial.to_json(merged)) == merged
    assert {node.path for node in merged.modules} == {node.path for graph in halves for node in graph.modules}
    assert max(len(first.calls), len(second.calls)) <= len(merged.calls) <= len(first.calls) + len(second.calls)
