"""dir(cls) of a class with source, all bases of which have source too."""

from __future__ import annotations

import dataclasses
from typing import Any

from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, DictObject
from modgraph.prediction.domain.values import ClassValue, Constant, KnownClass, Unknown, remaining
from modgraph.prediction.python import annotated, classes, data_classes

_BINDING = frozenset({"assign", "function", "class", "import"})


def names_of(machine: Machine, cls: ClassValue) -> list[str] | None:
    """In the order of `dir`; None where a base, or what makes the class, may add others."""
    found = set(dir(object))
    for base in machine.mro(cls):
        if base == classes.OBJECT:
            continue
        own = _own(machine, base) if isinstance(base, ClassValue) else None
        if own is None:
            return None
        found |= own
    return sorted(found)


def _own(machine: Machine, cls: ClassValue) -> set[str] | None:
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    bound = _bound(item)
    if bound is None:
        return None
    options: dict[str, Any] | None = None
    if data_classes.MARK in item.namespace:
        options = _options(machine, item)
        if options is None:
            return None
    typed = set(annotated.annotated_names(machine, item))
    bound |= {name for name in item.namespace if not name.startswith("<")}
    found = {name for name in bound if name not in typed or classes.own_attribute(machine, cls, name) is not None}
    if options is not None:
        fields = data_classes.dataclass_fields(machine, cls)
        found -= {each.name for each in fields if each.owner == cls and each.default is None}
    return found | _implicit(bool(typed), options)


def _bound(item: ClassObject) -> set[str] | None:
    """What the body binds, where each name has a statement of its own, and no metaclass or base adds to these."""
    definition = item.definition
    if definition is None or definition.entry is None or definition.node.keywords:
        return None
    if item.metaclass is not None or not all(isinstance(base, (ClassValue, KnownClass)) for base in item.bases):
        return None
    if any("[" in text for text in definition.entry.bases):
        return None
    if any(remaining(each) is None or isinstance(each, Unknown) for each in item.namespace.values()):
        return None
    statements = [each for each in definition.entry.body if each.names]
    names = {name for each in statements for name in each.names}
    return None if "__slots__" in names or any(each.kind not in _BINDING for each in statements) else names


def _options(machine: Machine, item: ClassObject) -> dict[str, Any] | None:
    """The keywords of the decorator of a dataclass; None where one is not known."""
    given = machine.state.find(item.namespace.get(data_classes.OPTIONS), DictObject)
    if given is None or given.open is not None:
        return None
    options = {
        name.value: value.value
        for name, value in given.entries.items()
        if isinstance(name, Constant) and isinstance(value, Constant)
    }
    return None if len(options) < len(given.entries) or options.get("slots") else options


def _implicit(is_annotated: bool, options: dict[str, Any] | None) -> set[str]:
    """What this Python, and `dataclass` with these keywords, bind in a class besides."""
    if not is_annotated:

        class Bare:
            pass

        twin: type = Bare
    else:

        class Annotated:
            x: int = 0

        twin = Annotated
    if options is not None:
        twin = dataclasses.dataclass(**options)(twin)
    return set(dir(twin)) - {"x"}
