"""What code that is not known may do with what it is given: call the functions among it, and change the rest.

A function is run, any number of times, as its effects on names of its module or on objects that these lead to cannot be
seen from what it holds; then nothing is known any more of what is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from modgraph.prediction.code import allowances, contexts, taken_away
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.limits import MAX_HANDED_OVER, MAX_HANDED_OVER_DEPTH
from modgraph.prediction.domain.objects import (
    ClassObject,
    DictObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
    ViewObject,
)
from modgraph.prediction.domain.values import (
    Address,
    BoundMethod,
    Choice,
    ClassMethod,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    GeneratedMethod,
    KnownFunction,
    PartialValue,
    PropertyValue,
    StaticMethod,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import havoc
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


_SPECIAL = (
    *("__call__", "__str__", "__repr__", "__format__", "__hash__", "__bool__", "__len__", "__iter__", "__next__"),
    *("__int__", "__float__", "__complex__", "__index__", "__round__", "__trunc__", "__abs__", "__getitem__"),
    *(f"__{name}__" for name in ("lt", "le", "eq", "ne", "gt", "ge", "contains", "missing", "add", "radd", "sizeof")),
)
"""Methods of an object that a function of Python's own may call of what it is given."""


_SHOWN = ("extra_repr", "_get_name")
"""Methods that a module is asked for when its text is made, or that of one above it."""


def expose(machine: Machine, values: Iterable[Value], why: Unknown) -> None:
    """Forgets whatever can be changed through `values`, and what functions among them change when they are called."""
    given = list(values)
    _call(machine, given, why, _SPECIAL)
    havoc.expose(machine, given, why)
    for each in given:
        if isinstance(each, ClassValue):
            _doubt(machine, each, why)


_DEFINED = (FunctionValue, StaticMethod, ClassMethod, PropertyValue, GeneratedMethod, EnumMember, KnownFunction)


def _doubt(machine: Machine, cls: ClassValue, why: Unknown) -> None:
    """A class that is given to what is not known: its attributes may be others from here on. Its methods are taken to
    stay, as a decorator is taken to leave them; where it is used, there is a problem. Those of installed packages are
    taken to stay as they are."""
    item = machine.state.find(cls.address, ClassObject)
    home = item.definition.module if item is not None and item.definition is not None else ""
    if cls.address.index in machine.doubtful or (home and allowances.is_of_library(machine, home)):
        return
    machine.doubtful[cls.address.index] = why
    shown = machine.state.find(machine.class_dict(cls), ViewObject)
    for name in list(shown.shown) if shown is not None else []:
        value = machine.own_attribute(cls, name)
        if value is not None and not name.startswith("__") and not isinstance(value, _DEFINED):
            known = machine.state.change(cls.address, ClassObject)
            known.namespace[name] = points_to.either_of(why, (value,))


def may_be_called(
    machine: Machine,
    values: Iterable[Value],
    why: Unknown,
    methods: tuple[str, ...] = _SPECIAL,
    *,
    later: bool = False,
) -> None:
    """Functions among these, and special methods of objects there, may have run any number of times; what is given is
    as it was else. What they raise is raised here, unless it is `later` that they are called."""
    given = [each for each in values if not isinstance(each, Constant)]
    _call(machine, given, why, methods, at_once=not later)


def perhaps(machine: Machine, function: Unknown) -> list[Value]:
    """What something that is called and not known may be: functions, with the objects whose methods they are, objects
    with a `__call__`, and what makes the instances of classes."""
    held, objects, functions = machine.base.held, list[Value](), list[FunctionValue]()
    seen = set[int]()
    pending = sorted(function.may_be, reverse=True)
    while pending:
        index = pending.pop()
        if index in seen:
            continue
        seen.add(index)
        if index in held:
            definition = held[index].definition
            if not (definition.is_generator or definition.is_async):  # a call of one of those runs nothing of it
                functions.append(held[index])
        elif havoc.is_there(machine, index):
            item = machine.state.read(Address(index))
            if isinstance(item, ListObject):  # of those that are too many to be named one by one
                pending.extend(each.index for each in item.items if isinstance(each, Address))
            objects.append(item.mro[0] if isinstance(item, ClassObject) else Address(index))
    found = list[Value]()
    for each in functions:
        owner = each.owner
        bound = [one for one in objects if owner is not None and _has_methods_of(machine, one, owner)]
        found += [BoundMethod(each, one) for one in bound] or [each]
    for one in objects:
        makers = [machine.class_attribute(one, name) for name in _MAKERS] if isinstance(one, ClassValue) else [one]
        found += [maker for maker in makers if isinstance(maker, (FunctionValue, Address))]
    return found


