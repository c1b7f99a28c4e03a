"""Files of a project around a model: those below its folder, then around it, up to the border."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
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
    folder = home
    border = border_around(folder)
    tops = project_folders(folder)
    for _ in range(MAX_FOLDERS_UP + 1):
        if not any(lies_in(folder, top) for top in tops):
            return
        found = islice(python_files(folder, wanted=wanted), most)
        for path in found if order is None else _in_order(found, folder, order):
            require_time()
            real = os.path.realpath(path)
            if real not in seen and border.admits(real, wanted):
                seen.add(real)
                yield real
        folder = os.path.dirname(folder)


def _in_order(found: Iterator[str], folder: str, order: Callable[[str, str], Any]) -> list[str]:
    return sorted(found, key=lambda path: order(path, folder))
