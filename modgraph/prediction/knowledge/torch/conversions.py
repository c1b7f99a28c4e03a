"""What goes through `Module._apply`: half, to, cuda, type and kin, whatever a class of the user's makes of `_apply`.

Where no class below has an `_apply` of its own, all tensors are converted in one walk.

Source: torch/nn/modules/module.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import STEPS, ModuleObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    MODULE,
    NONE,
    OPEN,
    TRUE,
    Address,
    Choice,
    Constant,
    Device,
    Dtype,
    KnownFunction,
    PartialValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.prediction.knowledge.torch.walks import (
    WALKED_BY,
    asked_children,
    module_of,
    overriding,
    tensors,
    tensors_that_may_be,
)

_FLOATING = ("float32", "float64", "float16", "bfloat16")
_CONVERTED = f"{MODULE}.<converted>"


@dataclass
class _Conversion:
    """A `dtype` and `device`, NONE where they stay; with `floating`, the dtype of floating tensors alone is changed."""

    dtype: Value = NONE
    device: Value = NONE
    floating: bool = True
    moves: bool = False
    """The elements of pictures may be put into another order."""

    def change(self, tensor: TensorObject) -> None:
        unsure = tensor.dtype is None and not tensor.is_parameter
        if self.dtype != NONE and not (self.floating and (unsure or tensor.dtype not in (None, *_FLOATING))):
            wanted = self.dtype.name if isinstance(self.dtype, Dtype) else None
            if wanted != tensor.dtype:
                tensor.elements = tensor.writes = None
            tensor.dtype = wanted
        if self.moves:
            tensor.attributes.pop(STEPS, None)
        if self.device != NONE:
            tensor.device = self.device.name if isinstance(self.device, Device) else None

    def function(self) -> Value:
        """The same as a function of one tensor."""
        return PartialValue(KnownFunction(_CONVERTED), (self.dtype, self.device, Constant(self.floating)))


_APPLIED = ("_apply", *WALKED_BY)


def _convert(machine: Machine, address: Address, conversion: _Conversion) -> None:
    if overriding(machine, address, _APPLIED):
        machine.call(machine.get_attribute(address, "_apply"), (conversion.function(),))
        return
    for store in ("parameters", "buffers"):
        for each in tensors_that_may_be(machine, address, store):
            _convert_perhaps(machine.state.change(each, TensorObject), conversion)
        for _, value in list(tensors(machine, address, store)):
            if isinstance(value, Address) and tensor_of(machine, value) is not None:
                conversion.change(machine.state.change(value, TensorObject))


def _convert_perhaps(tensor: TensorObject, conversion: _Conversion) -> None:
    converted = tensor.copy()
    conversion.change(converted)
    tensor.dtype = tensor.dtype if converted.dtype == tensor.dtype else None
    tensor.device = tensor.device if converted.device == tensor.device else None
    tensor.elements, tensor.writes = converted.elements, converted.writes


@models(_CONVERTED)
def converted(arguments: Arguments, machine: Machine) -> Value:
    """The tensor itself where nothing changes, as torch gives it back; else a new one."""
    dtype, device, floating, value = arguments.positional
    tensor = tensor_of(machine, value)
    if tensor is None:
        return machine.unknown("a tensor that is converted is not known", value)
    new = tensor.copy()
    _Conversion(dtype, device, floating == TRUE).change(new)
    if (new.dtype, new.device) == (tensor.dtype, tensor.device) and None not in (new.dtype, new.device):
        return value
    new.attributes, new.is_parameter, new.is_buffer, new.cls, new.memory = {}, False, False, None, ()
    return machine.allocate(new)


@models(f"{MODULE}._apply")
def apply_function(arguments: Arguments, machine: Machine) -> Value:
    """Calls the function with all tensors, those of children first: it gives a parameter its data, and buffers what
    takes their place."""
    address, _ = module_of(machine, arguments)
    function, recurse = arguments.get(1, "fn", NONE), machine.truth(arguments.get(2, "recurse", TRUE))
    if recurse is None:
        machine.expose((address,), machine.unknown("whether its children are converted is not known"))
        return address
    unsure: list[Value] = []
    for child in asked_children(machine, address) if recurse else ():
        if machine.state.find(child, ModuleObject) is None:
            unsure.append(child)
        else:
            machine.call(machine.get_attribute(child, "_apply"), (function,))
    for name, value in list(module_of(machine, arguments)[1].parameters.items()):
        if name == OPEN or tensor_of(machine, value) is None:
            unsure += [value] if value != NONE else []
            continue
        machine.set_attribute(value, "data", machine.call(function, (value,)))
    for name, value in list(module_of(machine, arguments)[1].buffers.items()):
        if name == OPEN or tensor_of(machine, value) is None:
            unsure += [value] if value != NONE else []
            continue
        machine.state.change(address, ModuleObject).buffers[name] = machine.call(function, (value,))
    if unsure:
        machine.expose(unsure, machine.unknown("what is converted is not known", *unsure))
    return address


@models(f"{MODULE}.half", f"{MODULE}.float", f"{MODULE}.double", f"{MODULE}.bfloat16")
def to_precision(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    names = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16"}
    _convert(machine, address, _Conversion(Dtype(names[last_name(arguments.function)])))
    return address


@models(f"{MODULE}.type")
def to_type(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    dtype = arguments.get(1, "dst_type", NONE)
    _convert(machine, address, _Conversion(_unless_known(machine, dtype, Dtype), floating=False))
    return address


def _unless_known(machine: Machine, value: Value, kind: type[Value]) -> Value:
    return value if isinstance(value, kind) else machine.unknown("what it is converted to is not known", value)


@models(f"{MODULE}.to", f"{MODULE}.to_empty")
def to(arguments: Arguments, machine: Machine) -> Value:
    """Floating parameters and buffers get the dtype, all get the device; the module itself is what comes back."""
    address, _ = module_of(machine, arguments)
    conversion = _Conversion(moves="memory_format" in arguments.keywords)
    given = [("", value) for value in arguments.positional[1:]]
    for name, value in (*given, *arguments.keywords.items()):
        like = tensor_of(machine, value)
        kinds = value.alternatives if isinstance(value, Choice) else (value,)
        if isinstance(value, Dtype) or any(isinstance(each, Dtype) for each in kinds):
            conversion.dtype = _unless_known(machine, value, Dtype)
        elif isinstance(value, Device):
            conversion.device = value
        elif like is not None:
            conversion.dtype = _unless_known(machine, Dtype(like.dtype) if like.dtype else value, Dtype)
        elif isinstance(value, Constant) and isinstance(value.value, str):
            conversion.device = Device(value.value)
        elif isinstance(value, (Unknown, Choice)) and name == "dtype":
            conversion.dtype = _unless_known(machine, value, Dtype)
        elif isinstance(value, (Unknown, Choice)):
            conversion.device = _unless_known(machine, value, Device)
    _convert(machine, address, conversion)
    return address


@models(*(f"{MODULE}.{name}" for name in ("cuda", "cpu", "xpu", "ipu", "mtia", "share_memory")))
def moved(arguments: Arguments, machine: Machine) -> Value:
    """The devices of a machine are not followed; an `_apply` of the user's is called all the same."""
    address, _ = module_of(machine, arguments)
    if overriding(machine, address, _APPLIED):
        machine.call(machine.get_attribute(address, "_apply"), (_Conversion().function(),))
    return address


@models(f"{MODULE}._replicate_for_data_parallel")
def itself(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]
