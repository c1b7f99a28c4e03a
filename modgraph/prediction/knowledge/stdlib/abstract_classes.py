"""typing, abc, enum, numbers, types: names of classes that hold nothing of their own."""

from __future__ import annotations

import enum

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import (
    alias,
    constant,
    known_class,
    models,
)
from modgraph.prediction.domain.values import (
    NONE,
    BoundMethod,
    KnownClass,
    KnownFunction,
    Unknown,
    Value,
)


@models("typing._overload_dummy")
def overloaded(arguments: Arguments, machine: Machine) -> Value:
    raise machine.raises("NotImplementedError", "You should not call an overloaded function.")


for _owner in ("typing", "typing_extensions"):

    @models(*(f"{_owner}.{name}" for name in ("final", "no_type_check", "runtime_checkable", "override")))
    def transparent(arguments: Arguments, machine: Machine) -> Value:
        return arguments.positional[0]

    @models(f"{_owner}.overload")
    def overload(arguments: Arguments, machine: Machine) -> Value:
        """It stands for the definition that follows, and is nothing to be called."""
        return KnownFunction("typing._overload_dummy")

    @models(f"{_owner}.cast")
    def cast(arguments: Arguments, machine: Machine) -> Value:
        return arguments.get(1, "val", NONE)

    @models(f"{_owner}.TypeVar", f"{_owner}.ParamSpec", f"{_owner}.NewType", f"{_owner}.TypeVarTuple")
    def type_variable(arguments: Arguments, machine: Machine) -> Value:
        return Unknown("a type variable", machine.where, inert=True)

    @models(f"{_owner}.dataclass_transform")
    def transform(arguments: Arguments, machine: Machine) -> Value:
        return KnownFunction("functools._same")


@models("enum.unique", "abc.abstractmethod", "abc.abstractproperty", "abc.abstractclassmethod", "atexit.register")
def abstract(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


known_class("enum.Enum")
known_class("enum.Flag", "enum.Enum")
known_class("enum.ReprEnum", "enum.Enum")
known_class("enum.StrEnum", "builtins.str", "enum.Enum")  # which Python 3.10 does not have
for _each in (getattr(enum, name) for name in ("IntEnum", "StrEnum", "IntFlag") if hasattr(enum, name)):
    known_class(f"enum.{_each.__name__}", *(f"{base.__module__}.{base.__name__}" for base in _each.__bases__))
known_class("enum.EnumMeta", "builtins.type")
alias("enum.EnumType", "enum.EnumMeta")
for _owner in ("typing", "typing_extensions"):
    for _name in ("Generic", "Protocol"):
        known_class(f"{_owner}.{_name}")
    known_class(f"{_owner}.TypedDict", "builtins.dict")
known_class("abc.ABC")
known_class("abc.ABCMeta", "builtins.type")
known_class("typing._ProtocolMeta", "abc.ABCMeta")
known_class("numbers.Number")
known_class("numbers.Complex", "numbers.Number")
known_class("numbers.Real", "numbers.Complex")
known_class("numbers.Rational", "numbers.Real")
known_class("numbers.Integral", "numbers.Rational")
_ABSTRACT = {
    "Hashable": (),
    "Sized": (),
    "Container": (),
    "Callable": (),
    "Iterable": (),
    "Iterator": ("Iterable",),
    "Generator": ("Iterator",),
    "Reversible": ("Iterable",),
    "Collection": ("Sized", "Iterable", "Container"),
    "Sequence": ("Reversible", "Collection"),
    "MutableSequence": ("Sequence",),
    "Set": ("Collection",),
    "MutableSet": ("Set",),
    "Mapping": ("Collection",),
    "MutableMapping": ("Mapping",),
    "MappingView": ("Sized",),
    "KeysView": ("MappingView", "Set"),
    "ItemsView": ("MappingView", "Set"),
    "ValuesView": ("MappingView", "Collection"),
}
for _name, _bases in _ABSTRACT.items():
    known_class(f"collections.abc.{_name}", *(f"collections.abc.{base}" for base in _bases))


constant("types.MethodType", KnownClass("builtins.method"))


@models("builtins.method")
def bound_method(arguments: Arguments, machine: Machine) -> Value:
    """types.MethodType(function, receiver)."""
    return BoundMethod(arguments.get(0, "function", NONE), arguments.get(1, "instance", NONE))


constant("types.NoneType", KnownClass("builtins.NoneType"))
constant("types.ModuleType", KnownClass("builtins.module"))
constant("types.GeneratorType", KnownClass("builtins.generator"))
