"""The first run of a lazy layer, in a constructor: its parameters get their sizes, and it becomes what it stood for.

Source: `torch.nn.modules.lazy.LazyModuleMixin`; the sizes follow from the layers' own `initialize_parameters`.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ModuleObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    MODULE,
    NONE,
    Address,
    ClassValue,
    Constant,
    Dtype,
    KnownClass,
    KnownFunction,
    Value,
)
from modgraph.prediction.knowledge.tensors.devices import device_of
from modgraph.prediction.knowledge.tensors.tensor_values import shape_argument

_MIXIN = "torch.nn.modules.lazy.LazyModuleMixin"
_SIZES = ("in_features", "in_channels", "num_features")
"""Attributes that say what the layer was given."""


def _lazy(machine: Machine, module: ModuleObject) -> list[Address]:
    """Its own parameters and buffers that have no size yet."""
    held = [*module.parameters.values(), *module.buffers.values()]
    tensors = {each: machine.state.find(each, TensorObject) for each in held if isinstance(each, Address)}
    return [each for each, tensor in tensors.items() if tensor is not None and tensor.lazy is not False]


@models(f"{_MIXIN}.has_uninitialized_params")
def is_uninitialized(arguments: Arguments, machine: Machine) -> Value:
    module = machine.state.find(arguments.positional[0], ModuleObject)
    without = [] if module is None else _lazy(machine, module)
    tensors = [machine.state.find(each, TensorObject) for each in without]
    if without and all(tensor is not None and tensor.lazy is None for tensor in tensors):
        return machine.unknown("it is not known whether its parameters have sizes yet")
    return Constant(bool(without))


@models("torch.nn.parameter.UninitializedTensorMixin.materialize")
def materialize(arguments: Arguments, machine: Machine) -> Value:
    address = arguments.positional[0]
    assert isinstance(address, Address)
    shape = shape_argument(machine, (arguments.get(1, "shape", NONE),))
    tensor = machine.state.change(address, TensorObject)
    tensor.lazy, tensor.shape = False, shape
    device, dtype = arguments.get(2, "device", NONE), arguments.get(3, "dtype", NONE)
    if device != NONE:
        tensor.device = device_of(machine, device)
    if dtype != NONE:
        tensor.dtype = dtype.name if isinstance(dtype, Dtype) else None
    return NONE


@models(f"{_MIXIN}.__call__")
def first_run(arguments: Arguments, machine: Machine) -> Value:
    address = arguments.positional[0]
    assert isinstance(address, Address)
    module = machine.state.change(address, ModuleObject)
    becomes = machine.class_attribute(module.cls, "cls_to_become")
    if _lazy(machine, module):
        begin = machine.get_attribute(address, "initialize_parameters")
        machine.call(begin, arguments.positional[1:], arguments.keywords, None, arguments.open)
        module = machine.state.change(address, ModuleObject)
        rest = _lazy(machine, module)
        for each in rest:  # sizes that no source at hand shows
            machine.state.change(each, TensorObject).lazy = False
        if rest:
            why = machine.unknown("what a lazy layer becomes is not in the source at hand")
            module.attributes.update({name: why for name in _SIZES if name in module.attributes})
        if isinstance(becomes, (ClassValue, KnownClass)):
            module.cls = becomes
    call, given = KnownFunction(f"{MODULE}.__call__"), arguments.positional
    return machine.call(call, given, arguments.keywords, None, arguments.open)
