"""importlib.metadata: the version of a package is in the name of a folder beside it, `torch-2.13.0.dist-info`; its
files are listed there."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from modgraph.doors.reading import read
from modgraph.prediction.domain.assumed import NOTHING
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, ListObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import NONE, Constant, Value
from modgraph.prediction.python.plain import number_unknown

_FOLDER = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*)\.dist-info\Z")
_UNITS_OF_A_LISTING = 100
_UNITS_OF_A_PACKAGE = 20
_RECORD_BYTES = 4_000_000
"""Of a list of files; a longer one is not read, and nothing is said then."""
known_class("importlib.metadata.PackageNotFoundError", "builtins.ModuleNotFoundError")


@models("importlib.metadata.version")
def version(arguments: Arguments, machine: Machine) -> Value:
    """Of the first on the search path; known in a run for which the surroundings are assumed, not for a tree."""
    name = arguments.get(0, "distribution_name", NONE)
    finder: Any = getattr(machine, "finder", None)
    is_here = finder is not None and machine.assumed is not NOTHING
    if isinstance(name, Constant) and isinstance(name.value, str) and is_here:
        for root in finder.roots:
            machine.spend(_UNITS_OF_A_LISTING)
            found = _versions(root).get(_normal(name.value))
            if found is not None:
                return Constant(found)
    machine.may_refuse("importlib.metadata.PackageNotFoundError")
    return number_unknown(machine, "which version of a package is installed is not known", name)


@models("importlib.metadata.packages_distributions")
def packages_distributions(arguments: Arguments, machine: Machine) -> Value:
    """By the name that is imported, those of what was installed; known where the surroundings are assumed."""
    finder: Any = getattr(machine, "finder", None)
    if finder is None or machine.assumed is NOTHING:
        return machine.unknown("which packages are installed is not known")
    found: dict[str, list[str]] = {}
    for root in dict.fromkeys(finder.roots):
        machine.spend(_UNITS_OF_A_LISTING)
        names = _imported_names(root, sys.version_info[:2])
        if names is None:
            return machine.unknown("which packages are installed is not known")
        machine.spend(_UNITS_OF_A_PACKAGE * len(names))
        for name, distribution in names:
            found.setdefault(name, []).append(distribution)
    why = machine.unknown("in which order packages are found is not known")
    entries: dict[Value, Value] = {
        Constant(name): machine.allocate(ListObject([Constant(each) for each in given])) if len(given) == 1 else why
        for name, given in found.items()
    }
    return machine.allocate(DictObject(entries))


@lru_cache(maxsize=64)
def _imported_names(root: str, python: tuple[int, int]) -> tuple[tuple[str, str], ...] | None:
    """What can be imported, and what was installed with it, of all in a folder; None where it cannot be read."""
    try:
        folders = [entry for entry in sorted(os.listdir(root)) if entry.endswith(".dist-info")]
        return tuple(pair for folder in folders for pair in _names_of(Path(root) / folder, python))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError):  # one that cannot be decoded, too
        return None


def _names_of(folder: Path, python: tuple[int, int]) -> Iterator[tuple[str, str]]:
    """Follows `importlib.metadata.packages_distributions` of that Python: what `top_level.txt` says, else the files.

    Raises:
        OSError, ValueError: a list cannot be read.
    """
    metadata = read(folder / "METADATA", _RECORD_BYTES).decode()
    named = re.search(r"^Name:\s*(\S+)", metadata, re.MULTILINE)
    if named is None:
        raise ValueError(folder.name)
    declared = folder / "top_level.txt"
    names = set(read(declared, _RECORD_BYTES).decode().split()) if declared.exists() else set()
    if not names and python >= (3, 11) and (folder / "RECORD").exists():
        names = _inferred(read(folder / "RECORD", _RECORD_BYTES).decode().splitlines(), folder.parent, python)
    yield from ((name, named[1]) for name in sorted(names))


def _inferred(record: list[str], root: Path, python: tuple[int, int]) -> set[str]:
    """From Python 3.12 on, of files that are there."""
    found: set[str] = set()
    for row in record:  # path, hash, size; a path with a comma in it stands in quotes
        path = PurePosixPath(row.rpartition(",")[0].rpartition(",")[0].strip('"'))
        if python < (3, 12) and path.suffix != ".py":
            continue
        name = path.parts[0] if len(path.parts) > 1 else inspect.getmodulename(path.name)
        if name is None or "." in name or name in found:
            continue
        if python < (3, 12) or (root / path).exists():
            found.add(name)
    return found


@lru_cache(maxsize=64)
def _versions(root: str) -> dict[str, str]:
    """By name, as packages are compared."""
    try:
        entries = sorted(os.listdir(root))
    except OSError:
        return {}
    matches = filter(None, map(_FOLDER.match, entries))
    return {_normal(match["name"]): match["version"] for match in matches}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
