"""All idioms of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from modgraph.graph.idioms import attention, experts, gated_mlp, pyramids, rotary, separable, seq2seq, siamese, squeeze
from modgraph.graph.idioms.flow import Flow
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.model import Graph

FINDERS: tuple[Callable[[Flow], Iterator[Idiom]], ...] = (
    attention.find,
    gated_mlp.find,
    experts.find,
    rotary.find,
    pyramids.find,
    squeeze.find,
    separable.find,
    siamese.find,
)


def find(graph: Graph) -> tuple[Idiom, ...]:
    """What of the graph is proven to be known by a name, in the order of the calls."""
    if not graph.calls or not graph.edges:
        return ()
    flow = Flow(graph)
    found = [idiom for finder in FINDERS for idiom in finder(flow)]
    found += seq2seq.find(flow, found)
    return tuple(sorted(found, key=lambda each: -1 if each.call is None else each.call))
