"""The formats there are, and one graph in one of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from modgraph.errors import ExportError
from modgraph.graph.model import Graph

if TYPE_CHECKING:
    from modgraph.export.picture import PictureOptions

TEXT_WIDTH = 100
"""Columns of the text format, whatever terminal it is written from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to write a graph."""

    render: Callable[[Graph, PictureOptions | None], str | bytes]
    extension: str
    binary: bool = False
    """Whether `render` gives bytes; it gives text otherwise."""
    instead: tuple[str, ...] = ()
    """The formats that are written where nobody asked for this one by name and what it needs is not there."""


def _image(format: Literal["svg", "png", "pdf"]) -> Callable[[Graph, PictureOptions | None], str | bytes]:
    def render_image(graph: Graph, options: PictureOptions | None) -> str | bytes:
        from modgraph.export import images

        image: bytes = images.render(graph, _or_default(options), format)
        return image if FORMATS[format].binary else image.decode("utf-8")

    return render_image


def _dot(graph: Graph, options: PictureOptions | None) -> str:
    from modgraph.export import dot

    return dot.render(graph, _or_default(options))


def _mermaid(graph: Graph, options: PictureOptions | None) -> str:
    from modgraph.export import mermaid

    return mermaid.render(graph, options)


def _model_explorer(graph: Graph, _options: PictureOptions | None) -> str:
    from modgraph.export import model_explorer

    return model_explorer.render(graph)


def _graphml(graph: Graph, _options: PictureOptions | None) -> str:
    from modgraph.export import graphml

    return graphml.render(graph)


def _html(graph: Graph, options: PictureOptions | None) -> str:
    from modgraph.export import html

    return html.render(graph, options)


def _json(graph: Graph, _options: PictureOptions | None) -> str:
    from modgraph.graph.serial import to_json

    return to_json(graph)


def _onnx(graph: Graph, _options: PictureOptions | None) -> bytes:
    from modgraph.export.onnx_structural import render

    return render(graph)


def _text(graph: Graph, options: PictureOptions | None) -> str:
    from modgraph.export.text import summary

    if options is None:
        return summary(graph, width=TEXT_WIDTH)
    return summary(
        graph, width=TEXT_WIDTH, depth=options.depth, fold=options.fold, columns=options.columns, focus=options.focus
    )


def _or_default(options: PictureOptions | None) -> PictureOptions:
    from modgraph.export.picture import PictureOptions

    return PictureOptions() if options is None else options


FORMATS: dict[str, Format] = {
    "svg": Format(render=_image("svg"), extension="svg", instead=("html", "dot")),
    "png": Format(render=_image("png"), extension="png", binary=True, instead=("html", "dot")),
    "pdf": Format(render=_image("pdf"), extension="pdf", binary=True, instead=("html", "dot")),
    "html": Format(render=_html, extension="html"),
    "dot": Format(render=_dot, extension="dot"),
    "mermaid": Format(render=_mermaid, extension="mmd"),
    "json": Format(render=_json, extension="json"),
    "onnx": Format(render=_onnx, extension="onnx", binary=True),
    "model-explorer": Format(render=_model_explorer, extension="model-explorer.json"),
    "graphml": Format(render=_graphml, extension="graphml"),
    "text": Format(render=_text, extension="txt"),
}


def check_format(name: str) -> Format:
    """The format of that name.

    Raises:
        ExportError: there is none; the error names those there are.
    """
    if name in FORMATS:
        return FORMATS[name]
    near = difflib.get_close_matches(name.lower(), FORMATS, n=1)
    hint = f"formats are {', '.join(FORMATS)}"
    raise ExportError(f"unknown format {name!r}", hint=f"did you mean {near[0]!r}? {hint}" if near else hint)


def format_of(path: Path) -> str:
    """The format that the suffix of a file's name stands for.

    Raises:
        ExportError: it stands for none; the error names those that do.
    """
    suffix = path.suffix.removeprefix(".").lower()
    longest_first = sorted(FORMATS.items(), key=lambda item: -len(item[1].extension))
    for name, format in longest_first:
        if path.name.lower().endswith(f".{format.extension}") and len(path.name) > len(format.extension) + 1:
            return name
    extensions = [format.extension for format in FORMATS.values()]
    near = difflib.get_close_matches(suffix, extensions, n=1) if suffix else []
    message = f"{path.name!r}: .{suffix} is no format" if suffix else f"the name {path.name!r} names no format"
    hint = f"a file ends in {', '.join(f'.{extension}' for extension in extensions)}"
    raise ExportError(message, hint=f"did you mean .{near[0]}? {hint}" if near else hint)


def render(graph: Graph, format: str, options: PictureOptions | None = None) -> str | bytes:
    """`graph` in a format; the same graph and options give the same result.

    Args:
        format: a key of `FORMATS`.
        options: depth and folding; of use to pictures and to the text.

    Returns:
        Text, or bytes for a format that is `binary`.

    Raises:
        ExportError: there is no such format, or what it needs is not installed.
    """
    return check_format(format).render(graph, options)
