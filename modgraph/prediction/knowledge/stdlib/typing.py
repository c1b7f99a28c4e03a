"""Names of typing for classes of Python's own: what they are in isinstance, as bases and, of some, in calls."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import constant, models
from modgraph.prediction.domain.values import NONE, ClassValue, KnownClass, TupleValue, Unknown, Value

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
        constant(f"{_owner}.{_name}", KnownClass(_class))

_ASKING = ("get_type_hints", "get_overloads", "is_typeddict", "is_protocol", "get_protocol_members")


@models(*(f"{owner}.{name}" for owner in ("typing", "typing_extensions") for name in _ASKING))
def asked(arguments: Arguments, machine: Machine) -> Value:
    """What is written about an object; it stays as it is."""
    return Unknown("what annotations say is not followed", machine.where, inert=True)


@models("typing.get_origin", "typing.get_args", "typing_extensions.get_origin", "typing_extensions.get_args")
def taken_apart(arguments: Arguments, machine: Machine) -> Value:
    """Of a class there is nothing; of other annotations, it is not known what they were written with."""
    given = arguments.get(0, "tp", NONE)
    is_alias = isinstance(given, KnownClass) and given.name.startswith(("typing.", "typing_extensions."))
    if isinstance(given, (ClassValue, KnownClass)) and not is_alias:
        return NONE if arguments.function.endswith("origin") else TupleValue(())
    return Unknown("what an annotation is made of is not followed", machine.where, inert=True)
