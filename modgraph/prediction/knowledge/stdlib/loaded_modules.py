"""Modules that are loaded: `sys.modules.get`, where what runs tells that one of them is, and the source of one."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject
from modgraph.prediction.domain.registry import LOADED_MODULES, models
from modgraph.prediction.domain.values import NONE, ClassValue, Constant, ModuleReference, Unknown, Value
from modgraph.source.modules import SourceError


@models("sys.modules.get")
def get(arguments: Arguments, machine: Machine) -> Value:
    key = arguments.get(0, "key", NONE)
    name = key.value if isinstance(key, Constant) else None
    if isinstance(name, str) and name in _certain(machine):
        return ModuleReference(name)
    return LOADED_MODULES


def _certain(machine: Machine) -> set[str]:
    """Modules of the functions that run, and of the classes of what these are methods of."""
    found: set[str] = set()
    for frame in machine.frames:
        if frame.function is None:
            continue
        found.add(frame.module)
        receiver = frame.receiver
        cls = receiver if receiver is None or isinstance(receiver, ClassValue) else machine.class_of(receiver)
        if isinstance(cls, ClassValue):
            for base in machine.mro(cls):
                item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
                if item is not None and item.definition is not None:
                    found.add(item.definition.module)
    return found


@models("inspect.getsource")
def get_source(arguments: Arguments, machine: Machine) -> Value:
    """Of a module; that of a function or class is not asked for by what builds models."""
    of = arguments.get(0, "object", NONE)
    source = machine.finder.source(of.name) if isinstance(of, ModuleReference) else None
    try:
        text = source.text if source is not None and source.index is not None else None  # of what is Python alone
    except SourceError:
        text = None
    return Constant(text) if text is not None else Unknown("inspect is not interpreted", None, inert=True)
