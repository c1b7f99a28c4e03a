"""The configuration files that a script opens: YAML, JSON and TOML within the project, by the path that it writes."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from functools import lru_cache

from modgraph.arguments.other_data import other_text
from modgraph.doors.borders import Border, border_around
from modgraph.doors.reading import lies_in
from modgraph.source.files import DATA, text_of

MAX_FILE = 200_000
"""Bytes of one file."""
MAX_FILES = 8
"""Files that one script is given."""
_MAX_UP = 4
_MAX_PATH = 256
"""Characters of one that is asked for links."""


class Opened:
    """The files that one script reads, in their order. One of them may be hidden: it is then not known what it holds.
    Or one may hold other values under its keys.

    Args:
        hidden: the path of the one.
        changed: that of the other.
    """

    def __init__(self, hidden: str | None = None, changed: str | None = None) -> None:
        self.paths: dict[str, None] = {}
        self.changed = changed
        self._hidden = hidden

    def admits(self, path: str) -> bool:
        """Notes the file; whether the script is given what it holds."""
        self.paths[path] = None
        return path != self._hidden


def links_beside(script: str) -> Callable[[str], tuple[str, ...]]:
    """Other paths of the file to which a path leads, read from the same folders: the end of a link, below the folder of
    the project. "." of a file with further names, as nobody says where they are."""
    folders = [os.path.dirname(script)]
    while len(folders) < _MAX_UP:
        folders.append(os.path.dirname(folders[-1]))
    border = border_around(folders[0])

    @lru_cache(maxsize=1024)
    def leads_to(path: str) -> tuple[str, ...]:
        if not 0 < len(path) <= _MAX_PATH or os.path.isabs(path) or "\0" in path or ".." in path.split("/"):
            return ()
        return tuple(end for folder in folders if border.holds(folder) for end in _ends(border, folder, path))

    return leads_to


def _ends(border: Border, folder: str, path: str) -> Iterator[str]:
    real = os.path.realpath(os.path.join(folder, path))
    home = next((each for each in border.folders if lies_in(real, each)), None)
    if home is None:
        return
    if real != os.path.normpath(os.path.join(os.path.realpath(folder), path)):
        yield os.path.relpath(real, home)
    with contextlib.suppress(OSError):
        found = os.stat(real)
        if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            yield "."


def data_beside(script: str, opened: Opened) -> Callable[[str], str | None]:
    """The text of such a file by its path: relative to the folder of the script, or to one around it in the project, as
    nobody says where the script is started."""
    border = border_around(os.path.dirname(script))
    left = [MAX_FILES]

    def data_of(path: str) -> str | None:
        parts = path.removeprefix("./").split("/")
        if not path.lower().endswith(DATA) or os.path.isabs(path) or "\0" in path:
            return None
        if any(part.startswith(".") for part in parts):  # "..", and what is hidden, as keys are
            return None
        folder = os.path.dirname(script)
        for _ in range(_MAX_UP):
            place = os.path.join(folder, path)
            if border.holds(folder) and border.admits(place, DATA) and os.path.isfile(place) and left[0]:
                left[0] -= 1
                text = text_of(place, MAX_FILE) if opened.admits(place) else None
                return text if text is None or place != opened.changed else other_text(place, text)
            folder = os.path.dirname(folder)
        return None

    return data_of
