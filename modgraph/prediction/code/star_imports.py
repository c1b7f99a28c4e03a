"""`from module import *`: what it brings, and what it may bring where the module's source is not there.

Names are looked up through the text of the modules. Where an executed module has another `__all__` than its text says,
what it brings is bound when the statement is come to (`bring`), and is not looked up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.domain import points_to, registry
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.objects import ListObject
from modgraph.prediction.domain.values import OPEN, Constant, ModuleReference, Unknown, Value, is_optional, remaining
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
        if (source.name, module) in machine.modules.starred:
            continue
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


def is_as_written(machine: Machine, module: str) -> bool:
    """A star import of the module brings what its text says."""
    whole = machine.modules.whole.get(module)
    if whole is None:
        return True
    index = whole.source.index
    key = (module, "__all__")
    if "__all__" not in index.bound and key not in machine.base.globals and key not in machine.state.globals:
        return True
    names, why = listed(machine, module)
    if why is not None or names != list(index.exported or ()) or not _is_written_out(whole.source):
        return False
    return all(name in whole.waiting or _is_bound(machine, module, name) for name in names)


def _is_bound(machine: Machine, module: str, name: str) -> bool:
    key = (module, name)
    held = remaining(machine.state.bound(key))
    return held is not None and not is_optional(held)


def listed(machine: Machine, module: str) -> tuple[list[str], Unknown | None]:
    """The executed value of `__all__`, and why there may be other names in it."""
    value = machine.global_name(module, "__all__")
    found = machine.iterate(value) if value is not None else machine.unknown(f"{module} may have no __all__")
    if isinstance(found, Unknown):
        held = machine.state.find(value, ListObject) if value is not None else None
        return [], found if held is None or held.open is None else held.open
    texts = [each.value for each in found if isinstance(each, Constant) and isinstance(each.value, str)]
    return texts, None if len(texts) == len(found) else machine.unknown(f"what __all__ of {module} holds is not known")


def bring(machine: Machine, frame: Frame, module: str) -> None:
    """Binds what an executed module lists in its `__all__`."""
    machine.modules.starred.add((frame.module, module))
    reference = ModuleReference(module)
    names, why = listed(machine, module)
    for name in names:
        value = machine.find_attribute(reference, name)
        if value is not None:
            machine.bind(frame, name, value)
    if why is None:
        return
    machine.state.globals[(frame.module, OPEN)] = why
    absent = replace(why, optional=True, text=None)
    for name in machine.modules.whole[module].source.index.names:
        value = machine.find_attribute(reference, name) if name not in names else None
        if value is not None:
            held = machine.global_name(frame.module, name)
            either = machine.choice((held, value), why.reason) if held is not None else None
            machine.bind(frame, name, either or points_to.either_of(absent, (value,)))


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
