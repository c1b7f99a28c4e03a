"""Idioms are looked for in any graph without a failure, and each is of what is there."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from modgraph.graph.idioms.finding import find


def test_any_graph_is_read(graphs: st.SearchStrategy[Any]) -> None:
    @settings(max_examples=200, deadline=None)
    @given(graphs)
    def check(graph: Any) -> None:
        ends = {each.id for each in graph.operations} | {f"call:{each.index}" for each in graph.calls}
        for idiom in find(graph):
            assert idiom.module in {node.path for node in graph.modules}
            assert set(idiom.members) <= ends

    check()
