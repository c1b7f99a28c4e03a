"""Members of an Enum of strings where text is asked for: each is the text that is its value."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.values import NONE, EnumMember, KnownClass, Value


def as_text(machine: Machine, value: Value) -> Value:
    """The text that a member of an Enum of strings is; any other value as it is."""
    if not isinstance(value, EnumMember) or KnownClass("builtins.str") not in machine.mro(value.cls):
        return value
    return value.value


def text_given(arguments: Arguments, machine: Machine, name: str = "name") -> Value:
    """The second argument, after the receiver, where it is to be text."""
    return as_text(machine, arguments.get(1, name, NONE))
