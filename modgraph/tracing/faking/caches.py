"""Functions that remember what they gave (`lru_cache`) do not remember fake tensors once a fake run is over."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Iterator
from typing import Any

from torch._subclasses.fake_tensor import FakeTensor

from modgraph.tracing.basics.alive import objects_of

_Remembering = type(functools.lru_cache(lambda: None))
_DEPTH = 4
"""Containers in containers that are looked into."""


@contextlib.contextmanager
def nothing_fake_remembered() -> Iterator[None]:
    """On leaving, what has a fake tensor among its remembered results forgets all of them; a real run would get it."""
    try:
        yield
    finally:
        for found in objects_of([_Remembering]):
            if _holds_fake(found, _DEPTH):
                found.cache_clear()


def _holds_fake(value: Any, depth: int) -> bool:
    if type(value) is FakeTensor:
        return True
    if depth == 0 or type(value) not in (_Remembering, tuple, list, dict):
        return False
    return any(_holds_fake(inside, depth - 1) for inside in gc.get_referents(value))
