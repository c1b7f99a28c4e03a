"""ChainMap and MappingProxyType: mappings that show what others hold whenever they are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.objects import MIXED, DictObject, ListObject
from modgraph.prediction.domain.values import KnownClass, Unknown, Value, is_optional

if TYPE_CHECKING:
    from modgraph.prediction.domain.state import State

MAPS = "maps"
"""Attribute of either: the list of the mappings that it shows, of which the first that has a key counts."""
CHAIN = KnownClass("collections.ChainMap")
PROXY = KnownClass("types.MappingProxyType")
_PLAIN = (KnownClass("builtins.dict"), KnownClass("collections.OrderedDict"))


class MappingView(DictObject):
    """One as it lies on the heap. `State.read` gives it as what its mappings, in that state, make of it: `entries` and
    `open` are found when they are asked for."""

    __slots__ = ("_shown", "_state")

    def __init__(self, cls: Value, attributes: dict[str, Value], state: State | None = None) -> None:
        self._state = state
        self._shown: tuple[dict[Value, Value], Unknown | None] | None = None
        self.cls = cls
        self.attributes = attributes
        self.further = None
        self.owner = None

    def seen_in(self, state: State) -> MappingView:
        return MappingView(self.cls, self.attributes, state)

    def copy(self) -> MappingView:
        return MappingView(self.cls, dict(self.attributes))

    @property
    def entries(self) -> dict[Value, Value]:
        return self._what_is_there()[0]

    @entries.setter
    def entries(self, new: dict[Value, Value]) -> None:
        """It has no entries of its own."""

    @property
    def open(self) -> Unknown | None:
        return self._what_is_there()[1]

    @open.setter
    def open(self, new: Unknown | None) -> None:
        """It is open where one of its mappings is."""

    def _what_is_there(self) -> tuple[dict[Value, Value], Unknown | None]:
        if self._state is None:
            return {}, None
        if self._shown is None:
            self._shown = _shown(self._state, self.attributes[MAPS])
            self._state.base.work += len(self._shown[0])
        return self._shown


def _shown(state: State, maps: Value) -> tuple[dict[Value, Value], Unknown | None]:
    """The entries, in the order in which a ChainMap is walked; and why there may be others."""
    listed = state.find(maps, ListObject)
    if listed is None:
        return {}, maps if isinstance(maps, Unknown) else Unknown("the maps of a ChainMap are not known")
    found = [state.find(each, DictObject) or each for each in listed.items]
    reasons = [*_reasons(found), *([listed.open] if listed.open is not None else [])]
    keys: dict[Value, None] = {}
    for each in reversed(found):
        if isinstance(each, DictObject):
            keys.update(dict.fromkeys(each.entries))
    are_known = listed.open is None and all(isinstance(each, DictObject) for each in found)
    if any(makes_items(state, each) for each in listed.items):
        reasons.append(Unknown(MADE))
    elif _is_mixed(found):
        reasons.append(Unknown("the order of the keys of a ChainMap depends on which path is taken"))
    elif state.base.has_open_keys and len(found) > 1:
        reasons.append(Unknown("whether two mappings of a ChainMap have the same key depends on sizes"))
    elif are_known:
        return {key: _first(found, key) for key in keys}, reasons[0] if reasons else None
    return {}, points_to.either_of(reasons[0], [*reasons[1:], *listed.items])


def makes_items(state: State, mapping: Value) -> bool:
    """It may make an item of a key that it lacks, so that a ChainMap asks none of those behind it."""
    item = state.find(mapping, DictObject)
    if item is None or item.cls in _PLAIN:
        return False
    maps = state.find(item.attributes[MAPS], ListObject) if MAPS in item.attributes else None
    if item.cls in (CHAIN, PROXY):
        return maps is not None and any(makes_items(state, each) for each in maps.items)
    return True


def _is_mixed(found: list[DictObject | Value]) -> bool:
    """Some paths alone have put a key into one of several mappings that have it, or into one in an order of its own."""
    known = [each for each in found if isinstance(each, DictObject)]
    if any(MIXED in each.attributes for each in known):
        return True
    unsure = {key for each in known for key, held in each.entries.items() if is_optional(held)}
    return any(sum(key in each.entries for each in known) > 1 for key in unsure)


def _reasons(found: list[DictObject | Value]) -> Iterator[Unknown]:
    for each in found:
        if isinstance(each, DictObject):
            if each.open is not None:
                yield each.open
        else:
            yield each if isinstance(each, Unknown) else Unknown("a mapping of a ChainMap is not known")


def _first(found: list[DictObject | Value], key: Value) -> Value:
    """What the first mapping has that has the key."""
    perhaps: list[Value] = []
    for each in found:
        if not isinstance(each, DictObject):
            continue
        held = each.entries.get(key)
        if held is not None and not is_optional(held):
            return points_to.either_of(Unknown(_WHICH), [*perhaps, held]) if perhaps else held
        perhaps += [one for one in (held, each.open) if one is not None]
    return points_to.either_of(Unknown(_WHICH, optional=True), perhaps)


MADE = "what the mappings of a ChainMap make of keys that they lack is not followed"
_WHICH = "which mapping of a ChainMap has a key is not known"
