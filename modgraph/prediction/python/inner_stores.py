"""What `module.__dict__` holds besides the attributes that were assigned: torch's stores, `_modules` and its like.

Source: `torch.nn.Module.__init__`, which sets them in this order behind `training`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import (
    VIEW_OF,
    VIEW_STORE,
    DictObject,
    HeapObject,
    ModuleObject,
    ViewObject,
)
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    Constant,
    KnownClass,
    PropertyValue,
    Unknown,
    Value,
)
from modgraph.prediction.python import torch_names

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

IS_FULL = "_is_full_backward_hook"
"""Of which kind the hooks of a module are that run with backward; None where it has none."""
NAMES = (
    *("_parameters", "_buffers", "_non_persistent_buffers_set", "_backward_pre_hooks", "_backward_hooks"),
    *(IS_FULL, "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
    *("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks"),
    *("_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_modules"),
)
_NAMES = frozenset(NAMES)


def whole(machine: Machine, owner: Address, attributes: Mapping[str, Value]) -> Mapping[str, Value]:
    """The `__dict__` of an object, of which these are the attributes that were assigned."""
    module = machine.state.find(owner, ModuleObject)
    return attributes if module is None or module.initialised is False else _Whole(machine, owner, attributes)


def why_more(machine: Machine, item: HeapObject) -> Unknown | None:
    """Why the `__dict__` of a module may hold other things than `whole` shows."""
    if not isinstance(item, ModuleObject) or item.initialised is False:
        return None
    if item.initialised is None:
        return machine.unknown("it is not known whether Module.__init__ has run")
    further = [name for name in torch_names.held(machine, item.cls) if name not in item.attributes]
    return machine.unknown(f"what torch keeps as {further[0]} is not modelled") if further else None


class _Whole(Mapping[str, Value]):
    """Values are made when they are asked for."""

    def __init__(self, machine: Machine, owner: Address, attributes: Mapping[str, Value]) -> None:
        self.machine = machine
        self.owner = owner
        self.attributes = attributes

    def __getitem__(self, name: str) -> Value:
        if name in self.attributes or name not in _NAMES:
            return self.attributes[name]
        if name == IS_FULL:
            return NONE
        kept = _kept(self.machine, self.owner, name)
        if kept is not None and not isinstance(kept, Unknown):
            return kept
        why = Unknown(f"{name} of a module is not followed", self.machine.where, inert=True)
        shown = DictObject({}, why, KnownClass("collections.OrderedDict"), {_HOOKS_OF: self.owner})
        return self.machine.allocate(shown)

    def __contains__(self, name: object) -> bool:
        return name in _NAMES or name in self.attributes

    def __iter__(self) -> Iterator[str]:
        own = [name for name in self.attributes if name not in _NAMES]
        at = own.index("training") + 1 if "training" in own else 0
        return iter((*own[:at], *NAMES, *own[at:]))

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def __len__(self) -> int:
        return len(_NAMES.union(self.attributes))


def is_there(machine: Machine, owner: Address, key: Constant, new: Value) -> bool:
    """What is put under a name of torch's is what the module has there, as where its own `__dict__` is put into it."""
    module = machine.state.find(owner, ModuleObject)
    if key.value not in _NAMES or module is None or key.value in module.attributes:
        return False
    shown = getattr(machine.state.read(new), "attributes", {}) if isinstance(new, Address) else {}
    return (key.value == IS_FULL and new == NONE) or owner in (
        shown.get(each) for each in ("module", VIEW_OF, _HOOKS_OF)
    )


_HOOKS_OF = "<hooks of>"
"""Attribute of a dict that stands for hooks which are not followed: the module."""


def _kept(machine: Machine, owner: Address, name: str) -> Value | None:
    """What is known of it stands beside the methods."""
    module = machine.state.read(owner)
    kept = machine.class_attribute(module.cls, name) if isinstance(module, ModuleObject) else None
    return machine.call(kept.getter, (owner,)) if isinstance(kept, PropertyValue) else None


def entry(machine: Machine, mapping: ViewObject, key: Constant) -> Value | None:
    """The entry of that key in the `__dict__` of an instance; None where there is none."""
    owner = mapping.attributes.get(VIEW_OF)
    if isinstance(owner, Address) and mapping.attributes.get(VIEW_STORE) == Constant("attributes"):
        module = machine.state.find(owner, ModuleObject)
        if key.value in _NAMES and module is not None and module.initialised and key.value not in module.attributes:
            kept = _kept(machine, owner, str(key.value))
            if kept is not None:
                return kept
    return mapping.peek(key)


def is_one(machine: Machine, owner: Address, key: Constant) -> bool:
    """Under that key, a module has what it registers."""
    return key.value in _STORES and machine.state.find(owner, ModuleObject) is not None


_STORES = ("_modules", "_parameters", "_buffers", "_non_persistent_buffers_set")
