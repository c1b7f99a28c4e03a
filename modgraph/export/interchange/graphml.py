"""A graph as GraphML, for Gephi, yEd and other tools of graphs: `graph/network.py` in networkx's own writer."""

from __future__ import annotations

from typing import Any

from modgraph.export.look.labels import clean, shape_text
from modgraph.graph.model import Graph
from modgraph.graph.network import empty_network, graphml_text, to_networkx


def render(graph: Graph) -> str:
    """`graph` as GraphML text: modules, calls, operations and what passes between them, as `to_networkx` has them.

    GraphML knows numbers, texts and truth values: a shape becomes "1×64×56×56", and what is not known is left out.
    What joins the same two nodes is one edge, so that every file is read as a directed graph, never as a multigraph
    where two tensors happen to go the same way: `tensors` says how many do, and what differs among them stands side
    by side ("1×8, 1×4").
    """
    network = empty_network(clean(graph.model.name))
    whole = to_networkx(graph)
    for node, attributes in whole.nodes(data=True):
        network.add_node(node, **_plain(attributes))
    for tail, head, attributes in whole.edges(data=True):
        if "shape" in attributes:
            shape = attributes["shape"]
            attributes = {**attributes, "shape": None if shape is None else shape_text(shape), "tensors": 1}
        if network.has_edge(tail, head):
            _join(network.edges[tail, head], _plain(attributes))
        else:
            network.add_edge(tail, head, **_plain(attributes))
    return graphml_text(network)


def _plain(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value if isinstance(value, bool | int | float) else clean(str(value))
        for key, value in attributes.items()
        if value is not None
    }


def _join(edge: dict[str, Any], other: dict[str, Any]) -> None:
    """Adds to an edge what another one between the same nodes says."""
    for key, value in other.items():
        if key == "tensors":
            edge[key] = edge.get(key, 0) + value
        elif key not in edge:
            edge[key] = value
        elif str(value) not in str(edge[key]).split(", "):
            edge[key] = f"{edge[key]}, {value}"
