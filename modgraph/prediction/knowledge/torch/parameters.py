"""Parameter, Buffer and their uninitialised kin: what a module registers when it is assigned one.

Source: torch/nn/parameter.py.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import MAY_BE, STEPS, TensorObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Address, ClassValue, Dtype, KnownFunction, Value
from modgraph.prediction.knowledge.tensors.devices import device_of
from modgraph.prediction.knowledge.tensors.tensor_memory import share
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.prediction.paths import recording
from modgraph.prediction.python.persistence import PERSISTENT

TENSOR = "torch.Tensor"
PARAMETER = "torch.nn.parameter.Parameter"
UNINITIALIZED = "torch.nn.parameter.UninitializedParameter"
BUFFER = "torch.nn.parameter.Buffer"
UNINITIALIZED_BUFFER = "torch.nn.parameter.UninitializedBuffer"

_WITHOUT_GRADIENT = frozenset(("bool", "uint8", "int8", "int16", "int32", "int64"))

known_class(TENSOR)
known_class(PARAMETER, TENSOR)
known_class("torch.nn.parameter.UninitializedTensorMixin")
known_class(UNINITIALIZED, "torch.nn.parameter.UninitializedTensorMixin", PARAMETER)
known_class(BUFFER, TENSOR)
known_class(UNINITIALIZED_BUFFER, "torch.nn.parameter.UninitializedTensorMixin", TENSOR)


def as_parameter(machine: Machine, data: Value, requires_grad: bool | None = True, cls: Value | None = None) -> Value:
    """`Parameter(data)`: a tensor of its own, of the shape and dtype of `data`, without elements to compute with.

    Raises:
        Raised: RuntimeError, where gradients are asked for of whole numbers or flags.
    """
    tensor = tensor_of(machine, data)
    if tensor is not None and requires_grad and tensor.dtype in _WITHOUT_GRADIENT:
        raise machine.raises("RuntimeError", "Only Tensors of floating point and complex dtype can require gradients")
    if tensor is None:
        new = TensorObject(shape=(0,) if data == NONE else None, dtype="float32" if data == NONE else None)
        new.device = device_of(machine, NONE) if data == NONE else None
    else:
        new = tensor.copy()
        new.memory, new.writes, new.seen = (), 0, 0
        new.attributes = {name: held for name, held in tensor.attributes.items() if name == STEPS}
    new.is_parameter, new.is_buffer, new.requires_grad, new.cls = True, False, requires_grad, cls
    made = machine.allocate(new)
    share(machine, made, data)
    recording.alias(machine, made, _whose_memory(machine, data))
    return made


def _whose_memory(machine: Machine, value: Value) -> Value:
    while (held := machine.state.find(value, TensorObject)) is not None and MAY_BE in held.attributes:
        value = held.attributes[MAY_BE]
    return value


@models(PARAMETER, f"{PARAMETER}.__new__")
def parameter(arguments: Arguments, machine: Machine) -> Value:
    """Of data that is not known, a parameter whose shape is not known."""
    cls, arguments = _without_class(arguments)
    data = arguments.get(0, "data", NONE)
    return as_parameter(machine, data, machine.truth(arguments.get(1, "requires_grad", TRUE)), cls)


def _without_class(arguments: Arguments) -> tuple[Value | None, Arguments]:
    """The class given to `__new__`, where it is a subclass with source, and the other arguments."""
    if not arguments.function.endswith("__new__") or not arguments.positional:
        return None, arguments
    cls = arguments.positional[0]
    rest = Arguments("Parameter", arguments.positional[1:], arguments.keywords, arguments.where, arguments.open)
    return cls if isinstance(cls, ClassValue) else None, rest


@models(BUFFER, f"{BUFFER}.__new__")
def buffer(arguments: Arguments, machine: Machine) -> Value:
    _, arguments = _without_class(arguments)
    data = arguments.get(0, "data", NONE)
    if machine.is_recording and tensor_of(machine, data) is not None:
        data = machine.call(KnownFunction(f"{TENSOR}.detach"), (data,))
    new = as_parameter(machine, data, False)
    recording.alias(machine, new, data)
    assert isinstance(new, Address)
    tensor = machine.state.change(new, TensorObject)
    tensor.is_parameter, tensor.is_buffer = False, True
    tensor.attributes[PERSISTENT] = arguments.keywords.get("persistent", TRUE)
    return new


@models(UNINITIALIZED)
def uninitialized_parameter(arguments: Arguments, machine: Machine) -> Value:
    flag = machine.truth(arguments.get(0, "requires_grad", TRUE))
    return machine.allocate(
        TensorObject(
            None,
            _dtype(arguments),
            is_parameter=True,
            requires_grad=flag,
            lazy=True,
            device=_device(machine, arguments),
        )
    )


@models(UNINITIALIZED_BUFFER)
def uninitialized_buffer(arguments: Arguments, machine: Machine) -> Value:
    flag = machine.truth(arguments.get(0, "requires_grad", FALSE))
    tensor = TensorObject(None, _dtype(arguments), requires_grad=flag, lazy=True, is_buffer=True)
    tensor.device = _device(machine, arguments)
    tensor.attributes[PERSISTENT] = arguments.get(3, "persistent", TRUE)
    return machine.allocate(tensor)


def _device(machine: Machine, arguments: Arguments) -> str | None:
    return device_of(machine, arguments.get(1, "device", NONE))


def _dtype(arguments: Arguments) -> str | None:
    dtype = arguments.get(2, "dtype", NONE)
    return dtype.name if isinstance(dtype, Dtype) else "float32" if dtype == NONE else None
