"""What `inspect` says of a class or module as a whole: its order of bases, and its members."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import Choice, Constant, KnownFunction, ModuleReference, Unknown, Value


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
