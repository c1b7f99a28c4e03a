"""The graph of a model: one immutable type that prediction, trace and `load` all return, and everything else reads.

Nothing here knows torch, source code, drawing or files of the user.
"""

from modgraph.graph.build import GraphBuilder
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Graph

__all__ = ["Graph", "GraphBuilder", "GraphIndex"]
