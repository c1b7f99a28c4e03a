"""The objects of a kind that there are in the process, told by their types alone: no object is asked, and no class.

There may be millions, so what goes over all of them is a loop of Python's own C code, and is done where nothing else
tells it.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from itertools import compress
from typing import Any
from weakref import ref

_LOOKED_AT = 500_000
"""Objects that came since, looked at to tell single ones: from there on, all that there were are gathered instead."""


def objects_of(kinds: list[type]) -> list[Any]:
    """Those that the collector knows whose type is one of these itself."""
    wanted = set(map(id, kinds))  # a class may say itself how it is hashed and compared
    objects = gc.get_objects()
    return list(compress(objects, map(wanted.__contains__, map(id, map(type, objects)))))


def with_subclasses(kind: type) -> list[type]:
    """A class, and all that are derived from it."""
    found: dict[int, type] = {}
    pending = [kind]
    while pending:
        each = pending.pop()
        if id(each) not in found:
            found[id(each)] = each
            pending.extend(type.__subclasses__(each))
    return list(found.values())


def instances_of(kind: type, example: object) -> list[Any]:
    """Those that the collector knows whose type is this one, which is no class of Python's own making.

    Each object names its type to the collector, which asks a million in a third of the time that a list of them takes.
    `example` is one that has to be among them: where it is not, as a class in C may not do so, the list is taken.
    """
    found = [each for each in gc.get_referrers(kind) if type(each) is kind]
    return found if any(each is example for each in found) else objects_of([kind])


class Hold:
    """Says what came since `held_back` was entered."""

    def __init__(self, kind: type | None) -> None:
        self._kind = kind
        self.before: list[Any] = []
        """An object that was there; the collector lists it where somebody lets all go."""
        self._since: list[Any] | None = None
        """One that came since; the collector does not list it where somebody holds more back."""

    def begin(self) -> None:
        """From now on."""
        gc.freeze()
        self._since = []

    def is_left(self) -> bool:
        """Whether something whose type is the kind itself may have come, and not be gone again."""
        for _ in range(2 if gc.isenabled() else 0):  # a view holds its base where the collector does not see it
            if not self._may_be_left():
                return False
            gc.collect()  # of what came since: what is held back is not looked through
        return self._may_be_left()

    def _may_be_left(self) -> bool:
        objects = gc.get_objects()
        if id(self._kind) in map(id, map(type, objects)):
            return True
        there = set(map(id, objects))
        return id(self._since) not in there or id(self.before) in there


_hold: Hold | None = None
"""The one that has begun and has not ended."""


@contextlib.contextmanager
def held_back(kind: type | None = None) -> Iterator[Hold | None]:
    """What there is now is neither listed by the collector nor searched for garbage, until this is left.

    None where this is so already, and where somebody else holds objects back, which are not ours to let go.
    """
    global _hold
    if _hold is not None or gc.get_freeze_count():
        yield None
        return
    _hold = hold = Hold(kind)
    hold.begin()
    try:
        yield hold
    finally:
        _hold = None
        gc.unfreeze()


class Newcomers:
    """Tells the objects of a kind that came since from those that were there.

    It is made before what is there is held back from the collector, or while it is (`held_back`), and asked while it
    is: what the collector then lists came since. That is little, where all that there was may be a million objects.
    """

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._mark: list[Any] | None = [] if gc.get_freeze_count() == 0 else None
        """An object that was there; None where nothing can be told, as somebody else holds back or lets go."""
        self._listed: dict[int, Any] = {}
        """Those that were there and that the collector lists nevertheless, by `id`."""
        if _hold is not None:
            self._mark = _hold.before
            self._listed = {id(each): ref(each) for each in objects_of(with_subclasses(kind))}
        self._looked_at = 0
        self._there: dict[int, Any] | None = None
        """Those that were there, once they were gathered, by `id`."""

    def among(self, objects: list[Any]) -> list[bool]:
        """Of each, whether it came since; False where that cannot be told."""
        if not objects or self._mark is None:
            return [False] * len(objects)
        if self._there is None:
            came = gc.get_objects()
            ids = set(map(id, came))
            if id(self._mark) in ids:
                self._mark = None
                return [False] * len(objects)
            self._looked_at += len(came)
            if self._looked_at > _LOOKED_AT:
                self._gather(ids)
            return [id(each) in ids and not _is_in(self._listed, each) for each in objects]
        there = self._there
        return [not _is_in(there, each) for each in objects]

    def _gather(self, came: set[int]) -> None:
        gc.unfreeze()
        try:
            found = objects_of(with_subclasses(self._kind))
        finally:
            gc.freeze()
        self._there = {id(each): ref(each) for each in found if id(each) not in came or _is_in(self._listed, each)}


def _is_in(known: dict[int, Any], one: Any) -> bool:
    """Whether it is one of those, and not another in the place of one that is gone."""
    found = known.get(id(one))
    return found is not None and found() is one
