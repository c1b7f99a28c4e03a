"""random, where what it chooses from is known: one of the items, or all of them at places that are not known."""

from __future__ import annotations

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ListObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Address, Constant, TupleValue, Unknown, Value

MAX_DRAWN = 64
"""Items that are listed one by one; of more, it is one of them each time."""


@models("random.choice")
def random_choice(arguments: Arguments, machine: Machine) -> Value:
    items = machine.iterate(arguments.get(0, "seq", NONE)) if len(arguments.positional) == 1 else None
    if items == []:
        raise machine.raises("IndexError", "Cannot choose from an empty sequence")
    if not isinstance(items, list):
        return _one_of(machine, arguments)
    return machine.choice(items, f"depends on {arguments.function}")


def _one_of(machine: Machine, arguments: Arguments) -> Unknown:
    """An item, or some of them, of what is given, where it is not known what these are."""
    why = Unknown(f"depends on {arguments.function}", machine.where, inert=True)
    given = (*arguments.positional, *arguments.keywords.values())
    held = (arguments.open,) if arguments.open is not None else ()
    return points_to.read(machine, why, [*given, *held])


@models("random.choices", "random.sample")
def drawn(arguments: Arguments, machine: Machine) -> Value:
    """So many items, at places that are not known."""
    machine.may_fail()
    place = 2 if arguments.function.endswith("choices") else 1
    source = arguments.get(0, "population", NONE)
    count = arguments.get(place, "k", Constant(1 if place == 2 else None))
    held = machine.state.find(source, ListObject)
    items = list(source.items) if isinstance(source, TupleValue) else held.items if held is not None else []
    is_known = items and (held is None or held.open is None) and arguments.open is None
    if not is_known or not isinstance(count, Constant) or type(count.value) is not int or count.value > MAX_DRAWN:
        return _one_of(machine, arguments)
    item = machine.choice(items, f"depends on {arguments.function}")
    return machine.allocate(ListObject([item] * count.value))


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
