"""What `inspect` says of a class or module as a whole: its order of bases, and its members."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject
from modgraph.prediction.domain.registry import (
    models,
)
from modgraph.prediction.domain.values import (
    FALSE,
    TRUE,
    Choice,
    Constant,
    KnownClass,
    KnownFunction,
    ModuleReference,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python.plain import number_unknown


@models("inspect.getmro")
def getmro(arguments: Arguments, machine: Machine) -> Value:
    cls = arguments.get(0, "cls", Constant(None))
    if isinstance(cls, (Unknown, Choice)):
        return machine.unknown("its class is not known", cls)
    return machine.get_attribute(cls, "__mro__")


@models("inspect.getmembers")
def getmembers(arguments: Arguments, machine: Machine) -> Value:
    """Of a module; what an object or class has besides its own attributes is not listed."""
    of = arguments.get(0, "object", Constant(None))
    if not isinstance(of, ModuleReference):
        return machine.unknown("the members of an object are not listed", of)
    names = machine.allocate(DictObject())
    machine.call(KnownFunction("builtins.exec"), (Constant(_MEMBERS), names))
    predicate = arguments.get(1, "predicate", Constant(None))
    found = machine.call(machine.get_item(names, Constant("members")), (of, predicate))
    return machine.unknown("a module's own __names__ are among its members") if found == Constant(None) else found


_MEMBERS = """
def members(of, predicate):
    for own in ("__name__", None, {}, object()):
        if not predicate or predicate(own):
            return None
    found = []
    for name in dir(of):
        value = getattr(of, name)
        if predicate(value):
            found.append((name, value))
    return found
"""
"""Source: `inspect.getmembers`. The names of `dir` are in order, without those that every module has: these are texts,
None, dicts, and objects that are neither class nor function."""


@models("inspect.isfunction", "inspect.ismethod", "inspect.ismodule", "inspect.isbuiltin", "inspect.isroutine")
def is_kind(arguments: Arguments, machine: Machine) -> Value:
    kind = {
        "isfunction": "builtins.function",
        "ismethod": "builtins.method",
        "ismodule": "builtins.module",
        "isbuiltin": "builtins.builtin_function_or_method",
    }.get(last_name(arguments.function))
    kinds = (KnownClass(kind),) if kind else _ROUTINES
    verdict = machine.is_instance(arguments.positional[0], TupleValue(kinds))
    if verdict is None:
        return number_unknown(machine, "its class is not known", arguments.positional[0])
    return Constant(verdict)


_ROUTINES = tuple(KnownClass(f"builtins.{name}") for name in ("function", "method", "builtin_function_or_method"))


@models("inspect.isclass")
def is_class(arguments: Arguments, machine: Machine) -> Value:
    verdict = machine.is_instance(arguments.positional[0], KnownClass("builtins.type"))
    if verdict is None:
        return number_unknown(machine, "it is not known whether this is a class", arguments.positional[0])
    return TRUE if verdict else FALSE
