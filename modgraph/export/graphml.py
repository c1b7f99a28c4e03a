"""A graph as GraphML, for Gephi, yEd and other tools of graphs: `graph/network.py` in networkx's own writer."""

from __future__ import annotations

from typing import Any

from modgraph.export.labels import clean, shape_text
from modgraph.graph.model import Graph
from modgraph.graph.network import graphml_text, to_networkx


def render(graph: Graph) -> str:
    """`graph` as GraphML text: modules, calls, operations and what passes between them, as `to_networkx` has them.

    GraphML knows numbers, texts and truth values: a shape becomes "1×64×56×56", and what is not known is left out.
    """
    network = to_networkx(graph)
    network.graph = {"name": clean(graph.model.name)}
    for _, attributes in network.nodes(data=True):
        _plain(attributes)
    for _, _, attributes in network.edges(data=True):
        attributes["shape"] = shape_text(attributes["shape"]) if attributes.get("shape") is not None else None
        _plain(attributes)
    return graphml_text(network)


def _plain(attributes: dict[str, Any]) -> None:
    for key, value in list(attributes.items()):
        if value is None:
            del attributes[key]
        elif not isinstance(value, bool | int | float):
            attributes[key] = clean(str(value))
