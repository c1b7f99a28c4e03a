"""The one border of a project: what may be read because something in the project leads there, named by nobody else.

A configuration names targets and a baseline, a source names imports, and any path may be a link. What is read is shown
sooner or later: a name, the first line of a file that is no Python, a key of a configuration. So each reader of such a
place asks here, before it asks the disk for more than where the place is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from typing import NamedTuple

from modgraph.doors.reading import lies_in, real_path, repository_of

PYTHON_FILES = (".py", ".pyi", *EXTENSION_SUFFIXES)
"""What the file at the end of a link is called: a link `x.py` to what is no Python is there to have it shown."""
CHECKED_FILES = (".py", ".pyi", ".ipynb")
TOML_FILES = (".toml",)
JSON_FILES = (".json",)

PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
"""Their folder is that of a project."""

_PRIVATE = ".git"
"""Below it stand tokens and the addresses of remotes."""


class Border(NamedTuple):
    """The folders of one project, links resolved."""

    folders: tuple[str, ...]

    def holds(self, path: str | os.PathLike[str]) -> bool:
        """Whether what lies at a path lies in the project, links followed, and not below `.git`."""
        try:
            return self.holds_real(real_path(path))
        except (OSError, ValueError):
            return False

    def holds_real(self, real: str) -> bool:
        """The same, of a path without links."""
        return any(lies_in(real, folder) and not _is_private(real[len(folder) :]) for folder in self.folders)

    def admits(self, path: str | os.PathLike[str], endings: tuple[str, ...]) -> bool:
        """Whether what lies at a path may be read as a file whose name ends so."""
        return self.refusal(path, endings) is None

    def refusal(self, path: str | os.PathLike[str], endings: tuple[str, ...]) -> str | None:
        """Why what lies at a path, whether there is something or not, is not read; None where it may be."""
        if not self.holds(path):
            return "lies outside of the project"
        real = os.path.realpath(path)
        if real.lower().endswith(endings) or os.path.basename(real) == os.path.basename(path):
            return None
        return f"is a link to a file that is not called {' or '.join(endings[:2])}"


def border_around(folder: str | os.PathLike[str], named: Iterable[str] = ()) -> Border:
    """That of the project to which a folder belongs; `named` as of `project_folders`."""
    return Border(tuple(project_folders(os.fspath(folder), named)))


def border_below(folder: str | os.PathLike[str]) -> Border:
    """That of a folder alone, whatever it belongs to."""
    return Border((os.path.realpath(folder),))


def project_folders(folder: str, named: Iterable[str] = ()) -> list[str]:
    """Of the project that a folder belongs to, links resolved: its git repository, and that alone; without one, the
    folder from which its files are imported, the nearest one around it with the file of a project, the working
    directory, and those of `named` in which it lies: what the user has named is meant with all that is in it.

    A repository within another one, a clone that somebody put there, is a project of its own: what is around it belongs
    to somebody else. A folder that holds more than one project (the home directory, "/") is none.
    """
    here, cwd = os.path.realpath(folder), os.path.realpath(os.curdir)
    top = _top(here)
    if top is not None:
        return [top]
    package = here
    while os.path.isfile(os.path.join(package, "__init__.py")) and os.path.dirname(package) != package:
        here, package = package, os.path.dirname(package)
    found = [here if holds_many(package) else package]
    found += _marked(package)
    around = [*map(os.path.realpath, named), cwd]
    found += [each for each in around if lies_in(here, each) and not holds_many(each)]
    return list(dict.fromkeys(found))


def _marked(folder: str) -> list[str]:
    """The nearest folder, from one upwards, with a file that says that a project is there; nobody else may have put it
    there."""
    while not holds_many(folder):
        files = [os.path.join(folder, name) for name in PROJECT_FILES]
        if any(os.path.isfile(each) and not others_may_write(each) for each in files):
            return [folder]
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return []


def holds_many(folder: str) -> bool:
    """Whether a folder is, or is around, one in which projects of several owners lie; of a path without links."""
    places = (os.path.expanduser("~"), *(os.environ.get(name, "/tmp") for name in ("TMPDIR", "TEMP", "TMP")))
    return any(lies_in(place, folder) for place in _without_links(places))


@lru_cache(maxsize=8)
def _without_links(places: tuple[str, ...]) -> frozenset[str]:
    return frozenset(os.path.realpath(os.path.expanduser(place)) for place in places)


def leads_out(folder: str, above: str) -> bool:
    """Whether the step from a folder to the one above it, as they are written, leaves a repository: what is found there
    belongs to somebody else. A folder outside of any is left by none."""
    # What is the top of nothing lies in what holds the folder above: no search, which costs as much as it lies deep.
    is_no_top = not os.path.islink(folder) and not os.path.lexists(os.path.join(folder, ".git"))
    if is_no_top and "modgraph-" not in os.path.basename(folder):
        return False
    top = _top(os.path.realpath(folder))
    return top is not None and not lies_in(os.path.realpath(above), top)


def others_may_write(file: str) -> bool:
    """Whether a file, found and named by nobody, is one that another user of the machine has put there, or could: its
    owner is neither this user nor root, or everybody may write to its folder. The files of a repository are its own."""
    if os.name != "posix" or not os.path.lexists(file):
        return False
    folder = os.path.dirname(file)
    if _top(os.path.realpath(folder)) is not None:
        return False
    try:
        owners = {os.lstat(file).st_uid, os.stat(file).st_uid}
        return not owners <= {0, os.geteuid()} or bool(os.stat(folder).st_mode & stat.S_IWOTH)
    except OSError:  # what may not even be asked for is told where it is read
        return False


def _top(folder: str) -> str | None:
    """Of the repository that a folder lies in, or of the files of a revision."""
    if "modgraph-" in folder:
        from modgraph.doors.temporary import made_here  # rarely needed, and slow to import

        made = made_here(folder)
        if made is not None:
            return made
    top = repository_of(folder)
    return None if top is None or holds_many(top) else top


def _is_private(below: str) -> bool:
    return _PRIVATE in below.lower().split(os.sep)
