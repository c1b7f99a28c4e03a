"""Whatever the halves are, there is a graph of both."""

from __future__ import annotations

import dataclasses

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modgraph.graph import serial
from modgraph.merge import merge


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_any_two_graphs_become_one(graphs, data):
    predicted, traced = data.draw(graphs), data.draw(graphs)
    merged = merge(predicted, traced)
    assert serial.from_json(serial.to_json(merged)) == merged
    assert {node.path for node in traced.modules} <= {node.path for node in merged.modules}
    assert merged.operations == traced.operations
    assert all(node.predicted is not None and node.observed is not None for node in merged.modules)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_siblings_that_were_predicted_in_another_order_are_one_tree(graphs, data):
    """The same model, its modules added in another order: nothing is missing, and nothing is a problem."""
    traced = data.draw(graphs)
    order = data.draw(st.permutations(traced.modules))
    nodes = [dataclasses.replace(node, predicted=True, observed=None, calls=(), repeat=None) for node in order]
    predicted = dataclasses.replace(traced, modules=tuple(nodes), calls=(), operations=(), edges=(), problems=())
    merged = merge(_built(predicted), dataclasses.replace(traced, problems=()))
    assert [node.path for node in merged.modules] == [node.path for node in traced.modules]
    assert merged.problems == ()


def _built(graph):
    from modgraph.graph.build import GraphBuilder

    builder = GraphBuilder.of(graph)
    builder.backward.clear()
    builder.gaps.clear()
    return builder.build()
