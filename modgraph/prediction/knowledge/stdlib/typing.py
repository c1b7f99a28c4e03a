"""Names of typing for classes of Python's own: what they are in isinstance, as bases and, of some, in calls."""

from __future__ import annotations

import typing

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import constant, known_class, models
from modgraph.prediction.domain.values import NONE, KnownClass, KnownFunction, Unknown, Value
from modgraph.prediction.python import annotation_parts

_ABSTRACT = (
    *("Sized", "Container", "Callable", "Iterable", "Iterator", "Generator", "Reversible", "Collection", "Sequence"),
    *("MutableSequence", "MutableSet", "Mapping", "MutableMapping"),
    *("MappingView", "KeysView", "ItemsView", "ValuesView"),
)
_CLASSES = {
    **{name: f"collections.abc.{name}" for name in _ABSTRACT},
    **{name: f"builtins.{name.lower()}" for name in ("List", "Dict", "Tuple", "Set", "FrozenSet", "Type")},
    "AbstractSet": "collections.abc.Set",
    "Deque": "collections.deque",
    "Counter": "collections.Counter",
    "OrderedDict": "collections.OrderedDict",
    "DefaultDict": "collections.defaultdict",
}
constant("typing_extensions.NamedTuple", KnownClass("typing.NamedTuple"))
for _owner in ("typing", "typing_extensions"):
    for _name, _class in _CLASSES.items():
        constant(f"{_owner}.{_name}", KnownClass(_class, of_typing=True))

_FORMS = ("Union", "Optional", "Literal", "ClassVar", "Final", "Required", "NotRequired")
for _name in _FORMS:  # no classes, and what they give is none
    if hasattr(typing, _name):
        constant(f"typing.{_name}", KnownFunction(f"typing.{_name}"))
known_class("types.UnionType")
constant("types.UnionType", annotation_parts.BY_BAR)
if isinstance(typing.Any, type):  # from Python 3.11 on
    known_class("typing.Any")

_ASKING = ("get_type_hints", "get_overloads", "is_typeddict", "is_protocol", "get_protocol_members")


@models(*(f"{owner}.{name}" for owner in ("typing", "typing_extensions") for name in _ASKING))
def asked(arguments: Arguments, machine: Machine) -> Value:
    """What is written about an object; it stays as it is. An annotation may be any class."""
    is_plain = last_name(arguments.function) not in ("get_type_hints", "get_overloads")
    return Unknown("what annotations say is not followed", machine.where, inert=is_plain)


@models("typing.get_origin", "typing.get_args", "typing_extensions.get_origin", "typing_extensions.get_args")
def taken_apart(arguments: Arguments, machine: Machine) -> Value:
    """Of a class there is nothing; of some annotations, it is not known what they were written with."""
    given = arguments.get(0, "tp", NONE)
    found = annotation_parts.taken_apart(given, arguments.function.endswith("origin"))
    return found or Unknown("what an annotation is made of is not followed", machine.where)
