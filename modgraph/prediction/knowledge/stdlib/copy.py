"""The standard library's copy: copies of values, deep and shallow.

Source of all: `copy._deepcopy_dispatch`, `copy._reconstruct`.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Address, Choice, Unknown, Value
from modgraph.prediction.knowledge.tensors.tensor_memory import share


@models("copy.deepcopy")
def deep_copy(arguments: Arguments, machine: Machine) -> Value:
    value, memo = arguments.positional[0], arguments.get(1, "memo", NONE)
    if isinstance(memo, Choice):
        return machine.distribute(memo, lambda each: machine.copy_deep(value, each))
    return machine.copy_deep(value, memo)


@models("copy.copy")
def shallow_copy(arguments: Arguments, machine: Machine) -> Value:
    """A new object with the same contents. One of a module shares the stores of the original, by which either changes
    the other: both are left unknown."""
    value = arguments.positional[0]
    if not isinstance(value, Address):
        return value
    own = machine.class_attribute(machine.class_of(value), "__copy__")  # Python, too, asks the class alone
    if own not in (None, NONE) and not isinstance(own, Unknown):
        return machine.call(own, (value,))
    item = machine.state.read(value)
    why = machine.pickled_its_own_way(value)
    if why is None and isinstance(item, ModuleObject):
        why = machine.unknown("a shallow copy of a module shares what it registers with the original")
    if why is not None:
        machine.expose([value], why)
        return why
    found = machine.allocate(item.copy())
    share(machine, found, value)  # of a tensor, the elements stay where they are
    return found
