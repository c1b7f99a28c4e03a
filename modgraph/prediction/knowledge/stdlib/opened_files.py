"""Data files that a script opens, where they may be read: text that is known."""

from __future__ import annotations

from modgraph.prediction.code.file_effects import READING
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import FALSE, NONE, Address, Constant, KnownClass, Value

_FILE = "io.<data file>"
"""A class that no source can name, which has no more than what is followed of a file."""
_TEXT = "<text>"
_IN_PART = ("readline", "readlines", "seek", "tell", "__iter__", "__next__", "truncate", "detach", "reconfigure")

known_class(_FILE)


def opened(machine: Machine, arguments: Arguments) -> Value | None:
    """The file that `open` gives, where its path is known and the machine may read it."""
    path, mode = arguments.get(0, "file", NONE), arguments.get(1, "mode", Constant("r"))
    if machine.data_of is None or not isinstance(path, Constant) or not isinstance(path.value, str):
        return None
    if not isinstance(mode, Constant) or mode.value not in READING or machine.file_changes.may_touch(path.value):
        return None
    text = machine.data_of(path.value)
    return None if text is None else machine.allocate(InstanceObject(KnownClass(_FILE), {_TEXT: Constant(text)}))


def text_of(machine: Machine, stream: Value) -> Value:
    """The text of such a file, all of which is read by that, the first time and alone; anything else as it is."""
    item = machine.state.find(stream, InstanceObject)
    if item is None or item.cls != KnownClass(_FILE):
        return stream
    text, why = item.attributes[_TEXT], machine.unknown("what is left of a file is not followed")
    _lose(machine, stream)
    return why if item.open is not None else text


def _lose(machine: Machine, stream: Value) -> None:
    """What is read of it from here on is not known."""
    assert isinstance(stream, Address)
    why = machine.unknown("what is left of a file is not followed")
    machine.state.change(stream, InstanceObject).attributes[_TEXT] = why


@models(f"{_FILE}.__enter__")
def enter(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


@models(f"{_FILE}.__exit__")
def leave(arguments: Arguments, machine: Machine) -> Value:
    return FALSE


@models(f"{_FILE}.close")
def close(arguments: Arguments, machine: Machine) -> Value:
    return NONE


@models(f"{_FILE}.read")
def read(arguments: Arguments, machine: Machine) -> Value:
    """All of it, the first time and alone."""
    if len(arguments.positional) > 1 or arguments.keywords or arguments.open is not None:
        return in_part(arguments, machine)
    return text_of(machine, arguments.positional[0])


@models(*(f"{_FILE}.{name}" for name in _IN_PART))
def in_part(arguments: Arguments, machine: Machine) -> Value:
    """Where it stands afterwards is not followed."""
    _lose(machine, arguments.positional[0])
    machine.may_fail()
    return machine.unknown("reading a part of a file is not followed")
