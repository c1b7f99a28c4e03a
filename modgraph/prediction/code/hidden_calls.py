"""Layers of torch whose `forward` is known by what it gives, and calls other modules: where a run is followed, these
calls are to be told, and its source is run instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.events import Lost
from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.domain.values import ClassValue, FunctionValue, Value
from modgraph.prediction.paths import recording

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_LAYERS = "torch.nn.modules."


def instead(machine: Machine, name: str, arguments: Arguments) -> Value | None:
    """What the source of a layer's `forward` gives; None where it calls nothing, or there is no source."""
    module = machine.state.find(arguments.positional[0], ModuleObject) if arguments.positional else None
    is_special = _is_of_others(name) or _calls_what_is_patched(machine, name)
    if module is None or not (is_special or recording.PARAMETRIZED in module.modules):
        return None
    written = _source(machine, module, name)
    if written is None:
        why = f"what {last_name(name.rpartition('.')[0])} calls is not known: torch's source is not there"
        recording.add(machine, Lost(why, arguments.where))
        return None
    return machine.call(written, arguments.positional, arguments.keywords, arguments.where, arguments.open)


def _is_of_others(name: str) -> bool:
    return name.startswith(recording.MADE_OF_OTHERS) and name.endswith(".forward")


def _calls_what_is_patched(machine: Machine, name: str) -> bool:
    """The layer is torch's, and a function is given another value which torch's layers may call."""
    return name.startswith(_LAYERS) and any(each.count(".") in (1, 3) for each in machine.modules.patched)


def _source(machine: Machine, module: ModuleObject, name: str) -> FunctionValue | None:
    """The method of that name as its class has it in the source."""
    owner, _, method = name.rpartition(".")
    order = machine.mro(module.cls) if module.cls is not None else ()
    cls = next((base for base in order if isinstance(base, ClassValue) and base.name == owner), None)
    item = machine.state.class_at(cls.address) if cls is not None else None
    if cls is None or item is None or item.definition is None or method not in item.definition.statements:
        return None
    found = machine.class_namespace_entry(cls, item, method)
    return found if isinstance(found, FunctionValue) else None
