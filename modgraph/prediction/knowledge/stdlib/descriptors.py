"""property, classmethod, staticmethod and functools.cached_property: themselves, and instances of classes derived from
them, which keep on the heap what they were given and say by `__get__` what an instance sees."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    BoundMethod,
    ClassMethod,
    Constant,
    KnownFunction,
    PropertyValue,
    StaticMethod,
    Value,
)
from modgraph.prediction.python import attributes, callables

for _name_of_class in ("builtins.property", "builtins.staticmethod", "builtins.classmethod"):
    known_class(_name_of_class)
known_class("functools.cached_property")

_METHODS_OF_PROPERTY = ("fget", "fset", "fdel")
_FUNCTION = "__func__"


# ---- property --------------------------------------------------------------------------------------------------------


@models("builtins.property")
def property_(arguments: Arguments, machine: Machine) -> Value:
    setter = arguments.get(1, "fset", NONE)
    deleter = arguments.get(2, "fdel", NONE)
    return PropertyValue(
        arguments.get(0, "fget", NONE), None if setter == NONE else setter, None if deleter == NONE else deleter
    )


@models("builtins.property.__init__")
def property_init(arguments: Arguments, machine: Machine) -> Value:
    """For classes derived from property."""
    for place, name in enumerate((*_METHODS_OF_PROPERTY, "__doc__")):
        _keep(machine, arguments.positional[0], name, arguments.get(place + 1, name.strip("_"), NONE))
    return NONE


def _keep(machine: Machine, descriptor: Value, name: str, value: Value) -> None:
    machine.call(KnownFunction("builtins.object.__setattr__"), (descriptor, Constant(name), value))


def _kept(machine: Machine, descriptor: Value, name: str) -> Value:
    found = machine.find_attribute(descriptor, name)
    return NONE if found is None else found


def _run(machine: Machine, arguments: Arguments, name: str, what: str) -> Value:
    """Calls a method of an instance of a class derived from property with what its own method was given."""
    descriptor, *given = arguments.positional
    function = _kept(machine, descriptor, name)
    if function == NONE:
        raise machine.raises("AttributeError", f"property has no {what}")
    return machine.call(function, tuple(given))


@models("builtins.property.__get__")
def property_get(arguments: Arguments, machine: Machine) -> Value:
    descriptor, instance = arguments.positional[0], arguments.get(1, "instance", NONE)
    if isinstance(descriptor, PropertyValue):
        return machine.call(KnownFunction(callables.GETTER), arguments.positional)
    if instance == NONE:
        return descriptor
    return _run(machine, Arguments(arguments.function, (descriptor, instance)), "fget", "getter")


@models("builtins.property.__set__")
def property_set(arguments: Arguments, machine: Machine) -> Value:
    _run(machine, arguments, "fset", "setter")
    return NONE


@models("builtins.property.__delete__")
def property_delete(arguments: Arguments, machine: Machine) -> Value:
    _run(machine, arguments, "fdel", "deleter")
    return NONE


def _with_method(arguments: Arguments, machine: Machine, place: int) -> Value:
    """The same property with another function; of a class derived from it, another instance."""
    value, function = arguments.positional
    if isinstance(value, PropertyValue):
        held = [value.getter, value.setter, value.deleter]
        held[place] = function
        return PropertyValue(held[0] or NONE, held[1], held[2])
    given = [_kept(machine, value, name) for name in _METHODS_OF_PROPERTY]
    given[place] = function
    return machine.call(machine.class_of(value), tuple(given))


@models("builtins.property.getter")
def property_getter(arguments: Arguments, machine: Machine) -> Value:
    return _with_method(arguments, machine, 0)


@models("builtins.property.setter")
def property_setter(arguments: Arguments, machine: Machine) -> Value:
    return _with_method(arguments, machine, 1)


@models("builtins.property.deleter")
def property_deleter(arguments: Arguments, machine: Machine) -> Value:
    return _with_method(arguments, machine, 2)


# ---- classmethod, staticmethod ---------------------------------------------------------------------------------------


@models("builtins.staticmethod")
def staticmethod_(arguments: Arguments, machine: Machine) -> Value:
    return StaticMethod(arguments.positional[0])


@models("builtins.classmethod")
def classmethod_(arguments: Arguments, machine: Machine) -> Value:
    return ClassMethod(arguments.positional[0])


@models("builtins.staticmethod.__init__", "builtins.classmethod.__init__")
def method_init(arguments: Arguments, machine: Machine) -> Value:
    """For classes derived from them."""
    descriptor, function = arguments.positional
    for name in (_FUNCTION, "__wrapped__"):
        _keep(machine, descriptor, name, function)
    return NONE


@models("builtins.staticmethod.__get__")
def staticmethod_get(arguments: Arguments, machine: Machine) -> Value:
    return _kept(machine, arguments.positional[0], _FUNCTION)


@models("builtins.staticmethod.__call__")
def staticmethod_call(arguments: Arguments, machine: Machine) -> Value:
    descriptor, *given = arguments.positional
    return machine.invoke(
        _kept(machine, descriptor, _FUNCTION),
        Arguments(arguments.function, tuple(given), arguments.keywords, arguments.where, arguments.open),
    )


@models("builtins.classmethod.__get__")
def classmethod_get(arguments: Arguments, machine: Machine) -> Value:
    owner = arguments.get(2, "owner", NONE)
    if owner == NONE:
        owner = machine.class_of(arguments.get(1, "instance", NONE))
    return BoundMethod(_kept(machine, arguments.positional[0], _FUNCTION), owner)


# ---- functools.cached_property ---------------------------------------------------------------------------------------


@models("functools.cached_property")
def cached_property(arguments: Arguments, machine: Machine) -> Value:
    return PropertyValue(arguments.positional[0], KnownFunction("functools._keep"))


@models("functools._keep")
def keep(arguments: Arguments, machine: Machine) -> Value:
    """Assignment over a cached property: an attribute of the instance."""
    machine.call(KnownFunction("builtins.object.__setattr__"), arguments.positional)
    return NONE


@models("functools.cached_property.__init__")
def cached_property_init(arguments: Arguments, machine: Machine) -> Value:
    """For classes derived from it."""
    _keep(machine, arguments.positional[0], "func", arguments.get(1, "func", NONE))
    _keep(machine, arguments.positional[0], "attrname", NONE)
    return NONE


@models("functools.cached_property.__set_name__")
def cached_property_name(arguments: Arguments, machine: Machine) -> Value:
    _keep(machine, arguments.positional[0], "attrname", arguments.get(2, "name", NONE))
    return NONE


@models("functools.cached_property.__get__")
def cached_property_get(arguments: Arguments, machine: Machine) -> Value:
    """What the function gives, the first time; it is an attribute of the instance from there on."""
    descriptor, instance = arguments.positional[0], arguments.get(1, "instance", NONE)
    if instance == NONE:
        return descriptor
    name = _kept(machine, descriptor, "attrname")
    if not isinstance(name, Constant) or not isinstance(instance, Address):
        return machine.unknown("where a cached property keeps what it gives is not known", name)
    item = machine.state.read(instance)
    if not isinstance(item, attributes.WITH_ATTRIBUTES):
        return machine.unknown("where a cached property keeps what it gives is not known", name)
    if name.value in item.attributes:
        return item.attributes[name.value]
    given = machine.call(_kept(machine, descriptor, "func"), (instance,))
    changed = machine.state.write(instance)
    assert isinstance(changed, attributes.WITH_ATTRIBUTES)
    changed.attributes[name.value] = given
    return given
