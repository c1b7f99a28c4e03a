"""A graph as a notebook shows it: a picture and a text."""

from __future__ import annotations

import base64
from collections.abc import Callable, Container
from functools import partial
from html import escape
from typing import cast

from modgraph.doors.printing import printable
from modgraph.export.formats import TEXT_WIDTH, render
from modgraph.export.look.dark import with_dark_rules
from modgraph.graph.model import Graph

MAX_SVG = 500_000
"""Characters of a picture that a notebook keeps in its file, at every run of the cell."""
_TEXT, _SVG, _HTML = "text/plain", "image/svg+xml", "text/html"
_FRONTENDS = (
    '[data-jp-theme-light="false"]',
    "body.vscode-dark",
    'html[theme="dark"]',
)
"""How JupyterLab, what nbconvert writes, VS Code and Colab say that their theme is dark."""
_STYLE = (
    ".modgraph img{max-width:100%;height:auto;color-scheme:light}"
    f"{','.join(f'{where} .modgraph img' for where in _FRONTENDS)}{{color-scheme:dark}}"
    ".modgraph pre{margin:8px 0;padding:0;background:none;white-space:pre;overflow-x:auto}"
)
_PRE = "font-family:monospace;line-height:1.25"
"""Beside the text itself, as a notebook that is not trusted has no style sheet."""


def mime_bundle(
    graph: Graph, include: Container[str] | None = None, exclude: Container[str] | None = None
) -> dict[str, str]:
    """The summary as `text/plain`; the picture as `image/svg+xml` where it can be drawn and is small, and then both of
    them as `text/html`: of what it is given, a notebook shows one.

    Never raises: what a cell shows must not stop the notebook.

    Args:
        include: the types that are wanted; by default all.
        exclude: types that are not wanted; without the picture there is no HTML.
    """
    svg = partial(render, graph, "svg")
    return bundle(graph.model.name, partial(_summary, graph), svg, include, exclude)


def bundle(
    name: str,
    say: Callable[[], str],
    draw: Callable[[], str | bytes],
    include: Container[str] | None,
    exclude: Container[str] | None,
) -> dict[str, str]:
    """What is said as text, what is drawn as SVG, and both as HTML; `name` is said where nothing else can be."""

    def wanted(kind: str) -> bool:
        return not ((include and kind not in include) or (exclude and kind in exclude))

    text = (_tried(say) or f"<Graph of {printable(name)}>") if wanted(_TEXT) or wanted(_HTML) else ""
    svg = _tried(draw) if wanted(_SVG) or wanted(_HTML) else ""
    svg = svg if len(svg) <= MAX_SVG else ""
    both = _both(name, svg, text) if svg and wanted(_HTML) and not (exclude and _SVG in exclude) else ""
    return {kind: content for kind, content in ((_TEXT, text), (_SVG, svg), (_HTML, both)) if content and wanted(kind)}


def _tried(make: Callable[[], str | bytes]) -> str:
    """What it makes; empty where it fails."""
    try:
        return cast(str, make())
    except Exception:  # whatever is amiss with one form, the others can be shown; no renderer is the usual reason
        return ""


def _both(name: str, svg: str, text: str) -> str:
    """The picture above the text. An image has ids of its own, and passes notebooks that are not trusted."""
    data = base64.b64encode(with_dark_rules(svg).encode("utf-8", "replace")).decode("ascii")
    image = f'<img alt="{escape(printable(name))}" src="data:image/svg+xml;base64,{data}">'
    return f'<div class="modgraph"><style>{_STYLE}</style>{image}<pre style="{_PRE}">{escape(text)}</pre></div>'


def _summary(graph: Graph) -> str:
    from modgraph.export.text.summary import summary

    return summary(graph, width=TEXT_WIDTH).rstrip("\n")
