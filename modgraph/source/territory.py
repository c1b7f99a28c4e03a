"""What belongs to a project: files that an import in its source may lead to, and whose text may so be shown.

A source names what it imports, and a repository may hold links: without a border, `from outside.settings import KEY`
and `x.py -> ~/.netrc` put into the graph what stands anywhere on the machine. The border is the repository of the file
that is analysed. What the user's own Python has on its path (installed packages, `PYTHONPATH`) is the user's, with its
links.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from typing import NamedTuple

from modgraph.doors.reading import lies_in, repository_of

_NAMES = (".py", ".pyi", *EXTENSION_SUFFIXES)
"""What the file at the end of a link is called: a link `x.py` to what is no Python is there to have it shown."""
_LIBRARY = os.path.dirname(os.__file__)
_PRIVATE = ".git"
"""Below it stand tokens and the addresses of remotes."""


class Listing(NamedTuple):
    """The names in a directory."""

    folders: frozenset[str]
    files: frozenset[str]
    refused: frozenset[str]
    """Names of what lies, or leads, outside of the project."""


class Territory:
    """The files that imports of a project may lead to.

    Args:
        folders: of the project, links resolved.
        own: folders of the user's, whose links are followed wherever they lead.
        installed: those of them that hold installed packages.
    """

    def __init__(self, folders: Iterable[str], own: Iterable[str] = (), installed: Iterable[str] = ()) -> None:
        self.folders = tuple(dict.fromkeys(folders))
        self._installed = tuple(dict.fromkeys(installed))
        self._own = tuple(dict.fromkeys((*own, *self._installed)))

    def is_own(self, directory: str) -> bool:
        """Whether a directory lies where nobody but the user puts anything."""
        return any(lies_in(directory, place) for place in self._own)

    def is_installed(self, directory: str) -> bool:
        """Whether it holds installed packages, or is the standard library."""
        return any(lies_in(directory, place) for place in self._installed)

    def listing(self, directory: str) -> Listing:
        """What is in a directory; nothing, where it cannot be listed."""
        folders: set[str] = set()
        files: set[str] = set()
        refused: set[str] = set()
        here = None if self.is_own(directory) else os.path.realpath(directory)
        is_inside = here is None or self._holds(here)
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):  # a link to itself, or one that may not be looked at
                        if here is not None and (not is_inside or entry.is_symlink()) and not self._admits(here, entry):
                            refused.add(entry.name)
                        else:
                            (folders if entry.is_dir() else files).add(entry.name)
        except OSError:  # vanished, or not ours to read
            pass
        return Listing(frozenset(folders), frozenset(files), frozenset(refused))

    def has(self, path: str) -> bool:
        """Whether a file lies in the project, links followed, and is called as Python is."""
        if self.is_own(path):
            return True
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return False
        return self._holds(real) and real.lower().endswith(_NAMES)

    def _admits(self, directory: str, entry: os.DirEntry[str]) -> bool:
        """Whether an entry lies in the project, links followed, or leads down to it."""
        if entry.is_symlink():
            real = os.path.realpath(entry.path, strict=True)
            return self._holds(real) and (real.lower().endswith(_NAMES) or os.path.isdir(real))
        real = os.path.join(directory, entry.name)
        return self._holds(real) or any(lies_in(folder, real) for folder in self.folders)

    def _holds(self, real: str) -> bool:
        return any(
            lies_in(real, folder) and _PRIVATE not in real[len(folder) :].split(os.sep) for folder in self.folders
        )


def refused(path: str) -> str:
    """What is said of something that lies, or leads, outside of the project."""
    folder, name = os.path.split(path)
    shown = f"{os.path.basename(folder)}/{name}" if name == "__init__.py" else name
    if os.path.islink(path):
        return (
            f"{shown} is a link that leads out of the project and is not followed; "
            "if it is trusted, put what it leads to in its place, or the folder above it on PYTHONPATH"
        )
    return f"{shown} lies outside of the project and is not read; if it is trusted, put its folder on PYTHONPATH"


def territory_of(folder: str, search_path: Sequence[str], fallback: Sequence[str] = ()) -> Territory:
    """That of the project of a file in `folder`.

    Args:
        search_path: where imports are looked up. What of it Python itself has on its path, and is not the project's, is
            the user's own; other entries were named for the project, but for the working directory and folders around
            it.
        fallback: the user's own as well.
    """
    folders = project_folders(folder)
    own: list[str] = []
    installed = [_LIBRARY, *map(os.path.abspath, fallback)]
    for each in search_path:
        place = os.path.abspath(each)
        if place not in _of_python():
            if place not in (os.getcwd(), os.path.abspath("src")) and not _lies_around(place, folders):
                folders.append(os.path.realpath(place))
        elif _is_installed(place):
            installed.append(place)
        elif not any(_meet(place, one) for one in folders):
            own.append(place)
    return Territory(folders, own, installed)


def project_folders(folder: str) -> list[str]:
    """Of the project that a folder belongs to, links resolved: its repository, and that around it from which the
    command was started; without one, the folder from which its files are imported, and the working directory.

    A folder that holds more than one project (the home directory, "/") is none.
    """
    here, cwd = os.path.realpath(folder), os.path.realpath(os.curdir)
    tops = (_top(here), _top(cwd))
    found = [top for top in tops if top is not None and lies_in(here, top)]
    if not found:
        package = here
        while os.path.isfile(os.path.join(package, "__init__.py")) and os.path.dirname(package) != package:
            here, package = package, os.path.dirname(package)
        found = [here if _holds_many(package) else package]
        if lies_in(here, cwd) and not _holds_many(cwd):
            found.append(cwd)
    return list(dict.fromkeys(found))


def _top(folder: str) -> str | None:
    """Of the repository that a folder lies in, or of the files of a revision."""
    if "modgraph-" in folder:
        from modgraph.doors.temporary import made_here  # rarely needed, and slow to import

        made = made_here(folder)
        if made is not None:
            return made
    top = repository_of(folder)
    return None if top is None or _holds_many(top) else top


def _holds_many(folder: str) -> bool:
    places = ("~", *(os.environ.get(name, "/tmp") for name in ("TMPDIR", "TEMP", "TMP")))
    return any(lies_in(os.path.realpath(os.path.expanduser(place)), folder) for place in places)


def _lies_around(place: str, folders: Sequence[str]) -> bool:
    real = os.path.realpath(place)
    return any(lies_in(folder, real) for folder in folders)


def _meet(place: str, folder: str) -> bool:
    """Whether a directory lies in a folder of the project, or around it."""
    real = os.path.realpath(place)
    return lies_in(real, folder) or lies_in(folder, real)


def _is_installed(place: str) -> bool:
    """Whether an entry of Python's path is for packages: its environment may lie within the project."""
    return os.path.basename(place) in ("site-packages", "dist-packages")


def _of_python() -> frozenset[str]:
    return _entries(tuple(sys.path))


@lru_cache(maxsize=8)
def _entries(path: tuple[str, ...]) -> frozenset[str]:
    return frozenset(os.path.abspath(entry) for entry in path if entry)
