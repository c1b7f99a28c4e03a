"""random, where what it chooses from is known: one of the items, or all of them at places that are not known."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ListObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Address, Unknown, Value


@models("random.choice")
def random_choice(arguments: Arguments, machine: Machine) -> Value:
    items = machine.iterate(arguments.get(0, "seq", NONE)) if len(arguments.positional) == 1 else None
    if items == []:
        raise machine.raises("IndexError", "Cannot choose from an empty sequence")
    if not isinstance(items, list):
        return Unknown(f"depends on {arguments.function}", machine.where, inert=True)
    return machine.choice(items, f"depends on {arguments.function}")


@models("random.shuffle", "numpy.random.shuffle")
def shuffle(arguments: Arguments, machine: Machine) -> Value:
    """The same items, at places that are not known."""
    held = machine.state.find(arguments.positional[0], ListObject)
    if held is None or held.open is not None:
        machine.expose(arguments.positional, Unknown(f"depends on {arguments.function}", machine.where))
    elif held.items and isinstance(arguments.positional[0], Address):
        item = machine.choice(held.items, f"depends on {arguments.function}")
        machine.state.change(arguments.positional[0], ListObject).items = [item] * len(held.items)
    return NONE
