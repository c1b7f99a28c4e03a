"""What an exception holds besides its `args`: its cause, what was handled when it was raised, its text."""

from __future__ import annotations

from modgraph.prediction.domain import points_to, registry
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.values import NONE, TRUE, Address, Constant, KnownClass, TupleValue, Value
from modgraph.prediction.paths.guards import Guard

_FIRST = {"value": "builtins.StopIteration", "code": "builtins.SystemExit"}
_NOT_FOLLOWED = frozenset({"__context__", "__suppress_context__", "__traceback__"})
_RUNTIME_ERROR = KnownClass("builtins.RuntimeError")


def exactly(machine: Machine, name: str, message: str) -> Raised:
    """One whose text is that of Python to the letter."""
    return machine.raises(name, message, (Constant(message),))


def as_python(machine: Machine, error: Exception) -> Raised:
    """What Python has raised when it was asked for the very same: of the same class, whatever module that is of."""
    return exactly(machine, registry.raised_class(type(error)), str(error))


def unbound(machine: Machine, name: str) -> Raised:
    message = f"cannot access local variable '{name}' where it is not associated with a value"
    return exactly(machine, "UnboundLocalError", message)


def text_without_effects(machine: Machine, value: Value) -> str | None:
    """str(value) for a message that only we make: Python keeps the object, and calls no `__str__` of it before it is
    asked for."""
    if isinstance(value, Constant):
        return machine.string(value)
    before, depth, frames = machine.state, machine.depth, len(machine.frames)
    machine.state = before.fork()
    machine.guards.append(Guard())
    try:
        return machine.string(value)
    except Raised:
        del machine.frames[frames:]
        machine.depth = depth
        return None
    finally:
        machine.guards.pop()
        machine.state = before


def attribute(machine: Machine, item: InstanceObject, name: str) -> Value | None:
    """What Python keeps with every exception, where nothing was set; None for other attributes and objects."""
    arguments = item.attributes.get("args")
    if not isinstance(arguments, TupleValue) or not _is_one(machine, item):
        return None
    if name in _FIRST and KnownClass(_FIRST[name]) in machine.mro(item.cls):
        if name == "code" and len(arguments.items) > 1:
            return arguments
        return arguments.items[0] if arguments.items else NONE
    if name == "__cause__" and item.open is None and item.cls != _RUNTIME_ERROR:
        return NONE
    if (
        name in _NOT_FOLLOWED or name == "__cause__"
    ):  # a generator that lets StopIteration through gives RuntimeError one
        return machine.unknown(f"{name} of an exception is not followed")
    return None


def _is_one(machine: Machine, item: InstanceObject) -> bool:
    return KnownClass("builtins.BaseException") in machine.mro(item.cls)


def keep_context(machine: Machine, exception: Value) -> None:
    """An exception is raised: where others are handled, one of them becomes its context, the last as a rule."""
    handled = [frame.handling.exception for frame in machine.frames if frame.handling is not None]
    if not handled or not isinstance(exception, Address) or machine.state.find(exception, InstanceObject) is None:
        return
    why = points_to.either_of(machine.unknown("__context__ of an exception is not followed"), handled)
    machine.state.change(exception, InstanceObject).attributes["__context__"] = why


def keep_cause(machine: Machine, exception: Value, cause: Value) -> None:
    """`raise exception from cause`."""
    if isinstance(exception, Address) and machine.state.find(exception, InstanceObject) is not None:
        attributes = machine.state.change(exception, InstanceObject).attributes
        attributes["__cause__"], attributes["__suppress_context__"] = cause, TRUE
