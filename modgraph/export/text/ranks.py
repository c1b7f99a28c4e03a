"""What the summary says of a run in several processes: which, what was put around the model, where they differ."""

from __future__ import annotations

import textwrap
from collections import Counter

from modgraph.export.text.table import Pen
from modgraph.graph.model import Graph
from modgraph.names import last_name

MAX_DIFFERENCES = 5


def ranks_text(graph: Graph, width: int, pen: Pen) -> list[str]:
    """Nothing where the model ran in one process and for itself."""
    rows = []
    if graph.model.ranks:
        named = ", ".join(map(str, graph.model.ranks))
        rows.append(f"ranks       {named} of {graph.model.world_size}")
    around = Counter(last_name(name) for node in graph.modules for name in node.wrappers)
    if around:
        names = ", ".join(f"{name} {count}×" for name, count in around.items())
        rows.append(f"wrapped in  {names}; seen through")
    spread = sum(
        sum(1 for held in node.parameters if held.sharding) + sum(1 for held in node.buffers if held.sharding)
        for node in graph.modules
    )
    if spread:
        rows.append(f"spread      {spread:,} parameters and buffers lie on the ranks in parts; shapes are of the whole")
    shown = graph.rank_differences[:MAX_DIFFERENCES]
    rows += [f"differs     {one.module or 'the model'} {one.message}" for one in shown]
    if len(graph.rank_differences) > len(shown):
        rows.append(f"            and {len(graph.rank_differences) - len(shown):,} more, see the JSON")
    return [
        line
        for row in rows
        for line in textwrap.wrap(
            pen.plain(row), max(width, 40), subsequent_indent=" " * 12, break_on_hyphens=False, drop_whitespace=True
        )
    ]
