"""What comes of a function of a library that is not interpreted: a value of its own, or one that may be, or hold, what
it was given or has found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain import points_to, registry
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.objects import DictObject, ListObject, ModuleObject, SetObject, TensorObject
from modgraph.prediction.domain.values import (
    GIVEN,
    Address,
    BoundMethod,
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    PartialValue,
    Unknown,
    Value,
)
from modgraph.prediction.python import attributes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_MOST = 64
"""Values that are looked at in what is given; of more, some may be anything."""
_DEFAULTS = (ClassValue, KnownClass, FunctionValue, KnownFunction, BoundMethod, PartialValue)


def of_call(machine: Machine, found: Unknown, arguments: Arguments) -> Unknown:
    """What a call of something inert gives, which was said to be inert too: whether no module is reached through it."""
    if not found.inert:
        return found
    given = (*arguments.positional, *arguments.keywords.values())
    name = found.library.removesuffix(GIVEN)
    if not name:
        return points_to.either_of(found, given) if any(_is_default(machine, each) for each in given) else found
    if not registry.is_standard(name) or name in attributes.STARTED or registry.gives_own_values(name):
        return found
    is_plain = (arguments.open is None or points_to.is_plain(arguments.open)) and _are_plain(machine, given)
    if registry.finds_objects(name) and is_plain and name == found.library and last_name(name)[:1].isupper():
        return replace(found, library=f"{name}{GIVEN}")  # an object of that class: its methods find
    if is_plain and not registry.finds_objects(name):
        return found
    return points_to.either_of(replace(found, inert=False), given)


def _is_default(machine: Machine, value: Value) -> bool:
    """A class, a function or a module: `get` of what is not known may give it."""
    if isinstance(value, Address):
        return isinstance(machine.state.read(value), (ModuleObject, TensorObject))
    return isinstance(value, _DEFAULTS)


def _are_plain(machine: Machine, values: Iterable[Value]) -> bool:
    """They are numbers, texts and the like, or containers of such."""
    pending, seen = list(values), set[Address]()
    while pending:
        value = pending.pop()
        if isinstance(value, Address):
            if value in seen:
                continue
            seen.add(value)
            item = machine.state.read(value)
            if type(item) not in (ListObject, DictObject, SetObject) or getattr(item, "attributes", None):
                return False
            pending.extend(points_to.held_by(item))
        elif value.parts():
            pending.extend(value.parts())
        elif not isinstance(value, Constant) and not points_to.is_plain(value):
            return False
        if len(seen) + len(pending) > _MOST:
            return False
    return True
