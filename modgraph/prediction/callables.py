"""Attributes of functions, methods, partials, properties, members of enums and subscripted classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction import attributes, data_classes
from modgraph.prediction.knowledge import registry
from modgraph.prediction.values import (
    NONE,
    TRUE,
    BoundMethod,
    Constant,
    DictObject,
    EnumMember,
    FunctionValue,
    GenericAlias,
    KnownFunction,
    PartialValue,
    PropertyValue,
    TupleValue,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

_BY_WRAPS = frozenset({"__name__", "__qualname__", "__module__", "__doc__", "__annotations__", "__isabstractmethod__"})
"""What functools.wraps hands on."""


def of_function(machine: Interpreter, value: FunctionValue, name: str) -> Value | None:
    """An attribute of a function with source; None where it has none of that name."""
    definition = value.definition
    key = (f"<{definition.module}.{definition.qualname}>", name)
    stored = machine.state.globals.get(key) or machine.base.globals.get(key)
    if stored is not None:
        return stored
    if name == "__isabstractmethod__" and definition.is_abstract:
        return TRUE
    if value.wrapped is not None and name in _BY_WRAPS:
        return attributes.find(machine, value.wrapped, name)
    if name == "__wrapped__":
        return value.wrapped
    if name == "__code__":
        return value
    text = {"__name__": definition.name, "__qualname__": definition.qualname, "__module__": definition.module}.get(name)
    if text is not None:
        return Constant(text)
    if hasattr(of_function, name):
        return machine.unknown(f"{name} of a function is not modelled")
    return None


def of_known_function(machine: Interpreter, value: KnownFunction, name: str) -> Value | None:
    """An attribute of a function that is known and not read."""
    found = registry.lookup(f"{value.name}.{name}")
    if found is None and name in ("__name__", "__qualname__"):
        return Constant(value.name.rpartition(".")[2])
    return found


def of_method(machine: Interpreter, value: BoundMethod, name: str) -> Value | None:
    """An attribute of a bound method: that of its function."""
    if name == "__func__":
        return value.function
    if name == "__self__":
        return value.receiver
    return attributes.find(machine, value.function, name)


def of_partial(machine: Interpreter, value: PartialValue, name: str) -> Value | None:
    """An attribute of functools.partial."""
    if name == "func":
        return value.function
    if name == "args":
        return TupleValue(value.positional)
    if name == "keywords":
        return machine.allocate(DictObject({Constant(key): item for key, item in value.keywords}))
    return None


def of_member(machine: Interpreter, value: EnumMember, name: str) -> Value | None:
    """An attribute of a member of an Enum; of one that is also an int or text, those of its value."""
    if name in ("value", "_value_"):
        return value.value
    if name in ("name", "_name_"):
        return Constant(value.name)
    found = attributes.of_plain(machine, value, name)
    if found is None:
        found = data_classes.member_attribute(machine, value, name)
    if found is None:
        return attributes.find(machine, value.value, name)
    return found


def of_property(machine: Interpreter, value: PropertyValue, name: str) -> Value | None:
    """An attribute of a property object."""
    if name in ("setter", "getter", "deleter"):
        return BoundMethod(KnownFunction(f"builtins.property.{name}"), value)
    return {"fget": value.getter, "fset": value.setter or NONE}.get(name)


def of_alias(machine: Interpreter, value: GenericAlias, name: str) -> Value | None:
    """An attribute of a subscripted class."""
    if name == "__origin__":
        return value.origin
    return attributes.find(machine, value.origin, name)
