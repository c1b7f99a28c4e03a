"""Number of elements of what has a shape."""

from __future__ import annotations

from modgraph.graph.model import Shape

MAX_ELEMENTS = 2**63 - 1
"""torch counts them in 64 bits; a shape of more is of no tensor."""


def elements(shape: Shape | None) -> int | None:
    """Number of elements; None where a size is not known, or there is no such tensor."""
    if shape is None:
        return None
    number = 1
    for size in shape:
        if not isinstance(size, int) or size < 0:
            return None
        number = min(number * size, MAX_ELEMENTS + 1)
    return number if number <= MAX_ELEMENTS else None
