"""Which texts are one object: those that stand in a source and look like a name, each of which CPython keeps once
(`all_name_chars` in its `Objects/codeobject.c`); what is computed is a new object, though it may be equal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from modgraph.prediction.domain.values import Constant, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_LIKE_A_NAME = re.compile(r"[A-Za-z0-9_]+")


def kept(machine: Machine, literal: Any) -> Any:
    """The value of a literal, each text in it that looks like a name being the one object that there is of it."""
    if type(literal) is str:
        found = machine.caches.literal_texts.get(literal)
        if found is None and _LIKE_A_NAME.fullmatch(literal):
            # An object of its own, that no text is which is computed here, and interned by the Python that runs.
            found = machine.caches.literal_texts[literal] = f"{literal} "[:-1]
        return found or literal
    if type(literal) in (tuple, list, set):
        return type(literal)(kept(machine, each) for each in literal)
    if type(literal) is dict:
        return {kept(machine, key): kept(machine, each) for key, each in literal.items()}
    return literal


def is_kept(machine: Machine, value: Value) -> bool:
    """It is such a text, passed along from where it stands."""
    return (
        type(value) is Constant
        and type(value.value) is str
        and machine.caches.literal_texts.get(value.value) is value.value
    )


def computed(machine: Machine, value: Value) -> bool:
    """It equals such a text, and may be another object."""
    if type(value) is not Constant or type(value.value) is not str:
        return False
    return machine.caches.literal_texts.get(value.value, value.value) is not value.value
