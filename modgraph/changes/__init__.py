"""WHAT A CHANGE DID: old Graph + new Graph -> Changes. Neither torch nor libcst, files or drawing.

A room of this name and not `diff`, so that `modgraph.diff` is always the function.
"""

from modgraph.changes.comparing import compare
from modgraph.changes.model import Changes

__all__ = ["Changes", "compare"]
