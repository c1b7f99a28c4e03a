"""Module.load_state_dict: which keys and shapes it refuses, what is overwritten, and the hooks around it.

Source: `torch.nn.Module.load_state_dict`, `torch.nn.Module._load_from_state_dict`.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, ListObject, ModuleObject, SetObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    FALSE,
    MODULE,
    NONE,
    TRUE,
    Address,
    Constant,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.tensors.tensor_memory import overwrite
from modgraph.prediction.knowledge.torch import state_dicts
from modgraph.prediction.knowledge.torch.walks import module_of, tensors, tensors_that_may_be, walk

_HELD = "<load hooks>"
"""Attribute of a module: each hook, and what it is given ("pre": all but the module, "module": that too, "post")."""
_ADDED_BY_TORCH = "num_batches_tracked"
"""A key that files of older versions lack, and that is then left as it is."""


@models(
    f"{MODULE}.register_load_state_dict_pre_hook",
    f"{MODULE}._register_load_state_dict_pre_hook",
    f"{MODULE}.register_load_state_dict_post_hook",
)
def register(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    hook, name = arguments.get(1, "hook", NONE), last_name(arguments.function)
    if not state_dicts.is_torchs_hook(machine, hook):
        kind = "post" if "post" in name else "pre" if name.startswith("_") else "module"
        if kind == "pre" and machine.truth(arguments.get(2, "with_module", FALSE)) is not False:
            kind = "module"
        held = module.attributes.get(_HELD, TupleValue(()))
        before = held.items if isinstance(held, TupleValue) else (held,)
        pair = TupleValue((hook, Constant(kind)))
        machine.state.change(address, ModuleObject).attributes[_HELD] = TupleValue((*before, pair))
    return Unknown("the handle of a hook", machine.where, inert=True)


@models(f"{MODULE}.load_state_dict")
def load(arguments: Arguments, machine: Machine) -> Value:
    """Overwrites what the tensors hold.

    Raises:
        Raised: RuntimeError, where keys or shapes certainly do not fit; TypeError, where no dict is given.
    """
    address, _ = module_of(machine, arguments)
    given = arguments.get(1, "state_dict", NONE)
    strict = machine.truth(arguments.get(2, "strict", TRUE))
    if isinstance(given, (Constant, TupleValue)) or any(
        machine.state.find(given, kind) is not None for kind in (ListObject, SetObject)
    ):
        raise machine.raises("TypeError", "Expected state_dict to be dict-like")
    mapping = machine.state.find(given, DictObject)
    if mapping is not None:  # hooks are given a copy
        given = machine.allocate(mapping.copy())
    hooked = _run_hooks(machine, address, given, ("pre", "module"))
    _require_fitting(machine, address, given, strict, hooked)
    if machine.truth(arguments.get(3, "assign", FALSE)) is not False:
        machine.expose(arguments.positional[:1], machine.unknown("load_state_dict puts other tensors in their place"))
    for store in ("parameters", "buffers"):
        for _, value in list(tensors(machine, address, store)):
            overwrite(machine, value)
        for each in tensors_that_may_be(machine, address, store):
            overwrite(machine, each)
    _run_hooks(machine, address, given, ("post",))
    return Unknown("Module.load_state_dict is not interpreted", machine.where, inert=True)


def _run_hooks(machine: Machine, address: Address, given: Value, kinds: tuple[str, ...]) -> bool:
    """Calls the hooks of a kind, of the module and of those below it, with what is not followed left unknown; whether
    there were any."""
    found = False
    below = [value for _, value in walk(machine, address)]
    for value in below if "post" not in kinds else reversed(below):
        module = machine.state.find(value, ModuleObject)
        held = module.attributes.get(_HELD) if module is not None else None
        for pair in held.items if isinstance(held, TupleValue) else ():
            if not isinstance(pair, TupleValue) or pair.items[1] not in [Constant(kind) for kind in kinds]:
                continue
            found = True
            why = machine.unknown("what a hook of load_state_dict is given is not followed")
            rest = (given, *(why for _ in range(6)))
            before: tuple[Value, ...] = () if pair.items[1] == Constant("pre") else (value,)
            machine.call(pair.items[0], (value, why) if kinds == ("post",) else (*before, *rest))
    return found


def _require_fitting(machine: Machine, address: Address, given: Value, strict: bool | None, hooked: bool) -> None:
    mapping = machine.state.find(given, DictObject)
    own: dict[Value, Value] = {}
    is_known = state_dicts.collect(machine, address, own) and not _loads_its_own(machine, address)
    if mapping is None or mapping.unsure or (hooked and not strict) or not is_known or strict is None:
        machine.may_refuse("RuntimeError")
        return
    missing = [_text(key) for key in own if key not in mapping.entries]
    certain = [key for key in missing if not key.endswith(_ADDED_BY_TORCH)]
    unexpected = [_text(key) for key in mapping.entries if key not in own]
    if strict and (certain or unexpected):
        what = f"Missing key(s): {certain}" if certain else f"Unexpected key(s) in state_dict: {unexpected}"
        if hooked:  # which may have said that these are no errors
            machine.problem(f"load_state_dict may raise RuntimeError: {what}")
            return
        raise machine.raises("RuntimeError", f"Error(s) in loading state_dict: {what}")
    if strict and missing:
        machine.may_refuse("RuntimeError")
    for key, value in own.items():
        tensor, new = machine.state.find(value, TensorObject), mapping.entries.get(key, value)
        loaded = machine.state.find(new, TensorObject)
        if isinstance(new, Constant):
            raise machine.raises("RuntimeError", f"Error(s) in loading state_dict: {_text(key)} is no torch.Tensor")
        if tensor is None or loaded is None or tensor.lazy is not False or loaded.lazy is not False:
            machine.may_refuse("RuntimeError")
        elif _differ(tensor, loaded):
            raise machine.raises("RuntimeError", f"Error(s) in loading state_dict: size mismatch for {_text(key)}")


def _text(key: Value) -> str:
    return str(key.value) if isinstance(key, Constant) else "a key that is no text"


def _differ(left: TensorObject, right: TensorObject) -> bool:
    """Their shapes certainly do; of a number, torch takes the first of a row."""
    if left.shape is None or right.shape is None or (left.shape == () and len(right.shape) == 1):
        return False
    if len(left.shape) != len(right.shape):
        return True
    return any(None not in sizes and sizes[0] != sizes[1] for sizes in zip(left.shape, right.shape, strict=True))


def _loads_its_own(machine: Machine, address: Address) -> bool:
    """A module below, or the module itself, has a method of its own for that."""
    modules = (machine.state.find(value, ModuleObject) for _, value in walk(machine, address))
    return any(
        state_dicts.overrides(machine, module, name) is not None or name in module.attributes
        for module in modules
        if module is not None
        for name in ("_load_from_state_dict", "load_state_dict")
    )
