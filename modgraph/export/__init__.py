"""A graph as text or bytes: `render` gives them, `write` and `save` are the ones that put them into files.

Every format is one line of `FORMATS`; its module is imported when it is first asked for. So are the names here: what
only writes findings loads nothing that draws.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from modgraph.export.files import (
        Written,
        append_file,
        file_stem,
        file_stems,
        make_default,
        put_files,
        save,
        write,
        write_file,
    )
    from modgraph.export.formats import FORMATS, Format, check_format, format_of, render
    from modgraph.export.look.options import PictureOptions
    from modgraph.export.notebook import mime_bundle

_HOMES = {
    **dict.fromkeys(
        (
            "Written",
            "append_file",
            "file_stem",
            "file_stems",
            "make_default",
            "put_files",
            "save",
            "write",
            "write_file",
        ),
        "files",
    ),
    **dict.fromkeys(("FORMATS", "Format", "check_format", "format_of", "render"), "formats"),
    "mime_bundle": "notebook",
    "PictureOptions": "look.options",
}

__all__ = [
    "FORMATS",
    "Format",
    "PictureOptions",
    "Written",
    "append_file",
    "check_format",
    "file_stem",
    "file_stems",
    "format_of",
    "make_default",
    "mime_bundle",
    "put_files",
    "render",
    "save",
    "write",
    "write_file",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"modgraph.export.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
