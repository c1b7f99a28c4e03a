"""What is said of a module that is missing though its package is there: it is no package that could be installed.

Projects have files that no checkout holds: `version.py`, which their setup writes, or an extension that it builds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.machinery import PathFinder
from pathlib import Path

from modgraph.doors import reading

_SETUP = ("setup.py", "setup.cfg", "pyproject.toml", "CMakeLists.txt", "Makefile")
_EXTENSION = re.compile(r"extension|module|library", re.IGNORECASE)
_MAX_FOLDERS = 20
"""Folders above a package in which it is looked for what makes the module."""


def told_of(missing: str, root: Path | None) -> tuple[str, str] | None:
    """What is amiss, as the end of "importing FILE needs pkg.version, ", and what to do; None where nothing is known of
    the package either, so that it may be one to install.

    Args:
        missing: import path of the module that is not there.
        root: the directory from which the project is imported.
    """
    parent, _, name = missing.rpartition(".")
    found = _folders_of(parent) if parent else []
    folders = found or ([str(root)] if not parent and root is not None else [])
    for folder in folders:
        place = _made_by(missing, os.path.join(folder, f"{name}.py"))
        if place is not None:
            return (
                f"a module of the project itself that is not in this checkout: {place} names it, so it is made when"
                " the project is built or installed",
                "build or install the project first, pip install -e . say, or use --static, which imports nothing",
            )
    if not found:
        return None
    return (
        f"and the package {parent}, which is here ({found[0]}), has no such module",
        f"install the version of {parent} that has it, or use --static, which imports nothing",
    )


def _folders_of(package: str) -> list[str]:
    """Where a package lies; it is not imported, as that may be what has just failed."""
    path: list[str] | None = None
    parts = package.split(".")
    for end in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:end]), path)
        if spec is None or spec.submodule_search_locations is None:
            return []
        path = list(spec.submodule_search_locations)
    return path or []


def _made_by(missing: str, file: str) -> str | None:
    """File and line, relative to the project, where a module that is not there is ignored, or where it is made."""
    folder = os.path.dirname(file)
    beside_package = os.path.normpath(os.path.join(folder, *[os.pardir] * missing.count(".")))
    top = reading.repository_of(folder) or beside_package
    for _ in range(_MAX_FOLDERS):
        beside = os.path.relpath(file, folder).replace(os.sep, "/")
        for number, line in _lines(os.path.join(folder, ".gitignore")):
            if _ignores(line, beside):
                return f"{_shown(folder, top, '.gitignore')}:{number}"
        for name in _SETUP:
            for number, line in _lines(os.path.join(folder, name)):
                # A name without a dot, in quotation marks, is that of a package to install as well.
                named = "." in missing or _EXTENSION.search(line) is not None
                if beside in line or (named and (f'"{missing}"' in line or f"'{missing}'" in line)):
                    return f"{_shown(folder, top, name)}:{number}"
        if folder in (top, os.path.dirname(folder)):
            return None
        folder = os.path.dirname(folder)
    return None


def _shown(folder: str, top: str, name: str) -> str:
    return os.path.relpath(os.path.join(folder, name), top).replace(os.sep, "/")


def _lines(path: str) -> Iterator[tuple[int, str]]:
    try:
        text = reading.read(path, reading.CONFIG_BYTES).decode("utf-8", "replace")
    except OSError:
        return
    yield from enumerate((line.strip() for line in text.splitlines()), 1)


def _ignores(line: str, path: str) -> bool:
    """A line of a `.gitignore` names the file itself: not a folder above it, and not every file of Python."""
    pattern = line.removesuffix("/")
    if not pattern or pattern.startswith(("#", "!")) or pattern.strip("*/.") in ("", "py", "pyc"):
        return False
    if "/" in pattern:
        return fnmatchcase(path, pattern.removeprefix("/").removeprefix("**/"))
    return fnmatchcase(path.rpartition("/")[2], pattern)
