"""Directories of a repository from which its own modules are imported: `src`, and what its projects' files say.

So a module of the repository is read from there also where a copy of it is installed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from modgraph.doors.borders import TOML_FILES, border_below
from modgraph.doors.data import read_toml
from modgraph.doors.reading import CONFIG_BYTES, read

PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
"""Their folder is that of a project."""

_SAYING = frozenset(["where", "from", "package-dir", "package_dir", "python-source", "pythonpath", "sources"])
"""Keys below [tool] whose values, for all that build or test projects, are directories to import from."""
_PACKAGES = "packages"
"""The key whose values are directories of packages."""


def source_roots(top: Path, below: str, projects: Iterable[str], foreign: Sequence[str]) -> list[str]:
    """The directories, nearest first.

    Args:
        top: of the repository's files.
        below: the folder, relative to `top`, whose project and those around it count in any case.
        projects: folders of projects, relative to `top`. One that is not around `below` counts where it is installed.
        foreign: directories of the search path that are not the repository's: where it would be installed.
    """
    around = [below]
    while around[-1]:
        around.append(os.path.dirname(around[-1]))
    folders = [folder for folder in around if not folder or folder in projects]
    others = sorted(set(projects) - set(around))
    if others:
        installed = _installed(foreign)
        folders += [folder for folder in others if _name(_toml(top / folder, top)) in installed]
    return [str(root) for folder in folders for root in _roots(top, folder)]


def _roots(top: Path, folder: str) -> list[Path]:
    """Of one project; its own folder where nothing else is there."""
    found: list[Path] = []
    for said in ("src", *_said(_toml(top / folder, top).get("tool"))):
        place = os.path.normpath(os.path.join(folder, said))
        if os.path.isabs(place) or place.split(os.sep)[0] == os.pardir:
            continue
        root = top / place
        while root != top and os.path.isfile(root / "__init__.py"):  # a package itself
            root = root.parent
        if os.path.isdir(root) and border_below(top).holds(root):  # a link may lead elsewhere
            found.append(root)
    return found or [top / folder]


def _toml(folder: Path, top: Path) -> dict[str, Any]:
    """Its pyproject.toml; empty where there is none that can be read, or a link that leads out of the repository."""
    if not border_below(top).admits(folder / PROJECT_FILES[0], TOML_FILES):
        return {}
    try:
        return read_toml(read(folder / PROJECT_FILES[0], CONFIG_BYTES).decode("utf-8"))
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
