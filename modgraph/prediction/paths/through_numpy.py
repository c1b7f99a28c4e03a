"""What goes through numpy in a run that is followed: of which tensors an array may come is told as events, so that a
tensor that is made of it is no constant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.events import Alias, Seen
from modgraph.prediction.domain.objects import ListObject, TensorObject
from modgraph.prediction.domain.values import Address, Choice, TupleValue, Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

OF_ARRAYS = "numpy."
_LEAVING = frozenset({"torch.Tensor.numpy", "torch.Tensor.__array__"})
_COMING = frozenset({"torch.from_numpy", "torch.frombuffer"})
_DEPTH = 4
_MOST = 64
"""Arrays that one event speaks of."""


def events_of(machine: Machine, name: str, arguments: Arguments, began: int, result: Value) -> list[Alias]:
    """What is to be told of a function that was run.

    Args:
        began: objects from this address on were made by it.
    """
    if name in _LEAVING:
        return _left(machine, arguments, result)
    if name in _COMING:
        return _came(machine, arguments, result)
    return _computed(machine, name, arguments, began, result) if name.startswith(OF_ARRAYS) else []


def given(machine: Machine, named: Iterable[tuple[str, Value]]) -> tuple[Seen, ...]:
    """Arrays in what an operation is given, that come of tensors."""
    known = machine.base.through_numpy
    found = ((name, each) for name, value in named for each in _held(machine, value)) if known else ()
    return tuple(Seen(name, (each.index,), is_possible=True) for name, each in found if each.index in known)


def _left(machine: Machine, arguments: Arguments, result: Value) -> list[Alias]:
    tensor = arguments.positional[0]
    if not isinstance(tensor, Address) or not isinstance(result, Address) or tensor == result:
        return []
    machine.base.through_numpy.add(result.index)
    return [Alias(result.index, _owner(machine, tensor).way)]


def _owner(machine: Machine, tensor: Address) -> Address:
    """The tensor whose memory it has: a trace knows by the memory where an array comes from."""
    seen: set[int] = set()
    while tensor.index not in seen:
        seen.add(tensor.index)
        held = machine.state.find(tensor, TensorObject)
        if held is not None and len(held.memory) == 1:
            tensor = held.memory[0]
    return tensor


def _came(machine: Machine, arguments: Arguments, result: Value) -> list[Alias]:
    array = next(iter((*arguments.positional, *arguments.keywords.values())), None)
    if not isinstance(result, Address):
        return []
    known = machine.base.through_numpy
    if isinstance(array, Unknown):
        return [Alias(result.index, result.index, is_sure=False)]
    if isinstance(array, Choice):
        found = [each.index for each in _held(machine, array) if each.index in known]
        return [Alias(result.index, each, is_sure=False) for each in found]
    if isinstance(array, Address) and array.index in known and array != result:
        return [Alias(result.index, array.index)]
    return []


def _computed(machine: Machine, name: str, arguments: Arguments, began: int, result: Value) -> list[Alias]:
    """Of each array that it has made, or written into: all that it was given and that comes of tensors."""
    given = (*arguments.positional, *arguments.keywords.values())
    known = machine.base.through_numpy
    sources = [each for value in given for each in _held(machine, value)]
    sources = [each for each in sources if each.index in known or not _is_array(machine, each)]
    if not sources:
        return []
    into = [each for each in _held(machine, result) if each.index >= began]
    if _writes(name) and arguments.positional:
        into += _held(machine, arguments.positional[0])
    into += _held(machine, arguments.keywords["out"]) if "out" in arguments.keywords else ()
    into = [each for each in dict.fromkeys(into) if _is_array(machine, each)]
    known.update(each.index for each in into)
    pairs = [(each, source) for each in into for source in dict.fromkeys(sources) if each != source]
    return [Alias(each.index, source.way, is_sure=False) for each, source in pairs[:_MOST]]


def _writes(name: str) -> bool:
    last = last_name(name)
    return last in ("__setitem__", "fill", "copyto", "put", "place", "fill_diagonal") or last.startswith("__i")


def is_array(tensor: TensorObject) -> bool:
    """It is numpy's, and no tensor of torch."""
    return bool(getattr(tensor.cls, "name", "").startswith(OF_ARRAYS))


def _is_array(machine: Machine, address: Address) -> bool:
    held = machine.state.find(address, TensorObject)
    return held is not None and is_array(held)


def _held(machine: Machine, value: Value) -> list[Address]:
    return [each for each, _ in zip(_walked(machine, value, 0), range(_MOST), strict=False)]


def _walked(machine: Machine, value: Value, depth: int) -> Iterator[Address]:
    """The tensors and arrays in a value."""
    if depth > _DEPTH:
        return
    parts: Iterable[Value] = ()
    if isinstance(value, TupleValue):
        parts = value.items
    elif isinstance(value, Choice):
        parts = value.alternatives
    elif isinstance(value, Address):
        held = machine.state.read(value)
        if isinstance(held, TensorObject):
            yield value
        parts = held.items if isinstance(held, ListObject) else ()
    for each in parts:
        yield from _walked(machine, each, depth + 1)
