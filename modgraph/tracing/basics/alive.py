"""The objects of a kind that there are in the process, told by their types alone: no object is asked, and no class.

There may be millions, so what goes over all of them is a loop of Python's own C code, and is done where nothing else
tells it.
"""

from __future__ import annotations

import gc
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


class Newcomers:
    """Tells the objects of a kind that came since from those that were there.

    It is made before what is there is held back from the collector (`gc.freeze`), and asked while it is: what the
    collector then lists came since. That is little, where all that there was may be a million objects.
    """

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._mark: list[Any] | None = [] if gc.get_freeze_count() == 0 else None
        """An object that was there; None where nothing can be told, as somebody else holds back or lets go."""
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
            return [id(each) in ids for each in objects]
        known = [self._there.get(id(each)) for each in objects]
        return [found is None or found() is not each for found, each in zip(known, objects, strict=True)]

    def _gather(self, came: set[int]) -> None:
        gc.unfreeze()
        try:
            found = objects_of(with_subclasses(self._kind))
        finally:
            gc.freeze()
        self._there = {id(each): ref(each) for each in found if id(each) not in came}
