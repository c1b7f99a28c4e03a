"""What belongs to a project: files that an import in its source may lead to, and whose text may so be shown.

A source names what it imports, and a repository may hold links: without a border, `from outside.settings import KEY`
and `x.py -> ~/.netrc` put into the graph what stands anywhere on the machine. The border is the repository of the file
that is analysed (`doors/borders.py`). What the user's own Python has on its path (installed packages, `PYTHONPATH`) is
the user's, with its links; another folder that was named to import from has a border of its own, so that no link of the
project leads there.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from modgraph.doors.borders import PYTHON_FILES, Border, border_around
from modgraph.doors.reading import lies_in, link_text, real_path
from modgraph.source.cache_home import analysing

_LIBRARY = os.path.dirname(os.__file__)


class Listing(NamedTuple):
    """The names in a directory."""

    folders: frozenset[str]
    files: frozenset[str]
    refused: frozenset[str]
    """Names of what lies, or leads, outside of the project."""


class Territory:
    """The files that imports of a project may lead to.

    Args:
        project: its border.
        own: folders of the user's, whose links are followed wherever they lead.
        installed: those of them that hold installed packages.
        named: further folders to import from, as they were named.
    """

    def __init__(
        self, project: Border, own: Iterable[str] = (), installed: Iterable[str] = (), named: Iterable[str] = ()
    ) -> None:
        self.project = project
        self._named = frozenset(named)
        self._installed = tuple(dict.fromkeys(installed))
        self._own = tuple(dict.fromkeys((*own, *self._installed)))

    def follow(self, place: str) -> None:
        """A package of the user's, installed to be edited where it lies; one of the project's own is that already."""
        if not any(_meet(place, one) for one in self.project.folders):
            self._own = tuple(dict.fromkeys((*self._own, os.path.abspath(place))))

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
        border = self.project if here is None else self._border_of(directory)
        is_inside = here is None or border.holds_real(here)
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):  # a link to itself, or one that may not be looked at
                        asks = here is not None and (not is_inside or entry.is_symlink())
                        if asks and not _admits(border, str(here), entry):
                            refused.add(entry.name)
                        else:
                            (folders if entry.is_dir() else files).add(entry.name)
        except OSError:  # vanished, or not ours to read
            pass
        return Listing(frozenset(folders), frozenset(files), frozenset(refused))

    def has(self, path: str) -> bool:
        """Whether a file lies in the project, links followed, and is called as Python is."""
        return self.is_own(path) or self._border_of(os.path.dirname(path)).admits(path, PYTHON_FILES)

    def _border_of(self, directory: str) -> Border:
        """Within which links of a directory lead: the project's, or that of the folder that was named to import from.
        The nearest on the way to the directory counts, as it is written: a link of the project is the project's."""
        here = os.path.abspath(directory) if self._named else ""
        while here and not self.project.holds(here):
            if here in self._named:
                return Border((os.path.realpath(here), *self.project.folders))
            above = os.path.dirname(here)
            here = above if above != here else ""
        return self.project


def _admits(border: Border, directory: str, entry: os.DirEntry[str]) -> bool:
    """Whether an entry lies within a border, links followed, or leads down to it."""
    if entry.is_symlink():
        entry.stat()  # the system follows forty links; of more, each would be walked from each that leads to it
        real = real_path(entry.path, strict=True)
        return border.holds_real(real) and (real.lower().endswith(PYTHON_FILES) or os.path.isdir(real))
    real = os.path.join(directory, entry.name)
    return border.holds_real(real) or any(lies_in(folder, real) for folder in border.folders)


def refused(path: str, name: str) -> str:
    """What is said of something that lies, or leads, outside of the project, and what to do where it is trusted.

    Args:
        path: of the file, or of the folder of a package.
        name: what it would be imported as.
    """
    folder, last = os.path.split(path)
    shown = f"{os.path.basename(folder)}/{last}" if last == "__init__.py" else last
    is_link = os.path.islink(path)
    what = "is a link that leads out of the project and is not followed" if is_link else "lies outside of the project"
    what += "" if is_link else " and is not read"
    place = path
    with contextlib.suppress(OSError):  # as the link says it: what lies behind is not looked at
        place = os.path.normpath(os.path.join(folder, link_text(path))) if is_link else path
    home = _imported_from(place, name)
    if home is None:
        instead = f"copy it to this place or install it: no PYTHONPATH leads to it as {name}"
        return f"{shown} {what}; if it is trusted, {instead}"
    return f"{shown} {what}; if it is trusted: PYTHONPATH={shlex.quote(os.path.relpath(home))}"


def _imported_from(place: str, name: str) -> str | None:
    """The folder from which what lies at a place is imported under a name; None of another name, and of a part of a
    package, which is looked for in that package alone."""
    folder, last = os.path.split(place.removesuffix(f"{os.sep}__init__.py"))
    return folder if last in (name, f"{name}.py") else None


def territory_of(
    folder: str, search_path: Sequence[str], fallback: Sequence[str] = (), around: Sequence[str] = ()
) -> Territory:
    """That of the project of a file in `folder`.

    Args:
        search_path: where imports are looked up. What of it Python itself has on its path, and is not the project's, is
            the user's own; other entries were named for the project, but for the working directory and folders around
            it or the project.
        fallback: the user's own as well.
        around: folders that the user named as a whole.
    """
    project = border_around(folder, around)
    analysing(folder)
    own: list[str] = []
    named: list[str] = []
    installed = [_LIBRARY, *map(os.path.abspath, fallback)]
    for each in search_path:
        place = os.path.abspath(each)
        if place not in _of_python():
            if not _lies_around_here(place) and not _lies_around(place, project.folders):
                named.append(place)
        elif is_installed(place):
            installed.append(place)
        elif not any(_meet(place, one) for one in project.folders):
            own.append(place)
        elif place in _of_the_user():
            named.append(place)
    return Territory(project, own, installed, named)


def _lies_around_here(place: str) -> bool:
    """Whether a directory is where the command was started, or around it: nobody has named it."""
    return lies_in(os.getcwd(), place) or place == os.path.abspath("src")


def _lies_around(place: str, folders: Sequence[str]) -> bool:
    real = os.path.realpath(place)
    return any(lies_in(folder, real) for folder in folders)


def _meet(place: str, folder: str) -> bool:
    """Whether a directory lies in a folder of the project, or around it."""
    real = os.path.realpath(place)
    return lies_in(real, folder) or lies_in(folder, real)


def is_installed(place: str) -> bool:
    """Whether an entry of Python's path is for packages: its environment may lie within the project."""
    return os.path.basename(place) in ("site-packages", "dist-packages")


def _of_python() -> frozenset[str]:
    return _entries(tuple(sys.path))


def _of_the_user() -> frozenset[str]:
    """What the user has named: a clone within a repository may import from what is around it where that is there."""
    return _entries(tuple(os.environ.get("PYTHONPATH", "").split(os.pathsep)))


@lru_cache(maxsize=8)
def _entries(path: tuple[str, ...]) -> frozenset[str]:
    return frozenset(os.path.abspath(entry) for entry in path if entry)
