"""The class of a tensor, said after it was made: `__class__ = `, `as_subclass`, the call of a subclass."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Address, Choice, KnownClass, Unknown, Value
from modgraph.prediction.python.classes import PARAMETER, TENSOR

_OWN = (KnownClass(TENSOR), KnownClass(PARAMETER))


def set_class(machine: Machine, value: Value, cls: Value) -> None:
    """`tensor.__class__ = cls`, which makes a parameter of it or none."""
    if not isinstance(value, Address) or machine.state.find(value, TensorObject) is None:
        return
    tensor, order = machine.state.change(value, TensorObject), machine.mro(cls)
    known = not any(isinstance(base, (Unknown, Choice)) for base in order)
    tensor.cls = None if cls in _OWN else cls
    tensor.is_parameter = KnownClass(PARAMETER) in order if known else None


@models(f"{TENSOR}.as_subclass")
def as_subclass(arguments: Arguments, machine: Machine) -> Value:
    found = machine.call(machine.get_attribute(arguments.positional[0], "alias"))
    set_class(machine, found, arguments.get(1, "cls", NONE))
    return found
