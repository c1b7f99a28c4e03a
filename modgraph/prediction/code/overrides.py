"""`__torch_function__`: classes of the project that answer in the place of torch's functions, and what a function makes
of a subclass of Tensor that does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.objects import InstanceObject, ListObject, TensorObject
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    BoundMethod,
    ClassMethod,
    ClassValue,
    FunctionValue,
    StaticMethod,
    TupleValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

MODE = ("torch", "<function modes>")
"""Where a state keeps the modes that are entered, the innermost last: those of the project, None for torch's own."""
_NAME = "__torch_function__"
_NOT_ASKED = ("torch.jit.", "torch.utils.", "torch.overrides.", "torch.autograd.", "torch.nn.modules.", "torch.optim.")
"""What is no function of tensors; `forward` of a layer is made of such."""


def instead(machine: Machine, name: str, arguments: Arguments) -> Unknown | None:
    """Why it is not known what a function of torch gives: code of the project may answer in its place."""
    if not _is_of_tensors(name):
        return None
    modes = machine.state.globals.get(MODE, TupleValue(()))
    if not isinstance(modes, TupleValue) or any(each != NONE for each in modes.items):
        return machine.unknown("a mode of the project answers in the place of torch's functions")
    for value in _given(machine, arguments):
        cls = _class_with_source(machine, value)
        if cls is not None and _answers(machine, cls):
            short = cls.name.rpartition(".")[2]
            return machine.unknown(f"{_NAME} of {short} answers in the place of {name}")
    return None


def kept_class(machine: Machine, name: str, found: Value, since: int, arguments: Arguments) -> None:
    """What torch's functions make of a subclass of Tensor is of that class too; not of a subclass of Parameter."""
    if not _is_of_tensors(name):
        return
    cls = next((each for value in _given(machine, arguments) if (each := _subclass(machine, value)) is not None), None)
    for value in (found.items if isinstance(found, TupleValue) else (found,)) if cls is not None else ():
        tensor = machine.state.find(value, TensorObject)
        if isinstance(value, Address) and tensor is not None and value.index >= since and tensor.cls is None:
            machine.state.change(value, TensorObject).cls = cls


def _is_of_tensors(name: str) -> bool:
    return name.startswith("torch.") and (not name.startswith(_NOT_ASKED) or name.endswith(".forward"))


def _given(machine: Machine, arguments: Arguments) -> Iterator[Value]:
    for value in (*arguments.positional, *arguments.keywords.values()):
        yield value
        if isinstance(value, TupleValue):
            yield from value.items
        elif (listed := machine.state.find(value, ListObject)) is not None:
            yield from listed.items


def _class_with_source(machine: Machine, value: Value) -> ClassValue | None:
    if type(value) is not Address:
        return None
    item = machine.state.read(value)
    cls = item.cls if isinstance(item, (TensorObject, InstanceObject)) else None
    return cls if isinstance(cls, ClassValue) else None


def _answers(machine: Machine, cls: ClassValue) -> bool:
    """The class, or one that it is derived from, has it for itself."""
    found = machine.class_attribute(cls, _NAME)
    while isinstance(found, (BoundMethod, ClassMethod, StaticMethod)):
        found = found.function
    return isinstance(found, FunctionValue) and not found.definition.module.startswith("torch.")


def _subclass(machine: Machine, value: Value) -> ClassValue | None:
    """The class of a tensor that is of one with source, and is no parameter."""
    item = machine.state.find(value, TensorObject)
    if item is None or item.is_parameter is not False or not isinstance(item.cls, ClassValue):
        return None
    return None if item.cls.name.startswith("torch.") else item.cls
