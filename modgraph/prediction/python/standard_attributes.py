"""Names that Python gives every value of a kind: none of them is ever missing, whatever is known of what it holds.

Source: Python itself, asked of a function, class, module, ... of ours; of what the standard library holds, the table of
`standard_names.py`. Nothing is imported by a name of the source that is read.
"""

from __future__ import annotations

import enum
import functools
import importlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from modgraph.names import last_name
from modgraph.prediction.domain.objects import ClassObject
from modgraph.prediction.domain.values import (
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
from modgraph.prediction.python import class_annotations, classes, slots, standard_names, stored_attributes, torch_names

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


class _Bare:
    pass


class _Plain:
    def method(self) -> None: ...

    @classmethod
    def of_class(cls) -> None: ...


class _Kind(enum.Enum):
    MEMBER = 1


_OF_ENUM = frozenset(name for base in _Kind.__mro__ for name in vars(base))
"""What a member has: Enum's metaclass puts more into its classes than they show themselves."""


def _generator() -> Iterator[None]:
    yield


_SAMPLES: dict[type[Value], tuple[Any, ...]] = {
    FunctionValue: (_generator,),
    GeneratedMethod: (_generator,),
    KnownFunction: (_generator, len),
    BoundMethod: (_Plain().method, [].append),
    ClassValue: (_Bare,),
    KnownClass: (_Bare,),
    PartialValue: (functools.partial(len),),
    PropertyValue: (property(),),
    StaticMethod: (staticmethod(_generator),),
    ClassMethod: (vars(_Plain)["of_class"],),
    GenericAlias: (list[int],),
    SuperValue: (object(),),
    ModuleReference: (functools, importlib),
}
"""Values of Python's own by which a value of ours is judged: what all have is there, what only some have may be."""


def given(machine: Machine, value: Value, name: str) -> Value | None:
    """value.name where nothing else is known of it: a method behind its receiver, or an `Unknown`, `optional` where the
    value may as well lack it; None where it certainly has no such attribute."""
    found = _is_given(machine, value, name)
    if found is None:
        return None
    if name == "__annotations__" and isinstance(value, ClassValue):
        return stored_attributes.kept(machine, value, name, lambda: class_annotations.annotations_of(machine, value))
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


def _is_given(machine: Machine, value: Value, name: str) -> bool | None:
    """Whether every such value has that attribute (True), or only some (False); None where none has."""
    samples = _SAMPLES.get(type(value))
    if samples is None:
        return _of_instance(machine, value, name)
    has = [hasattr(sample, name) for sample in samples]
    if isinstance(value, (ClassValue, KnownClass)):
        bases = _real_bases(machine, value)
        has = [has[0] or any(each.has(name) or (each.is_enum and hasattr(_Kind, name)) for each in bases)]
        if not has[0] and (name in _ADDED or _may_be_compiled(machine, value, name) or _is_field(machine, value, name)):
            return False
        if name == "__abstractmethods__" or (not has[0] and torch_names.has(machine, value, name)):
            return False
        if name in ("name", "value") and any(each.is_enum for each in bases):
            return None  # of members alone
    elif isinstance(value, KnownFunction):
        real = standard_names.standard_object(value.name)
        if real is not None:
            has = [real.has(name)]
        elif _is_named_like_class(value.name):
            return False
    elif isinstance(value, ModuleReference) and name == "__path__":
        source = machine.finder.source(value.name)
        has = [source is None or source.is_package]
    return None if not any(has) else all(has)


def _is_named_like_class(name: str) -> bool:
    """What is known as a function may be a class, whose attributes are not known."""
    return last_name(name).lstrip("_")[:1].isupper()


def _of_instance(machine: Machine, value: Value, name: str) -> bool | None:
    cls = classes.class_of(machine, value)
    lineage = machine.mro(cls)
    if name == "__dict__" and not slots.has_dict(machine, cls):
        return None
    if any(isinstance(base, ClassValue) for base in lineage) and hasattr(_Bare(), name):
        return True
    if any(each.holds(name) or (each.is_enum and name in _OF_ENUM) for each in _real_bases(machine, cls)):
        return True
    if isinstance(value, EnumMember) and hasattr(_Kind.MEMBER, name):
        return True
    if isinstance(cls, KnownClass) and _keeps_attributes(cls.name):
        return False
    own = any(isinstance(base, ClassValue) for base in lineage)
    if torch_names.may_have(machine, cls, name):
        return False
    return False if _may_be_compiled(machine, cls, name) or (own and name in _ADDED) else None


_ADDED = frozenset(
    {
        *("__annotations__", "__match_args__", "__slots__", "__orig_bases__", "__parameters__", "__protocol_attrs__"),
        *("__dataclass_params__", "__dataclass_fields__", "_field_defaults", "_fields", "_make", "_asdict", "_replace"),
    }
)
"""What a class has where annotations, a decorator of Python's or a base in typing put it there."""


def _may_be_compiled(machine: Machine, cls: Value, name: str) -> bool:
    """A private name, of a class derived from one that is neither Python's own nor read from source."""
    private = name.startswith("_")
    return private and any(
        isinstance(base, KnownClass)
        and base.name != MODULE
        and base.name.partition(".")[0] not in ("builtins", *sys.stdlib_module_names)
        for base in machine.mro(cls)
    )


def _is_field(machine: Machine, cls: Value, name: str) -> bool:
    """A descriptor that a named tuple has for each of its fields."""
    for base in machine.mro(cls):
        item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        if item is not None and item.fields is not None:
            return any(field == name for field, _ in item.fields)
    return False


def _keeps_attributes(name: str) -> bool:
    """A class written in Python, whose instances hold what its methods set; or one of Python's of which nothing is
    known."""
    if name in _KNOWN_WHOLE:
        return False
    found = standard_names.standard_object(name)
    if found is None:
        return name.partition(".")[0] in sys.stdlib_module_names
    bases = (standard_names.standard_object(each) for each in found.lineage)
    return found.is_initialised or any(base is not None and base.is_initialised for base in bases)


_KNOWN_WHOLE = ("argparse.Namespace", "types.SimpleNamespace")
"""Classes of which all that an instance holds is known."""


def _real_bases(machine: Machine, cls: Value) -> list[standard_names.StandardObject]:
    """The classes of Python's own that a class is derived from."""
    found = [standard_names.standard_object(base.name) for base in machine.mro(cls) if isinstance(base, KnownClass)]
    return [each for each in found if each is not None and each.is_class]
