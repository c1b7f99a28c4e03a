"""The objects of a kind that there are in the process, told by their types alone: no object is asked, and no class.

There may be millions, so what goes over all of them is a loop of Python's own C code.
"""

from __future__ import annotations

import gc
from itertools import compress
from typing import Any


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
