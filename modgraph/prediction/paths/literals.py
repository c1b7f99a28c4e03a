"""The literals that an operation of torch is given, as they are told with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.objects import ListObject
from modgraph.prediction.domain.sizes import as_size, notation
from modgraph.prediction.domain.values import Address, Constant, SliceValue, TupleValue, Value
from modgraph.source.operation_arguments import MOST_ITEMS, NOTHING, literals, told_of

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

NO_LITERAL = object()
"""Instead of a value: it is none, or not known."""


def literals_of(machine: Machine, called: str, arguments: Arguments) -> tuple[tuple[str, Any], ...]:
    """Those of the operation `called`, by name; lists as tuples."""
    known = told_of(called)
    if known is NOTHING:
        return ()
    found = literals(known, arguments.positional, arguments.keywords, lambda value: _literal(machine, value))
    return tuple((name, tuple(value) if type(value) is list else value) for name, value in found.items())


def _literal(machine: Machine, value: Value) -> Any:
    """The Python value, a slice and a tuple of these included; a size that is left open is its text."""
    if isinstance(value, Constant):
        size = as_size(value.value)
        return value.value if size is None else notation(size)
    if isinstance(value, SliceValue):
        return slice(*(_literal(machine, each) for each in (value.lower, value.upper, value.step)))
    items: tuple[Value, ...] | None = None
    if isinstance(value, TupleValue):
        items = value.items
    elif isinstance(value, Address) and (held := machine.state.find(value, ListObject)) is not None:
        items = None if held.open is not None else tuple(held.items)
        if items is not None and len(items) <= MOST_ITEMS:
            return [_literal(machine, each) for each in items]
        return NO_LITERAL
    if items is None or len(items) > MOST_ITEMS:
        return NO_LITERAL
    return tuple(_literal(machine, each) for each in items)
