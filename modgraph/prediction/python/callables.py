"""Attributes of functions, methods, partials, properties, members of enums and subscripted classes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain import registry
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    NONE,
    TRUE,
    BoundMethod,
    ClassMethod,
    Constant,
    EnumMember,
    FunctionValue,
    GenericAlias,
    KnownFunction,
    PartialValue,
    PropertyValue,
    StaticMethod,
    TupleValue,
    Value,
)
from modgraph.prediction.python import data_classes, stored_attributes
from modgraph.prediction.python.plain import number_unknown

if TYPE_CHECKING:
    from modgraph.prediction.domain.definitions import FunctionDefinition

GETTER = "builtins.function.__get__"
"""What makes a method of a function, and of other attributes of a class what an instance sees."""

PARTIAL_METHOD = "functools.<partial method>"
_BY_WRAPS = frozenset({"__name__", "__qualname__", "__module__", "__doc__", "__annotations__", "__isabstractmethod__"})
"""What functools.wraps hands on."""


def of_function(machine: Machine, value: FunctionValue, name: str) -> Value | None:
    """An attribute of a function with source; None where it has none of that name."""
    definition = value.definition
    stored = stored_attributes.stored(machine, value, name)
    if stored is not None:
        return stored
    if name == "__dict__":
        return stored_attributes.opened(machine, value)
    if name == "__closure__" and value.closure is not None:
        return stored_attributes.cells(machine, value)
    if name == "__isabstractmethod__" and definition.is_abstract:
        return TRUE
    if value.wrapped is not None and name in _BY_WRAPS:
        return machine.find_attribute(value.wrapped, name)
    if name == "__wrapped__":
        return value.wrapped or (replace(value, manager=False, within=None) if value.manager or value.within else None)
    if name == "__code__":
        return value
    if name == "__globals__":
        return machine.module_dict(definition.module)
    text = {"__name__": definition.name, "__qualname__": definition.qualname, "__module__": definition.module}.get(name)
    if text is not None:
        return Constant(text)
    if name in ("__defaults__", "__kwdefaults__"):
        return _defaults(machine, value, name)
    if name.startswith("co_"):
        return _of_code(machine, definition, name)
    if name != "__call__" and hasattr(of_function, name):
        return machine.unknown(f"{name} of a function is not modelled")
    return None


@models(GETTER)
def bound(arguments: Arguments, machine: Machine) -> Value:
    """function.__get__(instance, owner): what looking it up through that instance gives."""
    found, instance = arguments.positional[0], arguments.get(1, "instance", NONE)
    owner = arguments.get(2, "owner", NONE)
    if owner == NONE:
        owner = machine.class_of(instance)
    if instance != NONE or isinstance(found, ClassMethod):
        return machine.bound(found, instance, owner)
    return found.function if isinstance(found, StaticMethod) else found


def _defaults(machine: Machine, value: FunctionValue, name: str) -> Value:
    """Values of parameters by position, or by name of those that are given by keyword alone."""
    by_name = name == "__kwdefaults__"
    kinds = {each.name: each.kind for each in value.definition.parameters}
    held = [(key, default) for key, default in value.defaults if (kinds.get(key) == "keyword") is by_name]
    if not held:
        return NONE
    if by_name:
        return stored_attributes.kept_defaults(machine, value, {Constant(key): default for key, default in held})
    return TupleValue(tuple(default for _, default in held))


def is_as_before(machine: Machine, value: FunctionValue, name: str, new: Value) -> bool:
    """value.name = new changes nothing of what a call of it runs: it is given what it has, as copies are."""
    if name not in ("__code__", "__defaults__", "__kwdefaults__") or stored_attributes.stored(machine, value, name):
        return False
    held = value if name == "__code__" else _defaults(machine, value, name)
    if held == new:
        return True
    mine, given = machine.state.find(held, DictObject), machine.state.find(new, DictObject)
    if mine is None or given is None or given.open is not None or given.unsure:
        return False
    return mine.entries == given.entries


def _of_code(machine: Machine, definition: FunctionDefinition, name: str) -> Value:
    """An attribute of the code of a function, which stands for the function itself."""
    kinds = [parameter.kind for parameter in definition.parameters]
    counts = {
        "co_argcount": kinds.count("positional") + kinds.count("normal"),
        "co_posonlyargcount": kinds.count("positional"),
        "co_kwonlyargcount": kinds.count("keyword"),
    }
    if name in counts:
        return Constant(counts[name])
    if name == "co_name":
        return Constant(definition.name)
    names = definition.local_names if name in ("co_varnames", "co_nlocals") else None
    if names is not None:
        return TupleValue(tuple(map(Constant, names))) if name == "co_varnames" else Constant(len(names))
    return number_unknown(machine, f"{name} of the code of a function is not modelled")


def of_known_function(machine: Machine, value: KnownFunction, name: str) -> Value | None:
    """An attribute of a function that is known and not read."""
    found = registry.lookup(f"{value.name}.{name}")
    if found is None and name in ("__name__", "__qualname__"):
        return Constant(last_name(value.name))
    return found


def of_method(machine: Machine, value: BoundMethod, name: str) -> Value | None:
    """An attribute of a bound method: that of its function."""
    if name == "__func__":
        return value.function
    if name == "__self__":
        return value.receiver
    return machine.find_attribute(value.function, name)


def of_partial(machine: Machine, value: PartialValue, name: str) -> Value | None:
    """An attribute of functools.partial."""
    if value.function == KnownFunction(PARTIAL_METHOD):
        return machine.unknown(f"{name} of a partial method is not modelled")
    if name == "func":
        return value.function
    if name == "args":
        return TupleValue(value.positional)
    if name == "keywords":
        return stored_attributes.keywords_of(machine, value)
    if name in ("__setstate__", "__reduce__", "__reduce_ex__"):
        return stored_attributes.rebuilt(machine, value, name)
    return stored_attributes.stored(machine, value, name)


def of_member(machine: Machine, value: EnumMember, name: str) -> Value | None:
    """An attribute of a member of an Enum; of one that is also an int or text, those of its value."""
    stored = stored_attributes.stored(machine, value, name)
    if stored is not None:
        return stored
    if name in ("value", "_value_"):
        return value.value
    if name in ("name", "_name_"):
        return Constant(value.name) if value.name else NONE  # a flag without a bit has none
    found = machine.plain_attribute(value, name)
    if found is None:
        found = data_classes.member_attribute(machine, value, name)
    if found is None:
        return machine.find_attribute(value.value, name)
    return found


def of_property(machine: Machine, value: PropertyValue, name: str) -> Value | None:
    """An attribute of a property object."""
    if name in ("setter", "getter", "deleter"):
        return BoundMethod(KnownFunction(f"builtins.property.{name}"), value)
    return {"fget": value.getter, "fset": value.setter or NONE}.get(name)


def of_alias(machine: Machine, value: GenericAlias, name: str) -> Value | None:
    """An attribute of a subscripted class."""
    if name == "__origin__":
        return value.origin
    return machine.find_attribute(value.origin, name)
