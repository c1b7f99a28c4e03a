"""Devices, and on which one a tensor is: the default, which contexts change, or that of what it is computed from.

Source: torch/utils/_device.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from modgraph.prediction.code.fallible_calls import DEVICE, NOT_KNOWN
from modgraph.prediction.domain.assumed import DEFAULT_PLACE
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DERIVED, ListObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Address, Choice, Constant, Device, TupleValue, Unknown, Value
from modgraph.prediction.knowledge.tensors.elements import category
from modgraph.prediction.knowledge.tensors.tensor_memory import overwrite
from modgraph.prediction.knowledge.torch import uncast
from modgraph.prediction.knowledge.torch.gradients import are_recorded, needs_of_modules
from modgraph.prediction.python.plain import number_unknown

_DEFAULT = ("torch", "<default device>")
"""Where a state keeps what torch.set_default_device was given."""
_ENTERED = ("torch", "<devices>")
"""Where it keeps the devices whose `with` it is in, the innermost last."""


@models(DEVICE)
def device(arguments: Arguments, machine: Machine) -> Value:
    given, index = arguments.get(0, "type", arguments.keywords.get("device", NONE)), arguments.get(1, "index", NONE)
    if isinstance(given, Choice):
        return machine.distribute(given, lambda each: device(Arguments(DEVICE, (each, index)), machine))
    if isinstance(given, Device):
        return given
    if isinstance(given, Constant) and isinstance(given.value, str) and isinstance(index, Constant):
        return Device(given.value if index == NONE else f"{given.value}:{index.value}")
    return number_unknown(machine, NOT_KNOWN, given)


@models(f"{DEVICE}.@type", f"{DEVICE}.@index")
def device_part(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.positional[0]
    if not isinstance(value, Device):
        return number_unknown(machine, NOT_KNOWN, value)
    kind, _, index = value.name.partition(":")
    if arguments.function.endswith("type"):
        return Constant(kind)
    return Constant(int(index)) if index.isdecimal() else NONE


@models("torch.set_default_device")
def set_default(arguments: Arguments, machine: Machine) -> Value:
    wanted = arguments.get(0, "device", NONE)
    if wanted == NONE:
        machine.state.globals.pop(_DEFAULT, None)
    else:
        machine.state.globals[_DEFAULT] = wanted
    return NONE


@models("torch.get_default_device")
def default(arguments: Arguments, machine: Machine) -> Value:
    """Where the program has said nothing of it, the caller of a model may have: that it is the processor is taken for
    granted."""
    is_said = _ENTERED in machine.state.globals or machine.state.bound(_DEFAULT) is not None
    name = None if not is_said and machine.asks(DEFAULT_PLACE) else default_device(machine)
    return number_unknown(machine, NOT_KNOWN) if name is None else Device(name)


@models(f"{DEVICE}.__enter__")
def enter(arguments: Arguments, machine: Machine) -> Value:
    held = machine.state.globals.get(_ENTERED, TupleValue(()))
    before = held.items if isinstance(held, TupleValue) else (held,)
    machine.state.globals[_ENTERED] = TupleValue((*before, arguments.positional[0]))
    return arguments.positional[0]


@models(f"{DEVICE}.__exit__")
def leave(arguments: Arguments, machine: Machine) -> Value:
    held = machine.state.globals.pop(_ENTERED, NONE)
    if isinstance(held, TupleValue) and len(held.items) > 1:
        machine.state.globals[_ENTERED] = TupleValue(held.items[:-1])
    return NONE


def default_device(machine: Machine) -> str | None:
    """Where a tensor is made that is not said to be elsewhere; None where that is not known."""
    held = machine.state.globals.get(_ENTERED)
    if held is None:
        held = machine.state.bound(_DEFAULT)
        return "cpu" if held is None else _named(held)
    return _named(held.items[-1]) if isinstance(held, TupleValue) and held.items else None


def _named(value: Value) -> str | None:
    if isinstance(value, Device):
        return value.name
    return value.value if isinstance(value, Constant) and isinstance(value.value, str) else None


def device_of(machine: Machine, value: Value) -> str | None:
    """Name of a device argument: the default where none is given, None where it is not known."""
    return default_device(machine) if value == NONE else _named(value)


def settle(machine: Machine, name: str, found: Value, since: int, arguments: Arguments) -> None:
    """Tensors made since, as a result, are where the operands are, and need a gradient where one of these does."""
    if "out" in arguments.keywords:
        _put(machine, found, arguments.keywords["out"])
    for value in found.items if type(found) is TupleValue else (found,):
        if type(value) is not Address or value.index < since:
            continue
        tensor = machine.state.find(value, TensorObject)
        if tensor is not None:
            uncast.note(machine, name, value, since, arguments)
        if tensor is not None and tensor.device == DERIVED:
            given = (*arguments.positional, *arguments.keywords.values())
            operands = list(_operands(machine, given))
            changed = machine.state.change(value, TensorObject)
            devices = {each.device for each in operands} or {default_device(machine)}
            changed.device = next(iter(devices)) if len(devices) == 1 else None
            if changed.requires_grad is None:
                needs = {each.requires_grad for each in operands} | set(needs_of_modules(machine, given))
                needs |= set() if arguments.open is None else {None}
                changed.requires_grad = _needs(machine, changed.dtype, needs)


def _put(machine: Machine, found: Value, out: Value) -> None:
    """What a function gives goes into the tensors that it is given as `out`, which take its shape."""
    results = found.items if type(found) is TupleValue else (found,)
    targets = out.items if isinstance(out, TupleValue) else (out,)
    for target, result in zip(targets, results, strict=False):
        tensor = machine.state.find(result, TensorObject)
        if isinstance(target, Address) and machine.state.find(target, TensorObject) is not None:
            overwrite(machine, target)
            machine.base.uncast.discard(target.index)
            machine.state.change(target, TensorObject).shape = tensor.shape if tensor is not None else None
        elif isinstance(target, (Unknown, Choice)):
            machine.expose((target,), machine.unknown("what is written to is not known", target))


def _operands(machine: Machine, values: Sequence[Value]) -> Iterator[TensorObject]:
    for value in values:
        listed = machine.state.find(value, ListObject)
        items = listed.items if listed is not None else value.items if isinstance(value, TupleValue) else (value,)
        for each in (one for item in items for one in (item.alternatives if isinstance(item, Choice) else (item,))):
            tensor = machine.state.find(each, TensorObject)
            if tensor is not None:
                yield tensor
            elif isinstance(each, Unknown) and not each.inert:
                yield TensorObject(None, None, requires_grad=None, device=None)


def _needs(machine: Machine, dtype: str | None, needs: Set[bool | None]) -> bool | None:
    """Of a result.

    Args:
        needs: whether what it is computed from does.
    """
    if needs <= {False} or (dtype is not None and category(dtype) < 2):
        return False
    recorded = are_recorded(machine)
    if not recorded:
        return recorded
    return True if True in needs and dtype is not None else None
