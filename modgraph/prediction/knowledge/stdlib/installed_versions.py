"""importlib.metadata: the version of a package is in the name of a folder beside it, `torch-2.13.0.dist-info`."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any

from modgraph.prediction.domain.assumed import NOTHING
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import NONE, Constant, Value
from modgraph.prediction.python.plain import number_unknown

_FOLDER = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*)\.dist-info\Z")
_UNITS_OF_A_LISTING = 100
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
