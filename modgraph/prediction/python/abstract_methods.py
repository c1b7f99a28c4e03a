"""Classes that have no instances yet: methods under `abc.abstractmethod` that nothing has written."""

from __future__ import annotations

import collections.abc
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import ClassObject
from modgraph.prediction.domain.values import (
    MODULE,
    ClassMethod,
    ClassValue,
    FunctionValue,
    KnownClass,
    PropertyValue,
    StaticMethod,
    Value,
)
from modgraph.prediction.python import classes
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_MODULE = KnownClass(MODULE)
_PROTOCOL = KnownClass("typing.Protocol")
_META = KnownClass("abc.ABCMeta")
_MARK = "abstract"
_HOME = "collections.abc."


def require_none(machine: Machine, cls: ClassValue) -> None:
    """Of a class that is to be instantiated.

    Raises:
        Raised: TypeError, where a method of it is abstract. The class asked for as a model is built all the same.
    """
    if cls == machine.taken or not _keeps_note(machine, cls):
        return
    item = machine.state.read(cls.address)
    if _PROTOCOL in getattr(item, "bases", ()) and machine.class_attribute(cls, "__init__") is None:
        raise machine.raises("TypeError", "Protocols cannot be instantiated")
    order = machine.mro(cls)
    if not all(map(_is_made_by_object, order)):
        return  # what makes others does not ask
    for name in dict.fromkeys(name for base in order for name in _marked(machine, base)):
        if _is_abstract(machine, order, name):
            short = classes.short_name(cls)
            raise machine.raises("TypeError", f"Can't instantiate abstract class {short} with abstract method {name}")


def _is_made_by_object(base: Value) -> bool:
    if isinstance(base, KnownClass):
        return base in (classes.OBJECT, _MODULE) or base.name in _BARE or base.name.startswith(_HOME)
    return isinstance(base, ClassValue)


def _marked(machine: Machine, base: Value) -> Iterator[str]:
    """The names that a class, it alone, has abstract methods under."""
    if isinstance(base, KnownClass):
        yield from getattr(_real(base), "__abstractmethods__", ())
    item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
    definition = item.definition if item is not None else None
    if definition is None or not _keeps_note(machine, base):
        return
    if definition.entry is not None:
        for statement in definition.entry.body:
            inner = statement.definition
            if inner is not None and any(_MARK in text for text in inner.decorators):
                yield inner.name
    for node in definition.node.body if definition.entry is None else ():
        if isinstance(node, nodes.FunctionDef) and node.decorators:
            yield node.name


def _keeps_note(machine: Machine, cls: Value) -> bool:
    """Its metaclass notes which methods are abstract."""
    meta = machine.metaclass_of(cls)
    return meta is not None and _META in machine.mro(meta)


def _is_abstract(machine: Machine, order: tuple[Value, ...], name: str) -> bool:
    """The first in this MRO that has the name has an abstract method there."""
    for base in order:
        if isinstance(base, ClassValue):
            found = classes.own_attribute(machine, base, name)
            if found is not None:
                return _is_marked(found)
        elif isinstance(base, KnownClass):
            real = _real(base)
            if real is None and base != classes.OBJECT and base.name not in _BARE:
                return False
            if real is not None and name in vars(real):
                return name in getattr(real, "__abstractmethods__", ())
    return False


_BARE = ("abc.ABC", "typing.Generic", "typing.Protocol")


def _is_marked(found: Value) -> bool:
    if isinstance(found, (ClassMethod, StaticMethod)):
        return _is_marked(found.function)
    if isinstance(found, PropertyValue):
        return _is_marked(found.getter)
    return isinstance(found, FunctionValue) and found.definition.is_abstract


def _real(cls: KnownClass) -> type | None:
    """The class itself, of `collections.abc`."""
    found = getattr(collections.abc, cls.name.removeprefix(_HOME), None) if cls.name.startswith(_HOME) else None
    return found if isinstance(found, type) else None
