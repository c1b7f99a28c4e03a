"""Whatever the two graphs: a diff of one with itself is empty, and of two the same from both sides."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from modgraph.changes import compare
from modgraph.errors import GraphError
from modgraph.export.diff.formats import render

# To make two large graphs smaller takes minutes, and says little more.
NO_SHRINKING = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])


def compared(old, new):
    """None where nothing is known of one of the two."""
    try:
        return compare(old, new)
    except GraphError:
        return None


def without_extra_state(graph):
    """One that is saved and not asked for, or the reverse, is another key in one direction than in the other."""
    return replace(graph, modules=tuple(replace(node, extra_state=()) for node in graph.modules))


@NO_SHRINKING
@given(data=st.data())
def test_a_graph_does_not_differ_from_itself(graphs, data):
    graph = data.draw(graphs)
    changes = compared(graph, graph)
    if changes is not None:
        assert not changes
        assert not changes.state.renamed
        graph = without_extra_state(graph)
        state = compare(graph, graph).state
        assert state.loads is (None if state.undecided else True)


@NO_SHRINKING
@given(data=st.data())
def test_the_other_way_round_is_the_reverse(graphs, data):
    old, new = (without_extra_state(data.draw(graphs)) for _ in range(2))
    changes = compared(old, new)
    if changes is None:
        return
    back = compare(new, old)
    assert back == changes.reversed()
    assert bool(back) == bool(changes)
    document = json.loads(changes.to_json())
    assert document["different"] is bool(changes)
    assert document["schema"] == "modgraph-diff/1"
    for format in ("text", "markdown", "html" if not changes else "text"):
        assert render(changes, format) == render(changes, format)
    assert len(render(changes, "markdown")) <= 65_536
