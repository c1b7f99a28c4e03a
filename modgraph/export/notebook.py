"""A graph as a notebook shows it."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import cast

from modgraph.doors.printing import printable
from modgraph.export.formats import TEXT_WIDTH, render
from modgraph.graph.model import Graph

MAX_SVG = 500_000
"""Characters of a picture that a notebook keeps in its file, at every run of the cell."""
_TEXT, _SVG = "text/plain", "image/svg+xml"


def mime_bundle(
    graph: Graph, include: Container[str] | None = None, exclude: Container[str] | None = None
) -> dict[str, str]:
    """The summary as `text/plain`, and the picture as `image/svg+xml` where it can be drawn and is small.

    Never raises: what a cell shows must not stop the notebook.

    Args:
        include: the types that are wanted; by default all.
        exclude: types that are not wanted.
    """
    makers: dict[str, Callable[[Graph], str]] = {_TEXT: _summary, _SVG: _picture}
    bundle: dict[str, str] = {}
    for kind, make in makers.items():
        if (include and kind not in include) or (exclude and kind in exclude):
            continue
        try:
            content = make(graph)
        except Exception:  # whatever is amiss with one form, the others can be shown; no renderer is the usual reason
            content = f"<Graph of {printable(graph.model.name)}>" if kind == _TEXT else ""
        if content:
            bundle[kind] = content
    return bundle


def _summary(graph: Graph) -> str:
    from modgraph.export.text.summary import summary

    return summary(graph, width=TEXT_WIDTH).rstrip("\n")


def _picture(graph: Graph) -> str:
    """The SVG; empty where it is large."""
    svg = cast(str, render(graph, "svg"))
    return svg if len(svg) <= MAX_SVG else ""
