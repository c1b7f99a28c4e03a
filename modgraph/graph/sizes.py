"""Shapes: the number of elements, and as a list in words."""

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


def sizes_text(shape: Shape | None, unknown: str = "?") -> str:
    """ "[4, ?, n]"; `unknown` where nothing is known of the shape."""
    return unknown if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
