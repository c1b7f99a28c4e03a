"""`from module import *`: what it brings, and what it may bring where the module's source is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain import registry
from modgraph.prediction.domain.values import ModuleReference, Value
from modgraph.prediction.python import standard_names, standard_sources
from modgraph.source.modules import SourceError, SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_UNITS_OF_A_MODULE = 4
"""Units of work that asking a module takes for a name that its star imports may bring."""

_LOOKED_AT_IN_A_UNIT = 4
"""Star imports that are looked at in one unit."""


def value(machine: Machine, source: SourceModule, name: str, type_checking: bool) -> Value | None:
    """What the star imports bring, the last one first."""
    machine.spend(len(source.index.star_imports) // _LOOKED_AT_IN_A_UNIT)
    asked = {source.name}
    for imported in reversed(source.index.star_imports):
        module = source.absolute(imported.module, imported.level)
        if imported.type_checking is not type_checking or module in asked:
            continue
        asked.add(module)
        machine.spend(1)
        if not name.startswith("_") or _exports(machine, module, name):
            found = _star(machine, module, name)
            if found is not None:
                return found
    return None


def brings(machine: Machine, module: str, name: str) -> bool:
    """Whether a star import of that module gives the name a value."""
    return (not name.startswith("_") or _exports(machine, module, name)) and _star(machine, module, name) is not None


def _exports(machine: Machine, module: str, name: str) -> bool:
    source = machine.finder.source(module)
    return source is not None and name in (source.index.exported or ())


def _star(machine: Machine, module: str, name: str) -> Value | None:
    source = machine.finder.source(module)
    if source is None:
        return _without_source(machine, module, name)
    if not source.may_bind(name):
        return None
    try:
        exported = source.index.exported
    except SourceError:
        return None
    if exported is not None and name not in exported and _is_written_out(source):
        return None
    if (module, name) in machine.modules.running or (module, name) in machine.modules.importing:
        return None
    return machine.global_name(module, name)


def _is_written_out(source: SourceModule) -> bool:
    """`__all__` is assigned, and nothing else done with it."""
    return all(statement.kind == "assign" for statement in source.index.statements.get("__all__", ()))


def _without_source(machine: Machine, module: str, name: str) -> Value | None:
    """What is known to be in it; None of a name of which that is not known, see `unread`."""
    if name.startswith("_"):
        return None
    path = f"{module}.{name}"
    known = registry.lookup(path) or (registry.lookup(f"posixpath.{name}") if module == "os.path" else None)
    if known is not None or not standard_names.module_has(module, name):
        return known if not isinstance(known, ModuleReference) else None
    return machine.unknown(f"{path} is not modelled")


def unread(machine: Machine, module: str, name: str, seen: set[str] | None = None) -> str | None:
    """The module all of which that module imports, where it may hold that name and cannot be read; None where there is
    none."""
    seen = set() if seen is None else seen
    source = machine.finder.source(module)
    if source is None or module in seen or standard_sources.is_of_standard_library(source):
        return None
    seen.add(module)
    machine.spend(_UNITS_OF_A_MODULE)
    try:
        stars = source.index.star_imports
    except SourceError:
        return module
    for imported in stars:
        origin = source.absolute(imported.module, imported.level)
        if imported.type_checking or _lacks(machine, origin, name):
            continue
        found = origin if machine.finder.source(origin) is None else unread(machine, origin, name, seen)
        if found is not None:
            return found
    return None


def _lacks(machine: Machine, module: str, name: str) -> bool:
    """A module of Python's own has no such name; of any other it is not asked."""
    source = machine.finder.source(module)
    if source is None or standard_sources.is_of_standard_library(source):
        return machine.lacks(module, name)
    return False
