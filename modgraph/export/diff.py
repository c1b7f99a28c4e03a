"""What a change did, in every format there is: the formats, and one `Changes` in one of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from modgraph.changes.model import Changes
from modgraph.errors import ExportError
from modgraph.export.files import write_file
from modgraph.export.formats import TEXT_WIDTH


@dataclass(frozen=True, slots=True)
class DiffFormat:
    """One way to write what a change did."""

    render: Callable[[Changes], str]
    extension: str


def _text(changes: Changes) -> str:
    from modgraph.export.diff_text import render

    return render(changes, width=TEXT_WIDTH)


def _markdown(changes: Changes) -> str:
    from modgraph.export.diff_markdown import render

    return render(changes)


def _svg(changes: Changes) -> str:
    from modgraph.export.diff_picture import render

    return render(changes)


def _html(changes: Changes) -> str:
    from modgraph.export.diff_html import render

    return render(changes)


FORMATS: dict[str, DiffFormat] = {
    "text": DiffFormat(_text, "txt"),
    "markdown": DiffFormat(_markdown, "md"),
    "json": DiffFormat(lambda changes: changes.to_json(), "json"),
    "svg": DiffFormat(_svg, "svg"),
    "html": DiffFormat(_html, "html"),
}


def render(changes: Changes, format: str) -> str:
    """`changes` in a format; the same changes give the same text.

    Raises:
        ExportError: there is no such format, or what it needs is not installed.
    """
    if format not in FORMATS:
        near = difflib.get_close_matches(format.lower(), FORMATS, n=1)
        hint = f"formats of a diff are {', '.join(FORMATS)}"
        raise ExportError(f"unknown format {format!r}", hint=f"did you mean {near[0]!r}? {hint}" if near else hint)
    return FORMATS[format].render(changes)


def format_of(path: Path) -> str:
    """The format that the suffix of a file's name stands for.

    Raises:
        ExportError: it stands for none.
    """
    suffix = path.suffix.removeprefix(".").lower()
    for name, format in FORMATS.items():
        if suffix == format.extension:
            return name
    extensions = ", ".join(f".{format.extension}" for format in FORMATS.values())
    raise ExportError(f"the name {path.name!r} names no format of a diff", hint=f"a file ends in {extensions}")


def save(changes: Changes, path: Path) -> None:
    """Write `changes` to `path` in the format that its suffix names.

    Raises:
        ExportError: the suffix is no format, what draws it is not installed, or the file cannot be written.
    """
    write_file(path, render(changes, format_of(path)))
