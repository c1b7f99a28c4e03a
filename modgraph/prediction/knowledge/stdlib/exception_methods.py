"""What exceptions do themselves: their constructor, notes."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject, ListObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Address, KnownClass, TupleValue, Unknown, Value
from modgraph.prediction.python import classes

BASE = "builtins.BaseException"


_WITH_KEYWORDS = tuple(f"builtins.{name}" for name in ("ImportError", "AttributeError", "NameError"))


@models(f"{BASE}.__init__")
def initialise(arguments: Arguments, machine: Machine) -> Value:
    """It keeps what it is given, in place of what the class was called with."""
    receiver, *given = arguments.positional
    cls = machine.class_of(receiver)
    if arguments.keywords and not any(
        isinstance(base, Unknown) or (isinstance(base, KnownClass) and base.name in _WITH_KEYWORDS)
        for base in machine.mro(cls)
    ):
        raise machine.raises("TypeError", f"{classes.short_name(cls)}() takes no keyword arguments")
    if isinstance(receiver, Address) and machine.state.find(receiver, InstanceObject) is not None:
        held = arguments.open or TupleValue(tuple(given))
        machine.state.change(receiver, InstanceObject).attributes["args"] = held
    return NONE


@models(f"{BASE}.with_traceback")
def with_traceback(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


@models(f"{BASE}.add_note")
def add_note(arguments: Arguments, machine: Machine) -> Value:
    """The list of notes is there from the first one on."""
    receiver = arguments.positional[0]
    if machine.find_attribute(receiver, "__notes__") is None:
        machine.set_attribute(receiver, "__notes__", machine.allocate(ListObject()))
    machine.call(
        machine.get_attribute(machine.get_attribute(receiver, "__notes__"), "append"), arguments.positional[1:]
    )
    return NONE
