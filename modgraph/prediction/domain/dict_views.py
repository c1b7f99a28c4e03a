"""keys(), values() and items() of a dict: objects that show what their dict holds whenever they are looked at."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, cast

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.objects import DictObject, ListObject
from modgraph.prediction.domain.values import KnownClass, TupleValue, Unknown, Value, is_optional

if TYPE_CHECKING:
    from modgraph.prediction.domain.state import State

VIEWED = "<viewed>"
"""Attribute of the keys, values or items of a dict: the dict."""
VIEWS = tuple(KnownClass(f"builtins.dict_{kind}") for kind in ("keys", "values", "items"))


def is_view(value: object) -> bool:
    """It shows the keys, values or items of a dict."""
    return isinstance(value, ListObject) and value.cls in VIEWS


def is_set(value: object) -> bool:
    """Such a view, of what is different from one another."""
    return isinstance(value, ListObject) and value.cls in (VIEWS[0], VIEWS[2])


class DictView(ListObject):
    """A view as it lies on the heap. `State.read` gives it as what its dict, in that state, makes of it: `items` and
    `open` are found when they are asked for."""

    __slots__ = ("_shown", "_state")

    def __init__(self, cls: Value, attributes: dict[str, Value], state: State | None = None) -> None:
        self._state = state
        self._shown: tuple[list[Value], Unknown | None] | None = None
        self.cls = cls
        self.attributes = attributes
        self.further = None
        self.owner = None

    def seen_in(self, state: State) -> DictView:
        return DictView(self.cls, self.attributes, state)

    def copy(self) -> DictView:
        return DictView(self.cls, dict(self.attributes))

    @property
    def items(self) -> list[Value]:
        return self._what_is_there()[0]

    @items.setter
    def items(self, new: list[Value]) -> None:
        """It has no items of its own."""

    @property
    def open(self) -> Unknown | None:
        return self._what_is_there()[1]

    @open.setter
    def open(self, new: Unknown | None) -> None:
        """It is open where its dict is."""

    def _what_is_there(self) -> tuple[list[Value], Unknown | None]:
        if self._state is None:
            return [], None
        if self._shown is None:
            held = cast(DictObject, self._state.find(self.attributes[VIEWED], DictObject))
            self._state.base.work += len(held.entries) // 2
            self._shown = shown(held, self.cls)
        return self._shown


def certain_pairs(held: DictObject) -> list[tuple[Value, Value]]:
    """The entries that certainly come first."""
    known = {} if held.open is not None else held.entries  # what is not shown may come first
    return list(itertools.takewhile(lambda pair: not is_optional(pair[1]), known.items()))


def shown(held: DictObject, kind: Value) -> tuple[list[Value], Unknown | None]:
    """What certainly comes first in such a view, and why something else may follow."""
    pairs = certain_pairs(held)
    found: list[Value]
    if kind == VIEWS[2]:
        found = [TupleValue(pair) for pair in pairs]
    else:
        place = VIEWS.index(cast(KnownClass, kind))
        found = [pair[place] for pair in pairs]
    why = held.unsure
    return found, why and points_to.either_of(why, [*held.entries, *held.entries.values()])
