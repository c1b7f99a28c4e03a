"""Imports that the project leads elsewhere: by `sys.path` and `__path__`, or by what it puts into `sys.modules`.

What is found then is not followed: such a module may be another, and executing it may not happen, or happen again.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain.values import Unknown
from modgraph.source.modules import SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_ADDS = re.compile(r"\bpath\.(?:insert|append|extend)\(|\bpath\s*(?:\[[^]\n]*\]\s*|\+)?=[^=]|__path__|\baddsitedir\(")
_SHADOWS = re.compile(
    r"\bpath\.insert\(|\bsys\.path\s*(?:\[[^]\n]*\]\s*)?=[^=]|__path__(?:\.insert\(|\s*(?:\[[^]\n]*\]\s*)?=[^=])"
)
_TAKES_PLACE = re.compile(r"\bsys\.modules\b")
_DEPTH, _MOST_FOLDERS = 2, 100
"""How deep below the folder of a module another of its name is looked for, and in how many folders."""


def note(machine: Machine, source: SourceModule) -> None:
    """Of a module that is executed."""
    if source not in machine.modules.movers and (source.facts.has(_ADDS) or source.facts.has(_TAKES_PLACE)):
        machine.modules.movers.append(source)


def is_other(machine: Machine, module: str) -> Unknown | None:
    """Why importing a module may give another than the file of its name."""
    for mover in machine.modules.movers:
        if mover.facts.has(_TAKES_PLACE) and mover.facts.has(_place_of(module)):
            return machine.unknown(f"{mover.name} changes {module} in sys.modules, which is not followed")
        if mover.name != module and mover.facts.has(_SHADOWS) and _lies_elsewhere(machine, mover, module):
            return machine.unknown(f"{mover.name} changes where imports lead, and there are several {module}")
    return None


def may_be_found(machine: Machine, module: str) -> Unknown | None:
    """Why a module that is on no path known may be there."""
    for mover in machine.modules.movers:
        if (mover.facts.has(_TAKES_PLACE) and mover.facts.has(_place_of(module))) or (
            mover.facts.has(_ADDS) and _lies_elsewhere(machine, mover, module)
        ):
            return machine.unknown(f"{mover.name} changes where imports lead, and {module} may be found there")
    return None


@cache
def _place_of(module: str) -> re.Pattern[str]:
    """The module's entry in `sys.modules` is replaced or taken away."""
    name = rf"['\"]{re.escape(module)}['\"]"
    return re.compile(
        rf"\bmodules\[\s*{name}\s*\]\s*=[^=]|\bdel\s+(?:sys\.)?modules\[\s*{name}|"
        rf"\bmodules\.(?:pop|setdefault|__setitem__|__delitem__)\(\s*{name}|\bmodules\.update\([^\n]*{re.escape(module)}"
    )


def _lies_elsewhere(machine: Machine, mover: SourceModule, module: str) -> bool:
    """Another file of its name lies in a folder that the text of the module which changes the path names."""
    found = machine.finder.source(module)
    last = last_name(module)
    start = mover.path.parent if found is None else found.path.parent.parent if found.is_package else found.path.parent
    pending = [(str(start), 0)]
    for looked, (folder, depth) in enumerate(pending):
        if looked > _MOST_FOLDERS:
            return True
        for name in sorted(machine.finder.entries(folder).folders):
            below = os.path.join(folder, name)
            listing = machine.finder.entries(below)
            is_there = f"{last}.py" in listing.files or last in listing.folders
            if is_there and re.search(rf"['\"/]{re.escape(name)}\b", mover.text):
                return True
            if depth + 1 < _DEPTH:
                pending.append((below, depth + 1))
    return False
