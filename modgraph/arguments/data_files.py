"""The configuration files that a script opens: YAML, JSON and TOML within the project, by the path that it writes."""

from __future__ import annotations

import os
from collections.abc import Callable

from modgraph.arguments.other_data import other_text
from modgraph.doors.borders import border_around
from modgraph.source.files import DATA, text_of

MAX_FILE = 200_000
"""Bytes of one file."""
MAX_FILES = 8
"""Files that one script is given."""
_MAX_UP = 4


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
