"""Directories of a repository from which its own modules are imported: `src`, and what its projects' files say.

So a module of the repository is read from there also where a copy of it is installed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from modgraph.doors.borders import PROJECT_FILES, TOML_FILES, border_below, project_folders
from modgraph.doors.data import read_toml
from modgraph.doors.reading import CONFIG_BYTES, lies_in, read
from modgraph.source.territory import is_installed

_SAYING = frozenset(["where", "from", "package-dir", "package_dir", "python-source", "pythonpath", "sources"])
"""Keys below [tool] whose values, for all that build or test projects, are directories to import from."""
_PACKAGES = "packages"
"""The key whose values are directories of packages."""


class Roots(NamedTuple):
    """Directories from which the modules of a file's own project are imported."""

    folders: tuple[str, ...]
    depends: tuple[str, ...]
    """What says so by what it holds, or by being there or not."""


def roots_around(folder: str) -> Roots:
    """Those for the files of a folder, wherever the command is started: of the projects around it, up to the border of
    what its imports may lead to."""
    here = os.path.realpath(folder)
    found: list[str] = []
    asked: list[str] = []
    for top in project_folders(here):
        if lies_in(here, top):
            below = os.path.relpath(here, top)
            around = _around("" if below == os.curdir else below)
            saying = {each: [os.path.join(top, each, name) for name in PROJECT_FILES] for each in around}
            projects = [each for each, files in saying.items() if any(map(os.path.isfile, files))]
            found += source_roots(top, around[0], projects, ())
            asked += [file for files in saying.values() for file in files]
            asked += [os.path.join(top, each, "src") for each in around]
    return Roots(tuple(dict.fromkeys(found)), tuple(asked))


def with_source_roots(search: Sequence[str], folder: str) -> tuple[str, ...]:
    """A search path on which modules of the project around a folder are found before installed packages."""
    roots = [each for each in roots_around(folder).folders if each not in search]
    place = next((at for at, each in enumerate(search) if is_installed(each)), len(search))
    return (*search[:place], *roots, *search[place:])


def source_roots(top: str | os.PathLike[str], below: str, projects: Iterable[str], foreign: Sequence[str]) -> list[str]:
    """The directories, nearest first.

    Args:
        top: of the repository's files.
        below: the folder, relative to `top`, whose project and those around it count in any case.
        projects: folders of projects, relative to `top`. One that is not around `below` counts where it is installed.
        foreign: directories of the search path that are not the repository's: where it would be installed.
    """
    top, around = os.fspath(top), _around(below)
    found = [root for folder in around if not folder or folder in projects for root in _roots(top, folder, at=True)]
    others = sorted(set(projects) - set(around))
    if others:
        installed = _installed(foreign)
        named = [folder for folder in others if _name(_toml(os.path.join(top, folder), top)) in installed]
        found += [root for folder in named for root in _roots(top, folder)]
    return list(dict.fromkeys(found))


def _around(below: str) -> list[str]:
    """A folder and all above it up to the top, "", to which they are relative."""
    around = [below]
    while around[-1]:
        around.append(os.path.dirname(around[-1]))
    return around


def _roots(top: str, folder: str, *, at: bool = False) -> list[str]:
    """Of one project; its own folder where nothing else is there, or at its own files: scripts are started in it."""
    found: list[str] = []
    own = os.path.normpath(os.path.join(top, folder))
    for said in ("src", *_said(_toml(own, top).get("tool"))):
        place = os.path.normpath(os.path.join(folder, said))
        if os.path.isabs(place) or place.split(os.sep)[0] == os.pardir:
            continue
        root = os.path.normpath(os.path.join(top, place))
        while root != top and os.path.isfile(os.path.join(root, "__init__.py")):  # a package itself
            root = os.path.dirname(root)
        if os.path.isdir(root) and border_below(top).holds(root):  # a link may lead elsewhere
            found.append(root)
    return [*found, own] if at or not found else found


def _toml(folder: str, top: str) -> dict[str, Any]:
    """Its pyproject.toml; empty where there is none that can be read, or a link that leads out of the repository."""
    file = os.path.join(folder, PROJECT_FILES[0])
    if not border_below(top).admits(file, TOML_FILES):
        return {}
    try:
        return read_toml(read(file, CONFIG_BYTES).decode("utf-8"))
    except (OSError, ValueError):
        return {}


def _said(table: object) -> Iterator[str]:
    pending: list[tuple[object, str]] = [(table, "")]  # no function inside of itself: how deep it is, others say
    while pending:
        value, key = pending.pop()
        if isinstance(value, dict):
            inner = [
                (each, name if name in _SAYING or name == _PACKAGES or key not in _SAYING else key)
                for name, each in value.items()
            ]
            pending.extend(reversed(inner))
        elif isinstance(value, list):
            pending.extend((each, key) for each in reversed(value))
        elif isinstance(value, str) and key in _SAYING:
            yield value
        elif isinstance(value, str) and key == _PACKAGES and "/" in value:
            yield os.path.dirname(value.rstrip("/"))


def _name(project: dict[str, Any]) -> str | None:
    table = project.get("project")
    name = table.get("name") if isinstance(table, dict) else None
    return _normal(name) if isinstance(name, str) else None


def _installed(path: Sequence[str]) -> set[str]:
    from importlib.metadata import distributions

    return {_normal(each.metadata["Name"] or "") for each in distributions(path=list(path))}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
