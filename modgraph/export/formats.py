"""The formats there are, and one graph in one of them."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from modgraph.errors import ExportError
from modgraph.graph.assumed import as_assumed
from modgraph.graph.model import Graph
from modgraph.graph.untaken import as_run

if TYPE_CHECKING:
    from modgraph.export.look.options import PictureOptions

T = TypeVar("T")

TEXT_WIDTH = 100
"""Columns of the text format, whatever terminal it is written from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to write a graph."""

    render: Callable[[Graph, PictureOptions | None], str | bytes]
    extension: str
    binary: bool = False
    """Whether `render` gives bytes; it gives text otherwise."""
    for_people: bool = False
    """It is shown in the encoding of the terminal; others say themselves which is theirs."""
    has_columns: bool = False
    """The table of modules is in it, of which `--columns` chooses the columns."""
    instead: tuple[str, ...] = ()
    """The formats that are written where nobody asked for this one by name and what it needs is not there."""


def by(module: str, **settings: Any) -> Callable[..., Any]:
    """The function `render` of a module here, which is imported when it is first called; `settings` are given to it."""

    def render(*asked: Any) -> Any:
        return importlib.import_module(f"modgraph.export.{module}").render(*asked, **settings)

    return render


def _svg(graph: Graph, options: PictureOptions | None) -> str:
    image: bytes = by("picture.images", format="svg")(graph, options)
    return image.decode("utf-8")


def _json(graph: Graph, _options: PictureOptions | None) -> str:
    return graph.to_json()


def _text(graph: Graph, options: PictureOptions | None) -> str:
    from modgraph.export.text.summary import summary

    if options is None:
        return summary(graph, width=TEXT_WIDTH)
    return summary(
        graph, width=TEXT_WIDTH, depth=options.depth, fold=options.fold, columns=options.columns, focus=options.focus
    )


def _whole(module: str) -> Callable[..., Any]:
    """A format that shows all of a graph, whatever a picture would."""
    return lambda graph, _options: by(module)(as_run(graph))


def _of_the_run(module: str) -> Callable[..., Any]:
    """A format that shows what ran, and nothing of what might have; what is assumed, it says once."""
    return lambda graph, options: by(module)(as_run(as_assumed(graph)), options)


FORMATS: dict[str, Format] = {
    "svg": Format(render=_svg, extension="svg", instead=("html", "dot")),
    "png": Format(render=by("picture.images", format="png"), extension="png", binary=True, instead=("html", "dot")),
    "pdf": Format(render=by("picture.images", format="pdf"), extension="pdf", binary=True, instead=("html", "dot")),
    "html": Format(render=lambda graph, options: by("page.html")(as_assumed(graph), options), extension="html"),
    "dot": Format(render=by("picture.dot"), extension="dot"),
    "mermaid": Format(render=by("picture.mermaid"), extension="mmd"),
    "tex": Format(render=by("picture.tikz"), extension="tex", instead=("html", "dot")),
    "json": Format(render=_json, extension="json"),
    "onnx": Format(render=_whole("onnx.structural"), extension="onnx", binary=True),
    "model-explorer": Format(render=_whole("interchange.model_explorer"), extension="model-explorer.json"),
    "graphml": Format(render=_whole("interchange.graphml"), extension="graphml"),
    "text": Format(render=_text, extension="txt", for_people=True, has_columns=True),
    "csv": Format(render=_of_the_run("text.csv"), extension="csv", for_people=True, has_columns=True),
    "markdown": Format(render=_of_the_run("text.markdown"), extension="md", for_people=True, has_columns=True),
}


def check_format(name: str) -> Format:
    """The format of that name.

    Raises:
        ExportError: there is none; the error names those there are.
    """
    return chosen(name, FORMATS)


def chosen(name: str, formats: Mapping[str, T], of: str = "") -> T:
    """The format of that name among those of what `of` says.

    Raises:
        ExportError: there is none; the error names those there are.
    """
    if name in formats:
        return formats[name]
    near = difflib.get_close_matches(name.lower(), formats, n=1)
    hint = f"formats{of} are {', '.join(formats)}"
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
