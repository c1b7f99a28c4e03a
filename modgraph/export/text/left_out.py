"""What the summary and pictures say of code of the project that had no part in the run."""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.graph.model import LeftOut

_MOST = 3
"""Places that a text names; the graph has all."""


def left_out_line(left_out: Sequence[LeftOut]) -> str:
    """ "of the project's code, ...: net.py:3 (FileNotFoundError: ...), net.py:20-95 (not needed)"; "" where nothing was
    left out."""
    if not left_out:
        return ""
    # What raised is why anything was left out, and is told first.
    ordered = sorted(left_out, key=lambda each: each.error is None)
    named = ", ".join(map(_named, ordered[:_MOST]))
    more = f" and {len(ordered) - _MOST} more" if len(ordered) > _MOST else ""
    return f"of the project's code, as its import fails or does not end with it: {named}{more}"


def _named(left: LeftOut) -> str:
    lines = f"{left.line}" if left.error is not None or left.last_line == left.line else f"{left.line}-{left.last_line}"
    why = "not needed by the model" if left.error is None else left.error
    return f"{left.file}:{lines} ({why})"
