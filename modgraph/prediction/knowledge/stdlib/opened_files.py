"""Data files that a script opens, where they may be read: text that is known."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import FALSE, NONE, Constant, KnownClass, Value

_FILE = "io.<data file>"
"""A class that no source can name, which has no more than what is followed of a file."""
_TEXT = "<text>"
_READING = ("r", "rt", "rb")

known_class(_FILE)


def opened(machine: Machine, arguments: Arguments) -> Value | None:
    """The file that `open` gives, where its path is known and the machine may read it."""
    path, mode = arguments.get(0, "file", NONE), arguments.get(1, "mode", Constant("r"))
    if machine.data_of is None or not isinstance(path, Constant) or not isinstance(path.value, str):
        return None
    if not isinstance(mode, Constant) or mode.value not in _READING:
        return None
    text = machine.data_of(path.value)
    return None if text is None else machine.allocate(InstanceObject(KnownClass(_FILE), {_TEXT: Constant(text)}))


def text_of(machine: Machine, stream: Value) -> Value:
    """The text of such a file; anything else as it is."""
    item = machine.state.find(stream, InstanceObject)
    return item.attributes[_TEXT] if item is not None and item.cls == KnownClass(_FILE) else stream


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
    if len(arguments.positional) > 1 or arguments.keywords:
        return machine.unknown("reading a part of a file is not followed")
    return text_of(machine, arguments.positional[0])
