"""Whether a limit has kept a constructor from being followed, told from what it left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, IteratorObject, ListObject, ModuleObject, SetObject
from modgraph.prediction.domain.values import Address, Choice, TupleValue, Unknown, Value
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.entry import Prediction

MAX_HELD = 2_000
"""Containers that are looked at, and items of each."""
_CONTAINERS = (ListObject, DictObject, SetObject, IteratorObject)


def limit_reached(prediction: Prediction) -> str | None:
    """The reason that names a limit, where one has ended the constructor or leaves open what the module holds."""
    machine, root = prediction.machine, prediction.root
    reasons = [] if prediction.failure is None else [prediction.failure.reason]
    reasons += [each.reason for each in machine.state.problems]
    module = machine.state.find(root, ModuleObject)
    if module is not None:
        held = (module.attributes, module.modules, module.parameters, module.buffers)
        reasons += _open_in(machine, [each for values in held for each in values.values()])
    return next((str(each) for each in reasons if isinstance(each, Reached)), None)


def _open_in(machine: Machine, values: Iterable[Value]) -> Iterator[str]:
    """Why some of these values, and of what the containers among them hold, are not known."""
    pending, seen = list(values), set[int]()
    while pending and len(seen) < MAX_HELD:
        value = pending.pop()
        if isinstance(value, Unknown):
            yield value.reason
        elif isinstance(value, Choice):
            pending.extend(value.alternatives)
        elif isinstance(value, TupleValue):
            pending.extend(value.items[:MAX_HELD])
        elif isinstance(value, Address) and value.index not in seen:
            seen.add(value.index)
            found = machine.state.read(value)
            why = getattr(found, "open", None)
            if isinstance(found, _CONTAINERS) and isinstance(why, Unknown):
                yield why.reason
            if isinstance(found, ListObject):
                pending.extend(found.items[:MAX_HELD])
            elif isinstance(found, DictObject):
                pending.extend(islice(found.entries.values(), MAX_HELD))
