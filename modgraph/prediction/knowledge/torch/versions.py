"""torch.__version__: text that compares by its numbers."""

from __future__ import annotations

import re

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import NONE, Constant, KnownClass, KnownFunction, TupleValue, Value
from modgraph.prediction.python.plain import TEXT

VERSION = "torch.torch_version.TorchVersion"
known_class(VERSION, "builtins.str")


@models(VERSION)
def version(arguments: Arguments, machine: Machine) -> Value:
    text = arguments.get(0, "version", NONE)
    if not isinstance(text, Constant):
        return machine.unknown("the version of torch is not known", text)
    return machine.allocate(InstanceObject(KnownClass(VERSION), {TEXT: text}))


def _text(machine: Machine, value: Value) -> str | None:
    item = machine.state.find(value, InstanceObject)
    text = item.attributes.get(TEXT, NONE) if item is not None else value
    return text.value if isinstance(text, Constant) and isinstance(text.value, str) else None


def _numbers(machine: Machine, value: Value) -> tuple[int, ...] | None:
    """The release numbers of a version, zeros at the end left out; None of one that is not final."""
    if isinstance(value, TupleValue):
        parts = [part.value if isinstance(part, Constant) else None for part in value.items]
        return _trimmed([part for part in parts if isinstance(part, int)]) if None not in parts else None
    text = _text(machine, value)
    found = re.fullmatch(r"v?(\d+(?:\.\d+)*)(?:\+.*)?", text) if text is not None else None
    return _trimmed([int(part) for part in found[1].split(".")]) if found else None


def _trimmed(numbers: list[int]) -> tuple[int, ...]:
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


@models(*(f"{VERSION}.{name}" for name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__")))
def compared(arguments: Arguments, machine: Machine) -> Value:
    left, right = (_numbers(machine, value) for value in arguments.positional[:2])
    if left is None or right is None:
        return machine.unknown("a version is not known", *arguments.positional)
    name = last_name(arguments.function)
    return Constant(bool(getattr(left, name)(right)))


@models(f"{VERSION}.__str__")
def as_text(arguments: Arguments, machine: Machine) -> Value:
    return Constant(_text(machine, arguments.positional[0]))


_OF_TEXT = ("split", "startswith", "endswith", "partition", "rpartition", "rsplit", "replace", "find", "strip", "index")


@models(*(f"{VERSION}.{name}" for name in (*_OF_TEXT, "__getitem__", "__contains__", "__len__")))
def of_text(arguments: Arguments, machine: Machine) -> Value:
    """Methods of str."""
    name, text = last_name(arguments.function), Constant(_text(machine, arguments.positional[0]))
    if name == "__getitem__":
        return machine.get_item(text, arguments.positional[1])
    if name == "__contains__":
        return machine.compare("in", arguments.positional[1], text)
    if name == "__len__":
        return machine.call(KnownFunction("builtins.len"), (text,))
    return machine.call(machine.get_attribute(text, name), arguments.positional[1:], arguments.keywords)
