"""How much work it is to look through a value once, in units (`limits.py`).

Operations count as one step each, however large what they are given is.
"""

from __future__ import annotations

from collections.abc import Iterable

from modgraph.prediction.domain.objects import DictObject, ListObject, SetObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import Address, Choice, Constant, TupleValue, Unknown, Value

SHORT = frozenset(
    {
        *("append", "add", "get", "pop", "popitem", "setdefault", "extend", "update", "insert", "reverse"),
        *("keys", "values", "items", "len", "isinstance", "issubclass", "callable", "type", "iter", "next", "range"),
        *("print", "getattr", "setattr", "hasattr", "delattr", "id", "bool", "super", "partial"),
        *("__getitem__", "__setitem__", "__len__", "__contains__", "__init__", "__new__"),
    }
)
"""Functions, by their last names, that do not look through what they are given, or do so in no time."""
UNITS_OF_A_WORD = 8
"""Of work, for each word of 64 bits of a number that a function gives: a factorial, a binomial."""
_CHARACTERS = 256
"""Of a text, per unit."""
_SHORT = 1 << 2048
"""Numbers below it take no time."""
_NUMBERS = 20
"""Of a range, per unit."""
_DIGITS = 1 << 10
"""Products of words of 64 bits, per unit: what is done with long numbers takes the square of their length."""


def weight(state: State, value: Value) -> int:
    """Of looking at each of its items, characters, or digits."""
    kind = type(value)
    if kind is Constant:
        held = value.value  # type: ignore[attr-defined]
        return 0 if type(held) is int and -_SHORT < held < _SHORT else _of_constant(held)
    if kind is Address:
        index = value.index  # type: ignore[attr-defined]
        item = state.get(index) or state.base.objects.get(index)  # not by `read`, which notes that it was asked for
        if isinstance(item, ListObject):
            return len(item.items)
        if isinstance(item, SetObject):
            return len(item.items)
        return len(item.entries) if type(item) is DictObject else 0
    if kind is TupleValue:
        return len(value.items)  # type: ignore[attr-defined]
    if kind is Unknown:
        return len(value.may_be)  # type: ignore[attr-defined]
    return sum(weight(state, each) for each in value.alternatives) if isinstance(value, Choice) else 0


def _of_constant(held: object) -> int:
    if type(held) is int:
        words = held.bit_length() // 64
        return words * words // _DIGITS
    if isinstance(held, (str, bytes)):
        return len(held) // _CHARACTERS
    if isinstance(held, range):
        return min(abs((held.stop - held.start) // held.step), 1 << 30) // _NUMBERS
    return 0


def weigh(state: State, values: Iterable[Value]) -> None:
    """Counts that they are looked through."""
    for value in values:
        state.base.work += weight(state, value)
