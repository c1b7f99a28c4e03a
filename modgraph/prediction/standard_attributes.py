"""Names that Python gives every value of a kind: none of them is ever missing, whatever is known of what it holds.

Source: Python itself, asked of a function, class, module, ... of its own; modules of the standard library alone are
imported for that.
"""

from __future__ import annotations

import enum
import functools
import importlib
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from modgraph.prediction import class_annotations, classes
from modgraph.prediction.objects import ClassObject
from modgraph.prediction.values import (
    MODULE,
    Address,
    BoundMethod,
    ClassMethod,
    ClassValue,
    EnumMember,
    FunctionValue,
    GeneratedMethod,
    GenericAlias,
    KnownClass,
    KnownFunction,
    ModuleReference,
    PartialValue,
    PropertyValue,
    StaticMethod,
    SuperValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter


class _Plain:
    def method(self) -> None: ...

    @classmethod
    def of_class(cls) -> None: ...


class _Kind(enum.Enum):
    MEMBER = 1


def _generator() -> Iterator[None]:
    yield


_SAMPLES: dict[type[Value], tuple[Any, ...]] = {
    FunctionValue: (_generator,),
    GeneratedMethod: (_generator,),
    KnownFunction: (_generator, len),
    BoundMethod: (_Plain().method, [].append),
    ClassValue: (_Plain,),
    KnownClass: (_Plain,),
    PartialValue: (functools.partial(len),),
    PropertyValue: (property(),),
    StaticMethod: (staticmethod(_generator),),
    ClassMethod: (vars(_Plain)["of_class"],),
    GenericAlias: (list[int],),
    SuperValue: (object(),),
    ModuleReference: (functools, importlib),
}
"""Values of Python's own by which a value of ours is judged: what all have is there, what only some have may be."""

_NAMELESS: dict[str, type] = {
    "builtins.function": types.FunctionType,
    "builtins.method": types.MethodType,
    "builtins.generator": types.GeneratorType,
    "builtins.module": types.ModuleType,
    "builtins.builtin_function_or_method": types.BuiltinFunctionType,
    "builtins.NoneType": type(None),
    "builtins.ellipsis": type(...),
    "builtins.NotImplementedType": type(NotImplemented),
}
"""Classes of Python that no module of it holds under the name they have here."""

_NEVER_IMPORTED = ("this", "antigravity", "__main__", "idlelib", "turtledemo", "test", "lib2to3")
"""Modules of the standard library that do more than define when they are imported."""


def given(machine: Interpreter, value: Value, name: str) -> Value | None:
    """value.name where nothing else is known of it: a method behind its receiver, or an `Unknown`, `optional` where the
    value may as well lack it; None where it certainly has no such attribute."""
    found = _is_given(machine, value, name)
    if found is None:
        return None
    if name == "__annotations__" and isinstance(value, ClassValue):
        return machine.allocate(class_annotations.annotations_of(machine, value))
    if name == "__call__" and isinstance(value, (FunctionValue, KnownFunction, BoundMethod, PartialValue)):
        return value
    what = classes.short_name(classes.class_of(machine, value))
    unknown = Unknown(f"{name} of a {what} is not modelled", machine.where, inert=name in _TEXTS, optional=not found)
    callable_ = found and isinstance(value, Address) and name not in _TEXTS
    return BoundMethod(unknown, value) if callable_ else unknown


_TEXTS = frozenset(
    {
        *("__doc__", "__name__", "__qualname__", "__module__", "__file__", "__spec__", "__loader__", "__package__"),
        *("__path__", "__cached__", "__weakref__", "__code__", "__text_signature__", "__type_params__", "__builtins__"),
        *("__basicsize__", "__itemsize__", "__flags__", "__dictoffset__", "__weakrefoffset__", "__firstlineno__"),
    }
)
"""Attributes that are no methods and through which no module can be reached."""


def _is_given(machine: Interpreter, value: Value, name: str) -> bool | None:
    """Whether every such value has that attribute (True), or only some (False); None where none has."""
    samples = _SAMPLES.get(type(value))
    if samples is None:
        return _of_instance(machine, value, name)
    has = [hasattr(sample, name) for sample in samples]
    if isinstance(value, (ClassValue, KnownClass)):
        has = [has[0] or any(hasattr(real, name) for real in _real_bases(machine, value))]
        if not has[0] and (name in _ADDED or _may_be_compiled(machine, value, name) or _is_field(machine, value, name)):
            return False
        if name == "__abstractmethods__":
            return False
    elif isinstance(value, KnownFunction):
        real = python_object(value.name)
        if real is not None:
            has = [hasattr(real, name)]
        elif _is_named_like_class(value.name):
            return False
    elif isinstance(value, ModuleReference) and name == "__path__":
        source = machine.finder.source(value.name)
        has = [source is None or source.is_package]
    return None if not any(has) else all(has)


def _is_named_like_class(name: str) -> bool:
    """What is known as a function may be a class, whose attributes are not known."""
    return name.rpartition(".")[2].lstrip("_")[:1].isupper()


def _of_instance(machine: Interpreter, value: Value, name: str) -> bool | None:
    cls = classes.class_of(machine, value)
    lineage = machine.mro(cls)
    if any(isinstance(base, ClassValue) for base in lineage) and hasattr(_Plain(), name):
        return True
    if any(name in vars(base) for real in _real_bases(machine, cls) for base in real.__mro__):
        return True
    if isinstance(value, EnumMember) and hasattr(_Kind.MEMBER, name):
        return True
    if isinstance(cls, KnownClass) and cls.name not in _KNOWN_WHOLE and _keeps_attributes(python_object(cls.name)):
        return False
    own = any(isinstance(base, ClassValue) for base in lineage)
    return False if _may_be_compiled(machine, cls, name) or (own and name in _ADDED) else None


_ADDED = frozenset(
    {
        *("__annotations__", "__match_args__", "__slots__", "__orig_bases__", "__parameters__", "__protocol_attrs__"),
        *("__dataclass_params__", "__dataclass_fields__", "_field_defaults", "_fields", "_make", "_asdict", "_replace"),
    }
)
"""What a class has where annotations, a decorator of Python's or a base in typing put it there."""


def _may_be_compiled(machine: Interpreter, cls: Value, name: str) -> bool:
    """A private name, of a class derived from one that is neither Python's own nor read from source."""
    private = name.startswith("_")
    return private and any(
        isinstance(base, KnownClass)
        and base.name != MODULE
        and base.name.partition(".")[0] not in ("builtins", *sys.stdlib_module_names)
        for base in machine.mro(cls)
    )


def _is_field(machine: Interpreter, cls: Value, name: str) -> bool:
    """A descriptor that a named tuple has for each of its fields."""
    for base in machine.mro(cls):
        item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        if item is not None and item.fields is not None:
            return any(field == name for field, _ in item.fields)
    return False


def _keeps_attributes(real: Any) -> bool:
    """A class written in Python, whose instances hold what its methods set."""
    return isinstance(real, type) and isinstance(vars(real).get("__init__"), types.FunctionType)


_KNOWN_WHOLE = ("argparse.Namespace", "types.SimpleNamespace")
"""Classes of which all that an instance holds is known."""


def _real_bases(machine: Interpreter, cls: Value) -> list[type]:
    """The classes of Python's own that a class is derived from, as they are in this Python."""
    found = [python_object(base.name) for base in machine.mro(cls) if isinstance(base, KnownClass)]
    real = [each for each in found if isinstance(each, type)]
    return [_Kind if issubclass(each, enum.Enum) else each for each in real]


@functools.cache
def python_object(name: str) -> Any:
    """What a qualified name of the standard library stands for; None where it is not one of its."""
    if name in _NAMELESS:
        return _NAMELESS[name]
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        found: Any = python_module(".".join(parts[:end]))
        if found is not None:
            for part in parts[end:]:
                found = getattr(found, part, None)
            return found
    return None


@functools.cache
def python_module(name: str) -> types.ModuleType | None:
    """A module of the standard library; None where it is none, or cannot be imported here."""
    top = name.partition(".")[0]
    if top not in sys.stdlib_module_names or top in _NEVER_IMPORTED:
        return None
    try:
        return importlib.import_module(name)
    except Exception:  # whatever a module of another system raises here
        return None
