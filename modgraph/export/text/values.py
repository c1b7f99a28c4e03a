"""What the summary says of the values of a run: where the first came from that is not finite, what got no gradient."""

from __future__ import annotations

import textwrap
from collections import defaultdict

from modgraph.export.text.table import Pen
from modgraph.graph.model import Graph
from modgraph.graph.no_gradient import parameters_of

MAX_NAMED = 6
"""Parameters that are named of each reason."""


def nonfinite_text(graph: Graph, width: int, pen: Pen) -> list[str]:
    """A line for the first infinite value, and one for the first NaN."""
    return [pen.paint(line, "bold yellow") for each in graph.nonfinite for line in _wrapped(each.text, width, pen)]


def gradient_text(graph: Graph, width: int, pen: Pen) -> list[str]:
    """How many parameters got no gradient, and which, by the reason."""
    found = graph.without_gradient
    if not found:
        return []
    lines = [f"no gradient for {len(found):,} of {len(parameters_of(graph)):,} parameters"]
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for each in found:
        by_reason[each.reason].append(each.parameter)
    for reason, names in by_reason.items():
        more = f", {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
        lines += _wrapped(f"  {', '.join(names[:MAX_NAMED])}{more}: {reason}", width, pen)
    return [pen.paint(lines[0], "bold yellow"), *lines[1:]]


def _wrapped(line: str, width: int, pen: Pen) -> list[str]:
    return textwrap.wrap(pen.plain(line), max(width, 40), subsequent_indent="    ", break_on_hyphens=False)
