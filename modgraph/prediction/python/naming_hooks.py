"""Names of a class body whose values may be told their names: `__set_name__` runs when the class is made.

Bodies of classes are read name by name, when one is asked for; these names are asked for at once. Which they are is
told by the index alone, as most classes have none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.values import ClassValue, Constant, FunctionValue, KnownFunction, Value
from modgraph.prediction.paths import several
from modgraph.prediction.python import classes, standard_sources
from modgraph.source.index import Definition
from modgraph.source.modules import SourceError, SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_HOOK = "__set_name__"
_CALLED = re.compile(r"(?<![\w.])([^\W\d]\w*(?:\.\w+)*)\s*\(")
_UNITS_OF_A_NAME = 4
"""Units of work that looking at one name takes, or at one base of its class."""
_DEFINITIONS_OF_A_UNIT = 20


def tell(machine: Machine, cls: ClassValue, definition: Definition) -> None:
    """Gives the class those of its names whose values may have such a method."""
    source = machine.finder.source(cls.name.removesuffix(f".{definition.qualname}"))
    if source is None or standard_sources.is_standard(source):
        return
    for statement in definition.body:
        if statement.names and statement.kind not in ("import", "class", "function") and statement.definition is None:
            text = "\n".join(source.lines[statement.first_line - 1 : statement.last_line])
            if any(_may_hook(machine, source, called) for called in dict.fromkeys(_CALLED.findall(text))):
                for name in statement.names:
                    classes.own_attribute(machine, cls, name)


def tell_name(machine: Machine, cls: ClassValue, name: str, value: Value) -> None:
    """Calls `__set_name__` of a descriptor written as a class."""

    def told() -> None:
        instance = machine.state.find(value, InstanceObject)
        if instance is not None and isinstance(instance.cls, ClassValue):
            hook = classes.class_attribute(machine, instance.cls, _HOOK)
            if isinstance(hook, (FunctionValue, KnownFunction)):
                machine.call(hook, (value, cls, Constant(name)))

    several.does(machine, (value,), told, _HOOK)


def _may_hook(machine: Machine, source: SourceModule, name: str) -> bool:
    """What a call of that name gives may be an instance of a class with the method. Classes that derive from each other
    are a graph in which there are more ways than classes: each name is looked at once in a prediction."""
    known = machine.caches.naming_hooks
    pending, seen = [(source, name)], dict[tuple[str, str], None]()
    while pending:
        module, called = pending.pop()
        key = (module.name, called)
        machine.spend(_UNITS_OF_A_NAME)
        if key in seen or known.get(key) is False:
            continue
        seen[key] = None
        further = None if known.get(key) else _leads_to(machine, module, called)
        if further is None:
            known[key] = known[(source.name, name)] = True
            return True
        pending.extend(further)
    known.update(dict.fromkeys(seen, False))
    return False


def _leads_to(machine: Machine, source: SourceModule, name: str) -> list[tuple[SourceModule, str]] | None:
    """Names of which one has the method, if this one has; None where it may have it itself."""
    try:
        index = source.index
    except SourceError:
        return []
    first, _, rest = name.partition(".")
    if first in index.bound and first not in index.imported:
        if _has_hook(machine, source):
            return None
        made = index.definitions.get(name) or index.definitions.get(first)
        bases = made.bases if made is not None else ()
        machine.spend(len(bases) * _UNITS_OF_A_NAME)
        return [(source, base.partition("[")[0]) for base in bases]
    imported = index.imported.get(first)
    if imported is None:
        return []
    module = source.absolute(imported.module, imported.level)
    if imported.attribute is None:
        inner, _, rest = rest.rpartition(".")
        other = machine.finder.source(f"{module}.{inner}" if inner else module)
    else:
        other, rest = machine.finder.source(module), imported.attribute
    return [(other, rest)] if other is not None and not standard_sources.is_standard(other) else []


def _has_hook(machine: Machine, source: SourceModule) -> bool:
    """A class of the module has the method, whichever it is."""
    key = (source.name, "")
    if key not in machine.caches.naming_hooks:
        definitions = source.index.definitions
        machine.spend(len(definitions) // _DEFINITIONS_OF_A_UNIT)
        machine.caches.naming_hooks[key] = any(each.endswith(f".{_HOOK}") for each in definitions)
    return machine.caches.naming_hooks[key]
