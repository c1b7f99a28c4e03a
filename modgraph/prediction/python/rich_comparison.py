"""`==`, `!=` and the orders of objects whose classes say themselves how they compare: the method of the left one, the
mirrored one of the right one, and what Python does where both give NotImplemented."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain.objects import ClassObject, TensorObject
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    NOT_IMPLEMENTED,
    TRUE,
    Choice,
    ClassMethod,
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    PropertyValue,
    StaticMethod,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.python import classes, exceptions, identity, virtual_classes
from modgraph.prediction.python.plain import number_unknown

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

METHODS = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
MIRRORED = {"==": "__eq__", "!=": "__ne__", "<": "__gt__", "<=": "__ge__", ">": "__lt__", ">=": "__le__"}


def compared(machine: Machine, symbol: str, left: Value, right: Value) -> Value | None:
    """What the comparison gives; None where the class of neither has a method for it that is written in source.

    Raises:
        Raised: TypeError, where there is no order between the two.
    """
    if machine.state.find(left, TensorObject) is not None or machine.state.find(right, TensorObject) is not None:
        return None
    names = METHODS[symbol], MIRRORED[symbol]
    sides = [(left, right, _method(machine, left, names[0])), (right, left, _method(machine, right, names[1]))]
    if not any(isinstance(method, _ASKED) or _is_optional(method) for _, _, method in sides):
        unsure = next((method for _, _, method in sides if isinstance(method, Unknown)), None)
        if unsure is not None:
            perhaps_asked(machine, [left, right], unsure, *METHODS.values())
        return None
    if isinstance(left, Unknown):
        perhaps_asked(machine, [right], left, names[1], "__eq__")
        return number_unknown(machine, f"{symbol} cannot be decided", left, right)
    if is_derived(machine, right, left):
        sides.reverse()
    for receiver, other, method in sides:
        if method is None:
            if _answers_itself(machine, symbol, receiver, other):
                return number_unknown(machine, f"{symbol} cannot be decided", receiver, other)
            continue
        found = _asked(machine, symbol, receiver, other, method)
        if found != NOT_IMPLEMENTED:
            return found
    if symbol in ("==", "!="):
        same = identity.identical(machine, left, right)
        return TRUE if same is (symbol == "==") else FALSE
    names = _type_name(machine, left), _type_name(machine, right)
    message = f"'{symbol}' not supported between instances of '{names[0]}' and '{names[1]}'"
    raise exceptions.exactly(machine, "TypeError", message)


_ASKED = (FunctionValue, KnownFunction, Choice, Constant)


def perhaps_asked(machine: Machine, values: Iterable[Value], why: Unknown, *names: str) -> None:
    """Objects among these are compared with what is not known: it may ask them, and may not."""
    machine.may_be_called(values, why, names)


def has_method(machine: Machine, value: Value) -> bool:
    """Its class says in source whether another is equal to it."""
    return isinstance(_method(machine, value, "__eq__"), (FunctionValue, Choice))


def _is_optional(method: Value | None) -> bool:
    return method is not None and is_optional(method)


def _asked(machine: Machine, symbol: str, receiver: Value, other: Value, method: Value) -> Value:
    """What one side says."""
    if isinstance(method, Unknown):
        perhaps_asked(machine, [receiver, other], method, *METHODS.values())
    found = method if isinstance(method, Unknown) else machine.call(method, (receiver, other))
    if isinstance(found, Choice) and NOT_IMPLEMENTED in found.alternatives:
        found = machine.unknown(f"whether {symbol} is answered is not known", found)
    if isinstance(found, Unknown):
        return number_unknown(machine, f"{symbol} cannot be decided", receiver, other)
    own = (
        method.name.endswith(".__eq__")
        if isinstance(method, KnownFunction)
        else isinstance(method, FunctionValue) and method.definition.name == "__eq__"
    )
    if symbol == "!=" and own and found != NOT_IMPLEMENTED:
        truth = machine.truth(found)
        return number_unknown(machine, "!= cannot be decided", found) if truth is None else Constant(not truth)
    return found


def _answers_itself(machine: Machine, symbol: str, receiver: Value, other: Value) -> bool:
    """What is derived from a class of Python's own, as a list is, has the method of that, which answers for its kind:
    the other one is not asked."""
    cls = machine.class_of(receiver)
    if not isinstance(cls, ClassValue) or isinstance(machine.class_of(other), Unknown):
        return False
    kinds = machine.mro(machine.class_of(other))
    for base in machine.mro(cls):
        if isinstance(base, KnownClass) and base.name.startswith("builtins.") and base in kinds:
            real = virtual_classes.real_class(base)
            is_mapping = real is dict and symbol not in ("==", "!=")
            if real is not None and not is_mapping:
                return getattr(real, METHODS[symbol], None) is not getattr(object, METHODS[symbol])
    return False


def _method(machine: Machine, value: Value, name: str) -> Value | None:
    """The method of its class, written in source; None where that of Python's own stands there, which answers for its
    own kind alone. `!=` without a method is what `==` gives, turned round."""
    cls = machine.class_of(value)
    if not isinstance(cls, (ClassValue, KnownClass)):
        return cls if isinstance(cls, Unknown) else None
    found = machine.class_attribute(cls, name)
    if found is None and name == "__ne__":
        found = machine.class_attribute(cls, "__eq__")
    if isinstance(found, (FunctionValue, Unknown)):
        return None if isinstance(cls, ClassValue) and _is_made(machine, cls, name) else found
    if isinstance(cls, ClassValue) and found == NONE:  # which Python calls
        return found
    if isinstance(cls, ClassValue) and isinstance(found, (ClassMethod, StaticMethod, PropertyValue)):
        return machine.unknown(f"how {name} is bound in a comparison is not followed")
    if isinstance(cls, ClassValue):
        return _of_abstract(machine, cls, name, found)
    if cls.name.partition(".")[0] != "builtins":
        return machine.unknown(f"how {cls.name} compares is not modelled") if found is not None else None
    return None


def _of_abstract(machine: Machine, cls: ClassValue, name: str, found: Value | None) -> Value | None:
    """The method that a class has from Python's own code in Python, as a mapping has its `__eq__`, and what
    `functools.total_ordering` adds."""
    if isinstance(found, KnownFunction) and found.name.startswith(("collections.abc.", "functools._")):
        return found
    for base in machine.mro(cls) if found is None else ():
        if isinstance(base, KnownClass) and not base.name.startswith(("builtins.", "torch.")):
            real = virtual_classes.real_class(base)
            asked = "__eq__" if name == "__ne__" else name
            if real is not None and getattr(real, asked, None) is not getattr(object, asked):
                return machine.unknown(f"how {base.name} compares is not modelled")
    return None


def _is_made(machine: Machine, cls: ClassValue, name: str) -> bool:
    """The method is that which a dataclass is given, before one that it would inherit."""
    for base in machine.mro(cls) if name in ("__eq__", "__ne__") else ():
        item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        if isinstance(base, ClassValue) and item is not None:
            if any(classes.own_attribute(machine, base, each) is not None for each in ("__eq__", name)):
                return False
            if "__dataclass_fields__" in item.namespace:
                return True
    return False


def is_derived(machine: Machine, value: Value, other: Value) -> bool:
    """The class of the value is derived from that of the other, and is not the same."""
    cls, base = machine.class_of(value), machine.class_of(other)
    if cls == base or not isinstance(cls, (ClassValue, KnownClass)) or isinstance(base, Unknown):
        return False
    return base in machine.mro(cls)


def _type_name(machine: Machine, value: Value) -> str:
    cls = machine.class_of(value)
    return last_name(cls.name) if isinstance(cls, (ClassValue, KnownClass)) else "object"
