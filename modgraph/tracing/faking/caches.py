"""Functions that remember what they gave (`lru_cache`) do not remember fake tensors once a fake run is over."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Iterator
from itertools import compress
from typing import Any

from torch._subclasses.fake_tensor import FakeTensor

from modgraph.tracing.basics.alive import instances_of

_example = functools.lru_cache(lambda: None)
_Remembering = type(_example)
_HOLDING = frozenset(map(id, (_Remembering, tuple, list, dict)))
_DEPTH = 4
"""Containers in containers that are looked into."""


@contextlib.contextmanager
def nothing_fake_remembered() -> Iterator[None]:
    """On leaving, what has a fake tensor among its remembered results forgets all of them; a real run would get it."""
    try:
        yield
    finally:
        remembering = instances_of(_Remembering, _example)
        if _hold_fake(remembering):
            for each in remembering:
                if _hold_fake([each]):
                    each.cache_clear()


def _hold_fake(caches: list[Any]) -> bool:
    """Whether one of them does. They are looked at all together, as there are hundreds, and mostly none does."""
    holding = caches
    for _ in range(_DEPTH):
        inside = gc.get_referents(*holding)
        kinds = list(map(id, map(type, inside)))
        if id(FakeTensor) in kinds:
            return True
        holding = list(compress(inside, map(_HOLDING.__contains__, kinds)))
    return False
