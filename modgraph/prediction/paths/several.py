"""What is given one of several objects, which of them is not known: it is run for each, on paths of their own. So is
what asks for a name of a class which that has on some paths only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, EnvironmentObject, IteratorObject, TensorObject
from modgraph.prediction.domain.values import (
    DELETED,
    NONE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    KnownFunction,
    ModuleReference,
    PropertyValue,
    SuperValue,
    Unknown,
    Value,
    remaining,
)
from modgraph.prediction.paths import assuming

ResultType = TypeVar("ResultType", bound="Value | None")


_READERS = frozenset(
    (
        *(
            "all",
            "any",
            "bool",
            "callable",
            "dict",
            "enumerate",
            "filter",
            "frozenset",
            "hasattr",
            "hash",
            "id",
            "iter",
        ),
        *("isinstance", "issubclass", "len", "list", "map", "max", "min", "print", "repr", "reversed", "set", "slice"),
        *("sorted", "str", "sum", "tuple", "type", "vars", "zip"),
    )
)
"""Functions of Python that leave what they are given as it is, and take a choice as it is."""


def ways(machine: Machine, name: str, arguments: Arguments) -> tuple[Choice, list[Arguments]] | None:
    """The calls of a function with each of several objects that it may change, in the place of their choice: the first
    of its arguments, or any iterator, which whoever reads it uses up. None where there is none."""
    positional, keywords = arguments.positional, arguments.keywords
    if not any(type(each) is Choice for each in (*positional, *keywords.values())):
        return None
    places: list[tuple[int | str, Value]] = [*enumerate(positional), *keywords.items()]
    for place, value in places:
        if not isinstance(value, Choice):
            continue
        is_subject = place == 0 and name.removeprefix("builtins.") not in _READERS
        changed = is_subject and any(_is_changed(machine, each) for each in value.alternatives)
        if changed or has_iterator(machine, value):
            return value, [_with(arguments, place, each) for each in value.alternatives]
    return None


def left(machine: Machine, arguments: Arguments) -> Arguments:
    """The arguments, where only one alternative of a choice may be there on the path that is run: with that one."""
    given: list[tuple[int | str, Value]] = [*enumerate(arguments.positional), *arguments.keywords.items()]
    for place, value in given:
        if type(value) is Choice and value.when:
            places = assuming.possible(machine, value)
            if len(places) == 1:
                arguments = _with(arguments, place, value.alternatives[places[0]])
    return arguments


def first_choice(arguments: Arguments) -> tuple[Choice, list[Arguments]] | None:
    """The first choice among the arguments, and the calls with each of its alternatives; None where there is none."""
    places: list[tuple[int | str, Value]] = [*enumerate(arguments.positional), *arguments.keywords.items()]
    for place, value in places:
        if type(value) is Choice:
            return value, [_with(arguments, place, each) for each in value.alternatives]
    return None


def _is_changed(machine: Machine, value: Value) -> bool:
    return isinstance(value, Address) and not isinstance(machine.state.read(value), TensorObject)


def has_iterator(machine: Machine, value: Value) -> bool:
    """It is a choice of iterators, or of one and something else."""
    return isinstance(value, Choice) and any(
        machine.state.find(each, IteratorObject) is not None for each in value.alternatives
    )


def each_of(machine: Machine, values: Sequence[Value], make: Callable[[Sequence[Value]], Value]) -> Value:
    """What is made of these values; of choices among them, of each alternative."""
    place = next((place for place, value in enumerate(values) if isinstance(value, Choice)), len(values))
    if place == len(values):
        return make(values)
    choice, before, after = values[place], values[:place], values[place + 1 :]
    assert isinstance(choice, Choice)
    return machine.distribute(choice, lambda one: each_of(machine, [*before, one, *after], make))


def _with(arguments: Arguments, place: int | str, value: Value) -> Arguments:
    if isinstance(place, str):
        return replace(arguments, keywords={**arguments.keywords, place: value})
    positional = (*arguments.positional[:place], value, *arguments.positional[place + 1 :])
    return replace(arguments, positional=positional)


# ---- names that a class has on some paths only -----------------------------------------------------------------------

Undecided = tuple[Address, str, Choice]

TEXTS = ("__str__", "__repr__", "__format__")
"""Under these names, what makes a text of an object asks for itself (`text.py`); nothing else runs it."""

_NOT_ASKED_FOR = ("__init__", *TEXTS)

_WITHOUT_OWN_CLASS = frozenset(
    (Constant, FunctionValue, KnownFunction, BoundMethod, PropertyValue, ModuleReference, Unknown, Choice)
)
"""Kinds of values whose classes are Python's own, or not known."""


