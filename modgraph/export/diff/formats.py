"""What changed, in every format there is: the formats, and one `Changes` in one of them."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path

from modgraph.changes.model import Changes
from modgraph.errors import ExportError
from modgraph.export.files import write_file
from modgraph.export.formats import TEXT_WIDTH, by, chosen
from modgraph.export.notebook import bundle


@dataclass(frozen=True, slots=True)
class DiffFormat:
    """One way to write what changed."""

    render: Callable[[Changes], str]
    extension: str


FORMATS: dict[str, DiffFormat] = {
    "text": DiffFormat(by("diff.text", width=TEXT_WIDTH), "txt"),
    "markdown": DiffFormat(by("diff.markdown"), "md"),
    "json": DiffFormat(lambda changes: changes.to_json(), "json"),
    "svg": DiffFormat(by("diff.picture"), "svg"),
    "html": DiffFormat(by("diff.html"), "html"),
}


def render(changes: Changes, format: str) -> str:
    """`changes` in a format; the same changes give the same text.

    Raises:
        ExportError: there is no such format, or what it needs is not installed.
    """
    return chosen(format, FORMATS, " of a diff").render(changes)


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


def mime_bundle(
    changes: Changes, include: Container[str] | None = None, exclude: Container[str] | None = None
) -> dict[str, str]:
    """What a notebook shows: the text, and the picture where it can be drawn and is small. Never raises."""
    text = by("diff.text", width=TEXT_WIDTH)
    return bundle(
        changes.new.name, lambda: text(changes).rstrip("\n"), lambda: render(changes, "svg"), include, exclude
    )


def save(changes: Changes, path: Path) -> None:
    """Write `changes` to `path` in the format that its suffix names.

    Raises:
        ExportError: the suffix is no format, what draws it is not installed, or the file cannot be written.
    """
    write_file(path, render(changes, format_of(path)))
