"""What is put in the place of a function of the standard library, where a script is followed to what it gives a class:
the library may call it wherever it would have called its own.
"""

from __future__ import annotations

from modgraph.prediction.domain import library_effects
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.values import Constant, KnownClass, KnownFunction, ModuleReference, Unknown, Value

_CALLED = ("__call__", "write", "flush")
"""Methods of an object that stands in the place of a function, or of a stream."""
_AT_THE_END = ("excepthook", "unraisablehook")
"""Functions that are called where the program ends by an exception."""


def note(machine: Machine, module: str, name: str, new: Value) -> None:
    """Of `module.name = new`."""
    path = f"{module}.{name}"
    if not library_effects.is_standard(path) or isinstance(new, Constant) or name in _AT_THE_END:
        return
    if library_effects.is_read_with(path):
        machine.file_changes.anything()
    if isinstance(new, (KnownFunction, KnownClass, Unknown)):
        other = new.library if isinstance(new, Unknown) else new.name
        if other and library_effects.is_standard(other) and not library_effects.only_looks(other):
            machine.file_changes.anything()
        return
    why = machine.unknown(f"what calls {path} is not followed")
    machine.may_be_called([new], why, _CALLED, later=True)


def note_names_of(machine: Machine, value: Value) -> None:
    """Of `module.__dict__`: what is put there is not followed."""
    module = value.name if isinstance(value, ModuleReference) else value.library if isinstance(value, Unknown) else ""
    if module and library_effects.is_read_with(f"{module}.__dict__"):
        machine.file_changes.anything()
