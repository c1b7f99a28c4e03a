"""A graph as text or bytes: `render` gives them, `write` and `save` are the ones that put them into files.

Every format is one line of `FORMATS`; its module is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from modgraph.export.files import Written, file_stem, file_stems, save, write, write_file
from modgraph.export.formats import FORMATS, Format, check_format, format_of, render
from modgraph.export.notebook import mime_bundle

if TYPE_CHECKING:
    from modgraph.export.picture import PictureOptions

__all__ = [
    "FORMATS",
    "Format",
    "PictureOptions",
    "Written",
    "check_format",
    "file_stem",
    "file_stems",
    "format_of",
    "mime_bundle",
    "render",
    "save",
    "write",
    "write_file",
]


def __getattr__(name: str) -> Any:
    if name == "PictureOptions":
        from modgraph.export.picture import PictureOptions

        return PictureOptions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
