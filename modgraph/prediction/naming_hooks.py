"""Names of a class body whose values may be told their names: `__set_name__` runs when the class is made.

Bodies of classes are read name by name, when one is asked for; these names are asked for at once. Which they are is
told by the index alone, as most classes have none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from modgraph.prediction import classes, names
from modgraph.prediction.values import ClassValue
from modgraph.source.index import Definition
from modgraph.source.modules import SourceError, SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

_HOOK = "__set_name__"
_CALLED = re.compile(r"(?<![\w.])([^\W\d]\w*(?:\.\w+)*)\s*\(")
_DEPTH = 5
"""Bases and imports that are followed."""


def tell(machine: Interpreter, cls: ClassValue, definition: Definition) -> None:
    """Gives the class those of its names whose values may have such a method."""
    source = machine.finder.source(cls.name.removesuffix(f".{definition.qualname}"))
    if source is None or names.is_standard(source):
        return
    for statement in definition.body:
        if statement.names and statement.kind not in ("import", "class", "function") and statement.definition is None:
            text = "\n".join(source.lines[statement.first_line - 1 : statement.last_line])
            if any(_may_hook(machine, source, called, _DEPTH) for called in dict.fromkeys(_CALLED.findall(text))):
                for name in statement.names:
                    classes.own_attribute(machine, cls, name)


def _may_hook(machine: Interpreter, source: SourceModule, name: str, depth: int) -> bool:
    """What a call of that name gives may be an instance of a class with the method."""
    try:
        index = source.index
    except SourceError:
        return False
    first, _, rest = name.partition(".")
    if first in index.names and first not in index.imported:
        if any(each.endswith(f".{_HOOK}") for each in index.definitions):
            return True
        made = index.definitions.get(name) or index.definitions.get(first)
        bases = made.bases if made is not None and depth else ()
        return any(_may_hook(machine, source, base.partition("[")[0], depth - 1) for base in bases)
    imported = index.imported.get(first)
    if imported is None or not depth:
        return False
    module = source.absolute(imported.module, imported.level)
    if imported.attribute is None:
        inner, _, rest = rest.rpartition(".")
        other = machine.finder.source(f"{module}.{inner}" if inner else module)
    else:
        other, rest = machine.finder.source(module), imported.attribute
    return other is not None and not names.is_standard(other) and _may_hook(machine, other, rest, depth - 1)
