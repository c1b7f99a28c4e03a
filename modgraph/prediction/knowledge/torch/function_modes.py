"""Modes that answer in the place of torch's functions: `class Mine(TorchFunctionMode)`, `with Mine(): ...`."""

from __future__ import annotations

from modgraph.prediction.code.overrides import MODE
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, ClassValue, TupleValue, Value


@models("torch.overrides._push_mode")
def push(arguments: Arguments, machine: Machine) -> Value:
    """torch's own keep what its functions do."""
    mode = arguments.get(0, "mode", NONE)
    item = machine.state.find(mode, InstanceObject)
    own = item is None or (isinstance(item.cls, ClassValue) and not item.cls.name.startswith("torch."))
    machine.state.globals[MODE] = TupleValue((*_entered(machine), mode if own else NONE))
    return NONE


@models("torch.overrides._pop_mode")
def pop(arguments: Arguments, machine: Machine) -> Value:
    *left, last = _entered(machine) or (NONE,)
    machine.state.globals[MODE] = TupleValue(tuple(left))
    return last


def _entered(machine: Machine) -> tuple[Value, ...]:
    held = machine.state.globals.get(MODE, TupleValue(()))
    return held.items if isinstance(held, TupleValue) else (held,)
