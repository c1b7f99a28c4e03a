"""`_non_persistent_buffers_set`: the names that a module leaves out of its state dict, as a set that writes through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import VIEW_OF, ModuleObject, SetObject, TensorObject
from modgraph.prediction.domain.values import Address, Choice, Constant, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

PERSISTENT = "persistent"
"""The attribute by which an nn.Buffer says whether it is in the state dict of the module that it is registered with."""


def view(machine: Machine, owner: Address) -> Value:
    """The set of a module; what is changed in it is changed in the module."""
    module = machine.state.find(owner, ModuleObject)
    assert module is not None
    certain: dict[Value, None] = {Constant(name): None for name, known in module.non_persistent.items() if known}
    unsure = any(known is None for known in module.non_persistent.values())
    why = machine.unknown("which buffers are persistent is not known") if unsure else None
    return machine.allocate(SetObject(certain, why, attributes={VIEW_OF: owner}))


def replace(machine: Machine, owner: Address, given: Value) -> None:
    """The module's set is another one from now on."""
    if not isinstance(given, Address) or machine.state.find(given, SetObject) is None:
        machine.expose([owner], machine.unknown("which buffers are persistent is not known", given))
        return
    names = machine.state.change(given, SetObject)
    before = names.attributes.get(VIEW_OF)
    if (
        isinstance(before, Address) and before != owner
    ):  # that of another module: what is done to either is done to both
        for each in (owner, before):
            module = machine.state.change(each, ModuleObject)
            module.non_persistent = dict.fromkeys(module.buffers)
        return
    names.attributes[VIEW_OF] = owner
    write_back(machine, names)


def write_back(machine: Machine, names: SetObject) -> None:
    """What a method has changed in the set of a module is changed in the module; other sets stand for themselves."""
    owner = names.attributes.get(VIEW_OF)
    if isinstance(owner, Address):
        module = machine.state.change(owner, ModuleObject)
        module.non_persistent = dict.fromkeys(module.buffers) if names.open is not None else {}
        module.non_persistent.update({str(name.value): True for name in names.items if isinstance(name, Constant)})


def of_assigned(machine: Machine, module: ModuleObject, name: str, value: Value) -> tuple[Value, bool]:
    """Whether a tensor that is assigned to the name of a buffer is in the state dict from then on, and whether that is
    for nn.Buffer to say, of any of those that it may be. Source: `torch.nn.Module.__setattr__`."""
    unsure = machine.unknown("it is not known whether the buffer is persistent")
    alternatives = value.alternatives if isinstance(value, Choice) else (value,)
    tensors = [machine.state.find(each, TensorObject) for each in alternatives]
    buffers = [tensor for tensor in tensors if tensor is not None and tensor.is_buffer]
    found = {machine.truth(tensor.attributes.get(PERSISTENT, unsure)) for tensor in buffers}
    if found:
        persistent = next(iter(found)) if len(found) == 1 else None
    else:
        transient = module.non_persistent.get(name, False)
        persistent = None if transient is None else not transient
    return unsure if persistent is None else Constant(persistent), bool(found)
