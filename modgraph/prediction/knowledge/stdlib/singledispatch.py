"""functools.singledispatch: functions by the class of their first argument."""

from __future__ import annotations

from typing import cast

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, InstanceObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    PartialValue,
    Unknown,
    Value,
)
from modgraph.source import nodes

_DISPATCHER = "functools._SingleDispatchCallable"

known_class(_DISPATCHER)


@models("functools.singledispatch")
def single_dispatch(arguments: Arguments, machine: Machine) -> Value:
    function = arguments.get(0, "func", NONE)
    table = machine.allocate(DictObject({KnownClass("builtins.object"): function}))
    attributes = {"registry": table, "__wrapped__": function}
    return machine.allocate(InstanceObject(KnownClass(_DISPATCHER), attributes))


def _table(machine: Machine, dispatcher: Value) -> Address:
    found = machine.state.find(dispatcher, InstanceObject)
    assert found is not None
    return cast("Address", found.attributes["registry"])


@models(f"{_DISPATCHER}.register")
def register(arguments: Arguments, machine: Machine) -> Value:
    """`register(cls, function)`, `@register(cls)`, or `@register` of a function whose parameter says the class."""
    receiver, given = arguments.positional[0], arguments.get(1, "cls", NONE)
    function = arguments.get(2, "func", NONE)
    if function == NONE:
        if not isinstance(given, FunctionValue):
            return PartialValue(KnownFunction(f"{_DISPATCHER}.register"), (receiver, given))
        function, given = given, _annotated(machine, given)
    table = _table(machine, receiver)
    if isinstance(given, (ClassValue, KnownClass)):
        machine.set_item(table, given, function)
    else:
        machine.state.change(table, DictObject).open = machine.unknown("the class of a dispatch is not known", given)
    return function


def _annotated(machine: Machine, function: FunctionValue) -> Value:
    node = function.definition.node
    parameters = [*node.params.posonly_params, *node.params.params]
    annotation = next((each.annotation for each in parameters if each.annotation is not None), None)
    name = nodes.dotted(annotation) if annotation is not None else None
    if name is None:
        return machine.unknown("the class of a dispatch is not known")
    found = machine.resolve(f"{function.definition.module}.{name}")
    return machine.resolve(f"builtins.{name}") if isinstance(found, Unknown) else found


@models(f"{_DISPATCHER}.dispatch")
def dispatch(arguments: Arguments, machine: Machine) -> Value:
    """The function for a class; of classes that both fit, the one that comes first in the MRO. Where the class is not
    known, any of the functions may be the one."""
    table = machine.state.find(_table(machine, arguments.positional[0]), DictObject)
    assert table is not None
    for cls in machine.mro(arguments.positional[1]):
        if isinstance(cls, Unknown):
            return _any_of(machine, table, cls)
        if cls in table.entries and not (table.open is not None and cls == KnownClass("builtins.object")):
            return table.entries[cls]
    return table.open or machine.unknown("the class of a dispatch is not known")


def _any_of(machine: Machine, table: DictObject, cls: Unknown) -> Value:
    functions = list(dict.fromkeys(table.entries.values()))
    if table.open is None:
        return machine.choice(functions, "the class of a dispatch is not known")
    return points_to.either_of(table.open, [*functions, cls])


@models(f"{_DISPATCHER}.__call__")
def call(arguments: Arguments, machine: Machine) -> Value:
    receiver, *given = arguments.positional
    if not given:
        raise machine.raises("TypeError", "a dispatched function requires at least 1 positional argument")

    def with_one(subject: Value) -> Value:
        function = dispatch(Arguments("dispatch", (receiver, machine.class_of(subject))), machine)
        return machine.call(function, (subject, *given[1:]), arguments.keywords, arguments.where)

    return machine.distribute(given[0], with_one) if isinstance(given[0], Choice) else with_one(given[0])


_METHOD = """
import functools
class Dispatched:
    def __init__(self, func):
        self.func = func
        self.dispatcher = functools.singledispatch(func)
    def register(self, cls, method=None):
        return self.dispatcher.register(cls, func=method)
    def __get__(self, instance, owner=None):
        @functools.wraps(self.func)
        def called(*args, **keywords):
            chosen = self.dispatcher.dispatch(type(args[0]))
            return chosen.__get__(instance, owner)(*args, **keywords)
        return called
"""
"""What functools.singledispatchmethod does; the class of the argument after `self` decides."""


@models("functools.singledispatchmethod")
def single_dispatch_method(arguments: Arguments, machine: Machine) -> Value:
    names = machine.allocate(DictObject())
    machine.call(KnownFunction("builtins.exec"), (Constant(_METHOD), names))
    return machine.call(machine.get_item(names, Constant("Dispatched")), arguments.positional, arguments.keywords)
