"""Attributes beside the `__dict__` of an object: those of `__slots__`, and what Python keeps with an exception."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import ClassObject, DictObject, HeapObject, InstanceObject, ListObject
from modgraph.prediction.domain.values import ClassValue, Constant, KnownClass, Unknown, Value
from modgraph.prediction.python import classes
from modgraph.source.mangling import mangled

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_SLOTS = "__slots__"
_DICT = "__dict__"
_OF_EXCEPTIONS = frozenset({"args", "__cause__", "__context__", "__suppress_context__", "__traceback__"})
_OF_CONTAINERS: dict[type, frozenset[str]] = {
    DictObject: frozenset({"default_factory"}),
    ListObject: frozenset({"maxlen"}),
}
_EXCEPTION = KnownClass("builtins.BaseException")


def named(machine: Machine, cls: ClassValue) -> list[str | None] | Unknown | None:
    """What `__slots__` of that class alone makes room for, with None for a name that is not known; None without it."""
    slots = classes.own_attribute(machine, cls, _SLOTS)
    if slots is None or isinstance(slots, Unknown):
        return slots
    found = [slots] if isinstance(slots, Constant) else machine.iterate(slots)
    return found if isinstance(found, Unknown) else [_name(each, cls) for each in found]


def _name(named: Value, cls: ClassValue) -> str | None:
    text = named.value if isinstance(named, Constant) else None
    return mangled(text, classes.short_name(cls)) if isinstance(text, str) else None


def _has_any(machine: Machine, cls: Value) -> bool:
    return isinstance(cls, ClassValue) and classes.class_attribute(machine, cls, _SLOTS) is not None


def of_lineage(machine: Machine, cls: Value) -> frozenset[str]:
    """The slots that objects of the class have, as far as their names are known."""
    if not _has_any(machine, cls):
        return frozenset()
    found: set[str] = set()
    for base in machine.mro(cls):
        names = named(machine, base) if isinstance(base, ClassValue) else None
        found.update(each for each in names or () if each is not None) if isinstance(names, list) else None
    return frozenset(found)


def has_dict(machine: Machine, cls: Value) -> bool:
    """Objects of the class may have a `__dict__`."""
    if not _has_any(machine, cls):
        return True
    for base in machine.mro(cls):
        names = named(machine, base) if isinstance(base, ClassValue) else None
        if not is_bare(base) and (not isinstance(names, list) or None in names or _DICT in names):
            return True
    return False


def is_bare(cls: Value) -> bool:
    """A known class whose instances have no `__dict__`."""
    if not isinstance(cls, KnownClass):
        return False
    return cls.name in _BARE or cls.name.startswith("collections.abc.")


_BARE = frozenset(
    {
        *(f"builtins.{name}" for name in ("object", "tuple", "int", "str", "float")),
        *("typing.NamedTuple", "typing.Generic", "typing.Protocol", "abc.ABC"),
    }
)


def is_own(machine: Machine, cls: ClassValue, name: str) -> bool:
    """The class itself has a slot of that name."""
    names = named(machine, cls) if _has_any(machine, cls) else None
    return isinstance(names, list) and name in names


def _are_added(machine: Machine, cls: ClassValue) -> bool:
    """A decorator has made the class anew with these slots, in the place of what its body binds."""
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    return (
        item.definition is not None
        and item.definition.entry is not None
        and (_SLOTS in item.namespace and _SLOTS not in item.definition.statements)
    )


def is_first(machine: Machine, cls: Value, name: str) -> bool:
    """What the class has under that name is the descriptor of a slot."""
    if not _has_any(machine, cls):
        return False
    for base in machine.mro(cls):
        if isinstance(base, ClassValue):
            is_slot = is_own(machine, base, name)
            if is_slot and _are_added(machine, base):
                return True
            if classes.own_attribute(machine, base, name) is not None:
                return False
            if is_slot:
                return True
    return False


def beside(machine: Machine, item: HeapObject) -> frozenset[str]:
    """Names of attributes of an object that its `__dict__` does not show."""
    cls = getattr(item, "cls", None) or classes.OBJECT
    found = frozenset(name for name in of_lineage(machine, cls) if is_first(machine, cls, name))
    if type(item) is not InstanceObject:
        return found | _OF_CONTAINERS.get(type(item), frozenset())
    return found | _OF_EXCEPTIONS if "args" in item.attributes and _EXCEPTION in machine.mro(item.cls) else found


def in_dict(machine: Machine, item: HeapObject, attributes: dict[str, Value]) -> dict[str, Value]:
    """Those of the attributes that stand in the `__dict__` of the object."""
    hidden = beside(machine, item)
    if hidden.isdisjoint(attributes):
        return attributes
    return {name: value for name, value in attributes.items() if name not in hidden}
