"""Number of elements of what has a shape."""

from __future__ import annotations

import math

from modgraph.graph.model import Shape


def elements(shape: Shape | None) -> int | None:
    """Number of elements; None where a size is not known."""
    if shape is None:
        return None
    known = [size for size in shape if isinstance(size, int)]
    return math.prod(known) if len(known) == len(shape) else None
