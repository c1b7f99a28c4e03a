"""`modgraph analyze --suggest`: what is asked for, and the graph with it."""

from __future__ import annotations

import argparse
from dataclasses import replace

from modgraph.graph.model import Graph


def check_suggestions(arguments: argparse.Namespace) -> None:
    """Raises ConfigError where a name is nothing to suggest."""
    if arguments.suggest:
        from modgraph.suggesting import kinds_of

        kinds_of(arguments.suggest)


def with_suggestions(graph: Graph, arguments: argparse.Namespace) -> Graph:
    """The graph with the names that are asked for; itself where none are."""
    if not arguments.suggest:
        return graph
    from modgraph.suggesting import suggest

    return replace(graph, suggestions=suggest(graph, arguments.suggest))
