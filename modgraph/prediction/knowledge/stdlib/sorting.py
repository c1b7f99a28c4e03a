"""The order that `sorted` and `list.sort` give."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    Choice,
    Unknown,
    Value,
)
from modgraph.prediction.paths import recording
from modgraph.prediction.python import unordered
from modgraph.prediction.python.plain import TOO_MANY, Looking, number_unknown, plain


def sort(
    machine: Machine, items: list[Value], arguments: Arguments, in_any_order: bool = False
) -> list[Value] | Unknown:
    """The items in order of `key`; Unknown where they cannot be compared, or two that are given `in_any_order` have the
    same place."""
    key = arguments.named("key", NONE)
    backwards = machine.truth(given := arguments.named("reverse", FALSE))
    if backwards is None:
        return points_to.read(machine, machine.unknown("whether the order is reversed is not known", given), items)
    keys = [made_by(machine, key, item) for item in items]
    looking = Looking()
    known = [plain(machine, each, looking) for each in keys]
    if looking.is_over:
        return points_to.read(machine, machine.unknown(TOO_MANY), items)
    order = list(range(len(items)))
    try:
        if any(found is None for found in known):
            order.sort(key=by_order(machine, keys), reverse=backwards)
        else:
            order.sort(key=lambda i: known[i][0], reverse=backwards)  # type: ignore[index]
    except NoOrderError:
        go_on(machine, keys)
        return points_to.read(machine, machine.unknown("the order of what is not known", *items), items)
    except TypeError as error:
        raise machine.raises("TypeError", str(error)) from None
    if in_any_order and any(are_tied(machine, items, keys, i, j) for i, j in itertools.pairwise(order)):
        return points_to.read(machine, machine.unknown(unordered.WHY), items)
    return [items[i] for i in order]


def made_by(machine: Machine, function: Value, item: Value) -> Value:
    """What the function makes of an item, which is the item itself where it is None; it may be one of some."""
    if isinstance(function, Choice):
        return machine.distribute(function, lambda each: made_by(machine, each, item))
    return item if function == NONE else machine.call(function, (item,))


def go_on(machine: Machine, keys: list[Value]) -> None:
    """After two of which it is not known which comes first, others are compared, it is not known which."""
    machine.may_be_called(keys, machine.unknown("which are compared is not known"), _ORDER)


def of_unknown(machine: Machine, arguments: Arguments, why: Unknown) -> None:
    """What the order of items that are not known asks for: the key of each, and which of two comes first."""
    key = arguments.keywords.get("key", NONE)
    machine.may_be_called([key], why, ("__call__",))
    machine.may_be_called(arguments.positional, why, _ORDER)
    if key == NONE:
        recording.operate_on_unknown(machine, why)


def one_of_unknown(machine: Machine, arguments: Arguments, why: Unknown, reason: str) -> Unknown:
    """What `min` and `max` take of items that are not known, or give where there are none: one of these, and no number
    where one of them is none."""
    of = [each for each in (arguments.keywords.get("default"), why) if each is not None]
    if all(map(points_to.is_plain, of)) or not why.may_be:
        return number_unknown(machine, reason, why)
    return points_to.read(machine, machine.unknown(reason, why), of)


_ORDER = ("__lt__", "__gt__")


def are_tied(machine: Machine, items: list[Value], keys: list[Value], left: int, right: int) -> bool:
    """Two items that are not the same have equal keys: which of them comes first is as it was."""
    return items[left] != items[right] and machine.truth(machine.compare("==", keys[left], keys[right])) is not False


class NoOrderError(Exception):
    """It is not known which of two values comes first."""


def by_order(machine: Machine, keys: list[Value]) -> Callable[[int], Any]:
    """For places in `keys`: a key of Python's that compares what stands there, as often as Python would.

    Comparing raises `NoOrderError`, where the order is not known.
    """

    class Place:
        def __init__(self, place: int) -> None:
            self.key = keys[place]

        def __lt__(self, other: Place) -> bool:
            return _holds(machine, "<", self.key, other.key)

        def __gt__(self, other: Place) -> bool:
            return _holds(machine, ">", self.key, other.key)

    return Place


def _holds(machine: Machine, symbol: str, left: Value, right: Value) -> bool:
    verdict = machine.truth(machine.compare(symbol, left, right))
    if verdict is None:
        raise NoOrderError
    return verdict