_MAKERS = ("__new__", "__init__")


def _has_methods_of(machine: Machine, one: Value, owner: ClassValue) -> bool:
    item = machine.state.read(one) if isinstance(one, Address) else None
    cls = one if isinstance(one, ClassValue) else getattr(item, "cls", None)
    return isinstance(cls, ClassValue) and machine.is_subclass(cls, owner) is True


def _call(
    machine: Machine, given: list[Value], why: Unknown, methods: tuple[str, ...], *, at_once: bool = False
) -> None:
    if not given or not machine.frames or machine.handing_over >= MAX_HANDED_OVER_DEPTH:
        return
    called = list(_called(machine, given, methods))
    if not called:
        return
    some = points_to.either_of(why, given)
    machine.handing_over += 1
    try:
        for each in called[:MAX_HANDED_OVER]:
            taken_away.run_or_expose(machine, each.with_others(some), given, why, at_once=at_once)
    finally:
        machine.handing_over -= 1
    if len(called) > MAX_HANDED_OVER:
        machine.problem(Reached(f"more than {MAX_HANDED_OVER} functions may be called: {why.reason}"))


def _called(machine: Machine, given: list[Value], methods: tuple[str, ...]) -> Iterator[taken_away.Called]:
    """The functions with source among what is given, and in containers there, that may change something."""
    pending, seen = list(reversed(given)), set[Value]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Choice):
            pending.extend(value.alternatives)
        elif isinstance(value, TupleValue):
            pending.extend(value.items)
        elif isinstance(value, Unknown):
            yield from _coroutines(machine, value)
            if value in given and methods is not _SPECIAL:
                pending.extend(_objects(machine, value))
        elif isinstance(value, Address):
            item = machine.state.read(value)
            if isinstance(item, (ListObject, SetObject)):
                pending.extend(item.items)
            elif isinstance(item, DictObject):
                pending.extend(item.entries.values())
            elif isinstance(item, IteratorObject) and item.source is not None and "__next__" in methods:
                yield taken_away.Called(value, (), None)
            elif isinstance(item, InstanceObject) and contexts.is_generated(item):
                pending.append(item.attributes["call"])
            if isinstance(item, ModuleObject) and "__repr__" in methods:
                pending.extend(each for each in reversed(item.modules.values()) if isinstance(each, Address))
                yield from _methods(machine, value, item.cls, _SHOWN)
            if isinstance(item, (InstanceObject, ListObject, DictObject, SetObject, ModuleObject)):
                yield from _methods(machine, value, item.cls, methods)
        elif "__call__" in methods and _is_changing(value):
            yield taken_away.Called(value, (), None)


def _objects(machine: Machine, value: Unknown) -> Iterator[Address]:
    """Those with methods of their own that an unknown value may be."""
    for index in sorted(value.may_be):
        item = machine.state.read(Address(index)) if havoc.is_there(machine, index) else None
        if isinstance(item, IteratorObject) or isinstance(getattr(item, "cls", None), ClassValue):
            yield Address(index)


def _methods(machine: Machine, value: Address, cls: Value, names: tuple[str, ...]) -> Iterator[taken_away.Called]:
    for name in names if isinstance(cls, ClassValue) else ():
        found = machine.class_attribute(cls, name)
        if isinstance(found, FunctionValue) and taken_away.has_changing_source(found):
            yield taken_away.Called(BoundMethod(found, value), (), None)


def _coroutines(machine: Machine, value: Unknown) -> Iterator[taken_away.Called]:
    for index in sorted(value.may_be):
        if havoc.is_there(machine, index):
            yield from taken_away.coroutines(machine.state.read(Address(index)))


def _is_changing(value: Value) -> bool:
    while isinstance(value, (BoundMethod, PartialValue, StaticMethod, ClassMethod)):
        value = value.function
    return isinstance(value, FunctionValue) and taken_away.has_changing_source(value)
