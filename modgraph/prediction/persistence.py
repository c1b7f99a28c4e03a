"""`_non_persistent_buffers_set`: the names that a module leaves out of its state dict, as a set that writes through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.objects import VIEW_OF, ModuleObject, SetObject, TensorObject
from modgraph.prediction.values import Address, Choice, Constant, Value

if TYPE_CHECKING:
    from modgraph.prediction.knowledge.registry import Machine


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
    alternatives = value.alternatives if isinstance(value, Choice) else (value,)
    tensors = [machine.state.find(each, TensorObject) for each in alternatives]
    found = {tensor.persistent for tensor in tensors if tensor is not None and tensor.is_buffer}
    if found:
        persistent = next(iter(found)) if len(found) == 1 else None
    else:
        transient = module.non_persistent.get(name, False)
        persistent = None if transient is None else not transient
    unsure = machine.unknown("it is not known whether the buffer is persistent")
    return unsure if persistent is None else Constant(persistent), bool(found)
