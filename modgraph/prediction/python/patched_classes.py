"""Attributes that a project sets on classes that are not its own: `torch.nn.Module.extra = function`.

They are kept where names of modules are, by the class's name: each state has its own.
"""

from __future__ import annotations

from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.values import OPEN, KnownClass, Unknown, Value, remaining


def may_have(machine: Machine, name: str) -> bool:
    """A class may have an attribute of that name that its source does not give it."""
    patched = machine.caches.patched
    return bool(patched) and (name in patched or OPEN in patched)


def put(machine: Machine, cls: KnownClass, name: str, new: Value) -> None:
    """It is given, or where `new` is DELETED loses, an attribute."""
    machine.state.globals[_key(cls, name)] = new
    machine.caches.patched.add(name)


def put_unknown(machine: Machine, cls: KnownClass, why: Unknown) -> None:
    """setattr(cls, ?, value)."""
    put(machine, cls, OPEN, why)


def is_put(machine: Machine, cls: KnownClass, name: str) -> bool:
    return may_have(machine, name) and machine.state.bound(_key(cls, name)) is not None


def value(machine: Machine, cls: KnownClass, name: str) -> Value | None:
    """What it was given under that name; None where it was not, or where that is gone."""
    return remaining(machine.state.bound(_key(cls, name)))


def further(machine: Machine, cls: KnownClass) -> Value | None:
    """Why it may have an attribute of any name."""
    return machine.state.bound(_key(cls, OPEN)) if may_have(machine, OPEN) else None


def _key(cls: KnownClass, name: str) -> tuple[str, str]:
    return (f"<class {cls.name}>", name)
