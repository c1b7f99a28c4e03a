"""cls[key]: a member of an Enum, what the class or its metaclass says, else the class itself of other types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import ClassObject
from modgraph.prediction.domain.values import ClassMethod, ClassValue, Constant, FunctionValue, GenericAlias, Value
from modgraph.prediction.python import annotation_parts, classes, enumerations

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def get(machine: Machine, value: Value, key: Value) -> Value:
    """cls[key].

    Raises:
        Raised: KeyError, TypeError.
    """
    if isinstance(value, ClassValue):
        members = enumerations.named(machine, value)
        if members is not None and isinstance(key, Constant):
            if key.value in members:
                return machine.own_attribute(value, key.value) or members[key.value]
            raise machine.raises("KeyError", repr(key.value), (key,))
        made = _by_class(machine, value, key)
        if made is not None:
            return made
        if _is_not_generic(machine, value):
            raise machine.raises("TypeError", f"type '{classes.short_name(value)}' is not subscriptable")
    return GenericAlias(value.origin) if isinstance(value, GenericAlias) else annotation_parts.subscripted(value, key)


def _is_not_generic(machine: Machine, cls: ClassValue) -> bool:
    """Nothing that it is derived from can be subscripted."""
    for base in machine.mro(cls):
        item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        node = item.definition.node if item is not None and item.definition is not None else None
        if base != classes.OBJECT and (item is None or getattr(node, "type_parameters", None) is not None):
            return False
    return True


def _by_class(machine: Machine, cls: ClassValue, key: Value) -> Value | None:
    """What `__getitem__` of a metaclass, or `__class_getitem__`, gives where written in source; else None."""
    meta = machine.metaclass_of(cls)
    getter = machine.class_attribute(meta, "__getitem__") if isinstance(meta, ClassValue) else None
    if not isinstance(getter, FunctionValue):
        own = machine.class_attribute(cls, "__class_getitem__")
        getter = own.function if isinstance(own, ClassMethod) else None
    return machine.call(getter, (cls, key)) if isinstance(getter, FunctionValue) else None
