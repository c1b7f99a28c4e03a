"""collections.UserDict and UserList, whose methods are followed as Python's own library has written them."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import KnownClass, Value
from modgraph.prediction.python.standard_sources import FOLLOWED

for _name, _base in FOLLOWED.items():
    known_class(_name, _base)


@models(*FOLLOWED)
def made(arguments: Arguments, machine: Machine) -> Value:
    instance = machine.allocate(InstanceObject(KnownClass(arguments.function)))
    machine.call(machine.get_attribute(instance, "__init__"), arguments.positional, arguments.keywords, arguments.where)
    return instance
