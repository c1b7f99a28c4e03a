"""What `module.__dict__` holds besides the attributes that were assigned: torch's stores, `_modules` and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import VIEW_OF, VIEW_STORE, ModuleObject, ViewObject
from modgraph.prediction.domain.values import Address, Constant, PropertyValue, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def entry(machine: Machine, mapping: ViewObject, key: Constant) -> Value | None:
    """The entry of that key in the `__dict__` of an instance; None where there is none."""
    found = mapping.peek(key)
    owner = mapping.attributes.get(VIEW_OF)
    shown = mapping.attributes.get(VIEW_STORE)
    if found is not None or not isinstance(owner, Address) or shown != Constant("attributes"):
        return found
    if not isinstance(key.value, str) or not key.value.startswith("_"):
        return None
    module = machine.state.find(owner, ModuleObject)
    if module is None or not module.initialised:
        return None
    kept = machine.class_attribute(module.cls, key.value)  # what is known of it stands beside the methods
    return machine.call(kept.getter, (owner,)) if isinstance(kept, PropertyValue) and _is_of_torch(key.value) else None


def is_one(machine: Machine, owner: Address, key: Constant) -> bool:
    """Under that key, a module has what it registers."""
    return key.value in _STORES and machine.state.find(owner, ModuleObject) is not None


def _is_of_torch(name: str) -> bool:
    return name in _STORES or name.endswith("_hooks")


_STORES = ("_modules", "_parameters", "_buffers", "_non_persistent_buffers_set")
"""Source: `torch.nn.Module.__init__`."""
