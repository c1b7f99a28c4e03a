"""What each field of an object of the heap is: said once, in its class; all that walks over objects is derived from it.

A join, a comparison of what two paths made, a copy, what is forgotten when code that is not known has an object: each
has one rule per role, and none names a field. A field without a role is an error when its class is made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from operator import attrgetter
from typing import Any, TypeVar

from modgraph.prediction.domain.values import Value


class Role(Enum):
    """What a field holds, and by that what becomes of it where two paths meet."""

    CELLS = "values in their order"
    ENTRIES = "values by values"
    MEMBERS = "values of a set, as the keys of a dict"
    REST = "why there may be more than what CELLS, ENTRIES or MEMBERS hold; None where there is not"
    ATTRIBUTES = "values by name"
    STORE = "values by name, in the order in which a module registers them"
    NAMESPACE = "values by name; one that is missing is that of a base"
    LOCALS = "values by name; one that is missing is not bound"
    REASON = "why ATTRIBUTES may hold more, or in another order; None where they do not"
    ORDER = "why STORE may be in another order; None where it is not, and where what stands there may not be there"
    VALUE = "one value, or None"
    FLAT = "what is plain and can change; None where it is not known"
    FINAL = "what changes once and for good; None where it is not known whether it has"
    FLAGS = "what is plain, by name; None where it is not known"
    SHAPE = "sizes; None for one, or for all, that are not known"
    FIXED = "what an object is from the time it is made"
    LINK = "the address of another object, from the time it is made"
    MEMORY = "the addresses of others that it changes with"
    COUPLED = "what means something together with other fields alone: a rule of its class joins them"
    COUNTS = "numbers of what was made, which only grow"
    PLACE = "where it was made, or said first, for who reads of it; nothing depends on it"
    NOTE = "why something is not known, for who reads of it; nothing depends on it"
    NOTED_VALUES = "values by name, as pairs, that are shown beside what they have led to"


BY_NAME = frozenset({Role.ATTRIBUTES, Role.STORE, Role.NAMESPACE, Role.LOCALS})

HOLDING = frozenset({Role.CELLS, Role.ENTRIES, Role.MEMBERS, *BY_NAME})
"""What leads from an object to others."""

MUTABLE = HOLDING | {Role.FLAGS, Role.COUNTS}
"""Lists and dicts, of which a copy has its own."""

REASONS = frozenset({Role.REST, Role.REASON, Role.ORDER})
"""They may name objects that stand where what they speak of does."""


def role(is_: Role, *, final: object = None) -> Mapping[str, Any]:
    """The `metadata` of a dataclass's field; `final` is what one of the role FINAL changes into."""
    return {"role": is_, "final": final}


def roles_of(cls: type) -> dict[str, Role]:
    """The role of each field, in their order; `owner` is the state's own.

    Raises:
        TypeError: a field has none.
    """
    found = {}
    for each in dataclasses.fields(cls):
        if each.name == "owner":
            continue
        if "role" not in each.metadata:
            raise TypeError(f"{cls.__name__}.{each.name} has no role: say with role(Role....) what it holds")
        found[each.name] = each.metadata["role"]
    return found


Kind = TypeVar("Kind", bound=type)


def with_roles(cls: Kind) -> Kind:
    """Decorates the dataclass of a kind of object: `ROLES`, `copy` and `references` come of its fields."""
    made: Any = cls
    roles = made.ROLES = roles_of(cls)
    made.FINAL = {
        each.name: each.metadata["final"] for each in dataclasses.fields(made) if roles.get(each.name) is Role.FINAL
    }
    made.REASONS = tuple(name for name, each in roles.items() if each in REASONS)
    made.copy = _copier(made, roles)
    if "references" not in vars(made):
        made.references = _references(roles)
    return cls


def _copier(cls: Any, roles: Mapping[str, Role]) -> Callable[[Any], Any]:
    contents = _getter(list(roles))
    own = [place for place, each in enumerate(roles.values()) if each in MUTABLE]

    def copy(self: Any) -> Any:
        """The same contents, in containers of its own (values are shared)."""
        values = list(contents(self))
        for place in own:
            values[place] = values[place].copy()
        return cls(*values)

    return copy


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) == 1:
        only = attrgetter(names[0])
        return lambda item: (only(item),)
    return attrgetter(*names)


def _references(roles: Mapping[str, Role]) -> Callable[[Any], Iterator[Value]]:
    # What a module registers comes before its other attributes, as in a walk over modules.
    ordered = sorted((name for name, each in roles.items() if each in HOLDING), key=lambda name: name == "attributes")
    walked = [(name, roles[name]) for name in ordered]

    def references(self: Any) -> Iterator[Value]:
        """Every value held, in order."""
        for name, each in walked:
            held = getattr(self, name)
            if each is Role.ENTRIES:
                for pair in held.items():
                    yield from pair
            elif each is Role.CELLS or each is Role.MEMBERS:
                yield from held
            else:
                yield from held.values()

    return references


def names_of(item: Any, *wanted: Role) -> list[str]:
    """The fields of an object that have one of these roles."""
    return [name for name, each in item.ROLES.items() if each in wanted]


def reasons(item: Any) -> list[Any]:
    """Why there may be more than an object holds."""
    return [why for name in item.REASONS if (why := getattr(item, name)) is not None]
