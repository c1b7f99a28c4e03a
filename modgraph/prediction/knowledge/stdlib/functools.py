"""functools: partial, reduce, wraps and kin; caches are in `lru_cache.py`, cached_property in `descriptors.py`."""

from __future__ import annotations

from dataclasses import replace

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject
from modgraph.prediction.domain.registry import (
    known_class,
    models,
)
from modgraph.prediction.domain.values import (
    DELETED,
    FALSE,
    NONE,
    NOT_IMPLEMENTED,
    TRUE,
    BoundMethod,
    Choice,
    ClassValue,
    FunctionValue,
    KnownClass,
    KnownFunction,
    PartialValue,
    PropertyValue,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.knowledge.stdlib import sums
from modgraph.prediction.python import virtual_classes
from modgraph.prediction.python.callables import PARTIAL_METHOD

known_class("functools.partial")


@models("functools.partial")
def partial(arguments: Arguments, machine: Machine) -> Value:
    function, *given = arguments.positional
    if arguments.open is not None:
        return machine.unknown("the arguments of a partial are not known", arguments.open)
    if isinstance(function, PartialValue):
        keywords = {**dict(function.keywords), **arguments.keywords}
        return PartialValue(function.function, (*function.positional, *given), tuple(keywords.items()))
    return PartialValue(function, tuple(given), tuple(arguments.keywords.items()))


@models("functools.reduce", "_functools.reduce")
def reduce(arguments: Arguments, machine: Machine) -> Value:
    function, iterable, *initial = arguments.positional
    items = machine.iterate(iterable)
    if isinstance(items, Unknown):
        if not initial:
            machine.may_refuse("TypeError")
        return _reduced_unknown(machine, function, initial, items)
    values = [*initial, *items]
    if not values:
        raise machine.raises("TypeError", "reduce() of empty iterable with no initial value")
    result = values[0]
    for value in values[1:]:
        result = machine.call(function, (result, value))
    return result


def _reduced_unknown(machine: Machine, function: Value, initial: list[Value], items: Unknown) -> Value:
    """The first item, or what a function that is known to read alone makes of it and another."""
    if initial and isinstance(function, KnownFunction) and sums.may_be_tensors(machine, items):
        again = [lambda: initial[0], lambda: machine.call(function, (initial[0], items))]
        return machine.fork(again, items.reason)
    machine.may_be_called([function], items, ("__call__",))
    machine.expose(initial, items)
    why = machine.unknown("what is reduced is not known", items)
    return points_to.read(machine, why, [*initial, items])


@models("functools.wraps")
def wraps(arguments: Arguments, machine: Machine) -> Value:
    """A decorator that gives the wrapper back, standing for what it wraps."""
    return PartialValue(KnownFunction("functools.update_wrapper"), (), (("wrapped", arguments.positional[0]),))


@models("functools.update_wrapper")
def update_wrapper(arguments: Arguments, machine: Machine) -> Value:
    wrapper = arguments.get(0, "wrapper", NONE)
    return (
        replace(wrapper, wrapped=arguments.get(1, "wrapped", NONE)) if isinstance(wrapper, FunctionValue) else wrapper
    )


@models("functools.partialmethod")
def partial_method(arguments: Arguments, machine: Machine) -> Value:
    """Looked up through an instance, a partial of the method that is bound to it."""
    function, *given = arguments.positional
    bound = PartialValue(
        KnownFunction("functools._bound_partial"),
        (function, TupleValue(tuple(given))),
        tuple(arguments.keywords.items()),
    )
    return PropertyValue(bound)


@models("functools._bound_partial")
def bound_partial(arguments: Arguments, machine: Machine) -> Value:
    function, given, receiver = arguments.positional
    return BoundMethod(
        PartialValue(KnownFunction(PARTIAL_METHOD), (function, given), tuple(arguments.keywords.items())), receiver
    )


@models(PARTIAL_METHOD)
def call_partial(arguments: Arguments, machine: Machine) -> Value:
    """What a partial method does when it is called, be it through an instance or through the class."""
    function, given, *rest = arguments.positional
    assert isinstance(given, TupleValue)
    positional = (*rest[:1], *given.items, *rest[1:])
    return machine.invoke(
        function, Arguments(arguments.function, positional, arguments.keywords, arguments.where, arguments.open)
    )


@models("functools.total_ordering")
def total_ordering(arguments: Arguments, machine: Machine) -> Value:
    """What it gives a class asks the method that is there, of several the last by name, as Python's source does."""
    cls = arguments.positional[0]
    if isinstance(cls, ClassValue):
        there = {name: _is_there(machine, cls, name) for name in _ORDER}
        lacking = [name for name, found in there.items() if not found]
        if len(lacking) == len(_ORDER) and None not in there.values():
            raise machine.raises("ValueError", "must define at least one ordering operation: < > <= >=")
        asked = max((name for name, found in there.items() if found), default="").strip("_")
        for name in lacking:
            made: Value = KnownFunction(f"functools._from_{asked}.{name}")
            if None in there.values():
                made = machine.unknown("which methods a class has for the order is not known")
            machine.state.change(cls.address, ClassObject).namespace[name] = made
    return cls


def _is_there(machine: Machine, cls: ClassValue, name: str) -> bool | None:
    """The class has a method of that name which is not that of `object`: its own, one that it inherits, or one that
    has been made before; None where that is not known."""
    found = machine.class_attribute(cls, name)
    if isinstance(found, Unknown) or (found is not None and is_optional(found)):
        return None
    if isinstance(found, Choice):
        return None if DELETED in found.alternatives else True
    if found is not None and (not isinstance(found, KnownFunction) or found.name.startswith("functools._from_")):
        return True
    for base in machine.mro(cls):
        if not isinstance(base, KnownClass) or base.name.startswith("torch.nn.modules."):
            continue
        real = virtual_classes.real_class(base)
        if real is None:
            return None
        if getattr(real, name) is not getattr(object, name):
            return True
    return False


_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
_SIGNS = tuple(name.strip("_") for name in _ORDER)


@models(*(f"functools._from_{asked}.__{made}__" for made in _SIGNS for asked in _SIGNS if made != asked))
def ordered(arguments: Arguments, machine: Machine) -> Value:
    """What a class is asked that has another method for the order; where that does not say enough, whether both are
    equal."""
    owner, _, name = arguments.function.rpartition(".")
    made, asked = name.strip("_"), owner.removeprefix("functools._from_")
    receiver, other = arguments.positional
    method = machine.get_attribute(machine.class_of(receiver), f"__{asked}__")  # of a classmethod, bound to the class
    found = machine.call(method, (receiver, other))
    if found == NOT_IMPLEMENTED:
        return found
    truth = machine.truth(found)
    if truth is None or (isinstance(found, Choice) and NOT_IMPLEMENTED in found.alternatives):
        return machine.unknown("which of two comes first is not known", found)
    is_turned = made[0] != asked[0]  # "lt" of "gt"
    holds = truth is not is_turned
    if is_turned and made[1] != asked[1]:
        return TRUE if holds else FALSE
    if holds is (made[1] == "e"):
        return found if holds and not is_turned else TRUE if holds else FALSE
    return machine.compare("==" if made[1] == "e" else "!=", receiver, other)


@models("functools._same")
def same(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]
