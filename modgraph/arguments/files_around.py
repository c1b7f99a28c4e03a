"""Files of a project around a model: those below its folder, then around it, up to the border."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from modgraph.arguments.search_time import require_time
from modgraph.doors.borders import border_around, project_folders
from modgraph.doors.reading import lies_in
from modgraph.source.files import python_files

MAX_FOLDERS_UP = 4


def files_around(
    home: str, wanted: tuple[str, ...], *, most: int, order: Callable[[str, str], Any] | None = None
) -> Iterator[str]:
    """Paths without links, each once. What git ignores is none of them.

    Args:
        home: the folder with which it begins.
        wanted: how the names of the files end.
        most: files below one folder that are put in order.
        order: of a path and the folder below which it was found: those with the smallest come first. Without it they
            come as they lie.
    """
    seen: set[str] = set()
    reals: dict[str, str] = {}
    folder = home
    border = border_around(folder)
    tops = project_folders(folder)
    for _ in range(MAX_FOLDERS_UP + 1):
        if not any(lies_in(folder, top) for top in tops):
            return
        found = islice(python_files(folder, wanted=wanted), most)
        for path in found if order is None else _in_order(found, folder, order):
            require_time()
            real = _without_links(path, reals)
            if real not in seen and border.holds_real(real):
                seen.add(real)
                yield real
        folder = os.path.dirname(folder)


def _in_order(found: Iterator[str], folder: str, order: Callable[[str, str], Any]) -> list[str]:
    return sorted(found, key=lambda path: order(path, folder))


def _without_links(path: str, folders: dict[str, str]) -> str:
    """The path of a file.

    Args:
        folders: those of folders, which are asked for once.
    """
    if os.path.islink(path):
        return os.path.realpath(path)
    folder, name = os.path.split(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], name)


class Steps:
    """From one folder to others.

    Args:
        home: that folder.
    """

    def __init__(self, home: str) -> None:
        self._home = home
        self._known: dict[str, tuple[str, int]] = {}

    def way(self, folder: str) -> str:
        """How one comes there: "../configs"."""
        return self._found(folder)[0]

    def to(self, folder: str) -> int:
        """How many lie between them, up and down."""
        return self._found(folder)[1]

    def _found(self, folder: str) -> tuple[str, int]:
        if folder not in self._known:
            way = os.path.relpath(folder, self._home)
            self._known[folder] = way, len(Path(way).parts)
        return self._known[folder]