def is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def parts(name: str, value: Value) -> bool:
    """What is done with a class depends on which of several values it has under the name: whether there is one, which
    method of those that Python itself calls, whether it is a property."""
    if not isinstance(value, Choice):
        return False
    return is_special(name) or any(each == DELETED or isinstance(each, PropertyValue) for each in value.alternatives)


def note(machine: Machine, cls: ClassValue, name: str, value: Value) -> None:
    """The class has been given this value."""
    if parts(name, value):
        machine.state.base.parted.add(cls.address.index)


def sometimes(value: Value, reason: str) -> Value:
    """What a namespace holds under a name that is bound to the value on some paths only."""
    if isinstance(value, Unknown):
        return replace(value, optional=True)
    alternatives = value.alternatives if isinstance(value, Choice) else (value,)
    return Choice(tuple(dict.fromkeys((*alternatives, DELETED))), reason)


def certain(value: Value) -> Value | None:
    """What `sometimes` was given; None for another value."""
    if not isinstance(value, Choice) or DELETED not in value.alternatives:
        return None
    kept = tuple(each for each in value.alternatives if each != DELETED)
    return kept[0] if len(kept) == 1 else replace(value, alternatives=kept, when=())


def bound(environment: EnvironmentObject) -> dict[str, Value]:
    """The names of a body that has run, with their values."""
    if not environment.unsure:
        return environment.names
    why = "it is bound on some paths only"
    unsure = environment.unsure
    return {name: sometimes(each, why) if name in unsure else each for name, each in environment.names.items()}


def shown(environment: EnvironmentObject) -> dict[str, Value]:
    """The same for who looks at them."""
    return {name: remaining(each) or each for name, each in bound(environment).items()}


def decided(
    machine: Machine,
    values: Iterable[Value],
    operation: Callable[[], ResultType],
    names: Collection[str] | None = None,
) -> ResultType:
    """The operation; where a class of these values has one of the names (of those that Python asks for, all but
    `__init__` and `TEXTS`) on some paths only, or one of several methods under it, on each of these paths. A path that
    gives None makes the whole optional, one that raises is left."""
    found = undecided(machine, values, names) if machine.base.parted else None
    if found is None:
        return operation()
    return on_paths(machine, found, lambda: decided(machine, values, operation, names))


def on_paths(machine: Machine, parted: Undecided, operation: Callable[[], ResultType]) -> ResultType:
    """The operation, where the class has the name, and where it has not."""
    address, name, choice = parted

    def path(one: Value) -> Value:
        machine.state.change(address, ClassObject).namespace[name] = one
        result: Value | None = operation()
        return DELETED if result is None else result

    given = remaining(machine.distribute(choice, path))
    held = machine.state.change(address, ClassObject).namespace
    after = held[name]
    if isinstance(after, Choice) and set(after.alternatives) == set(choice.alternatives):
        held[name] = choice
    return cast("ResultType", given)


def does(machine: Machine, values: Iterable[Value], change: Callable[[], None], *names: str) -> None:
    """The same of what gives nothing."""

    def operation() -> Value:
        change()
        return NONE

    decided(machine, values, operation, names)


def concerned(machine: Machine, value: Value, name: str) -> list[Value]:
    """A value, and what its class has under a name: a descriptor may say what becomes of it."""
    cls = NONE if isinstance(value, (Unknown, Choice)) else machine.class_of(value)
    found = machine.class_attribute(cls, name) if machine.base.parted and isinstance(cls, ClassValue) else None
    return [value] if found is None else [value, found]


def undecided(machine: Machine, values: Iterable[Value], names: Collection[str] | None) -> Undecided | None:
    """The first of such names."""
    for value in values:
        if type(value) is SuperValue:
            value = value.receiver
        if type(value) in _WITHOUT_OWN_CLASS:
            continue
        for cls in (value, machine.class_of(value)):
            if type(cls) is not ClassValue or not _is_touched(machine, cls):
                continue
            for base in machine.mro(cls):
                if isinstance(base, ClassValue) and base.address.index in machine.base.parted:
                    found = _undecided_name(machine, base.address, names)
                    if found is not None:
                        return found
    return None


def _is_touched(machine: Machine, cls: ClassValue) -> bool:
    """It, or a class that it inherits from, has had a name on some paths only."""
    return not machine.base.parted.isdisjoint(machine.lineage(cls))


def _undecided_name(machine: Machine, address: Address, names: Collection[str] | None) -> Undecided | None:
    namespace = machine.state.class_at(address).namespace
    if names is not None and not any(type(namespace.get(name)) is Choice for name in names):
        return None
    for name, value in namespace.items():
        if not isinstance(value, Choice):
            continue
        wanted = name in names if names is not None else is_special(name) and name not in _NOT_ASKED_FOR
        if wanted and parts(name, value):
            return address, name, value
    return None
