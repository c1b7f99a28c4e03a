"""What is given one of several objects, which of them is not known: it is run for each, on paths of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.knowledge.registry import Arguments, Machine
from modgraph.prediction.objects import IteratorObject, TensorObject
from modgraph.prediction.values import Address, Choice, Value

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

_READERS = frozenset(
    {
        *(
            "all",
            "any",
            "bool",
            "callable",
            "dict",
            "enumerate",
            "filter",
            "frozenset",
            "hasattr",
            "hash",
            "id",
            "iter",
        ),
        *("isinstance", "issubclass", "len", "list", "map", "max", "min", "print", "repr", "reversed", "set", "slice"),
        *("sorted", "str", "sum", "tuple", "type", "vars", "zip"),
    }
)
"""Functions of Python that leave what they are given as it is, and take a choice as it is."""


def ways(machine: Interpreter, name: str, arguments: Arguments) -> tuple[Choice, list[Arguments]] | None:
    """The calls of a function with each of several objects that it may change, in the place of their choice: the first
    of its arguments, or any iterator, which whoever reads it uses up. None where there is none."""
    places: list[tuple[int | str, Value]] = [*enumerate(arguments.positional), *arguments.keywords.items()]
    for place, value in places:
        if not isinstance(value, Choice):
            continue
        is_subject = place == 0 and name.removeprefix("builtins.") not in _READERS
        changed = is_subject and any(_is_changed(machine, each) for each in value.alternatives)
        if changed or has_iterator(machine, value):
            return value, [_with(arguments, place, each) for each in value.alternatives]
    return None


def _is_changed(machine: Machine, value: Value) -> bool:
    return isinstance(value, Address) and not isinstance(machine.state.read(value), TensorObject)


def has_iterator(machine: Machine, value: Value) -> bool:
    """It is a choice of iterators, or of one and something else."""
    return isinstance(value, Choice) and any(
        machine.state.find(each, IteratorObject) is not None for each in value.alternatives
    )


def _with(arguments: Arguments, place: int | str, value: Value) -> Arguments:
    if isinstance(place, str):
        return replace(arguments, keywords={**arguments.keywords, place: value})
    positional = (*arguments.positional[:place], value, *arguments.positional[place + 1 :])
    return replace(arguments, positional=positional)
