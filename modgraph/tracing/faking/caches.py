"""Functions that remember what they gave (`lru_cache`) do not remember fake tensors once a fake run is over."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Iterator
from itertools import compress
from typing import Any

from torch._subclasses.fake_tensor import FakeTensor

from modgraph.tracing.basics.alive import held_back, instances_of

_example = functools.lru_cache(lambda: None)
_Remembering = type(_example)
_HOLDING = frozenset(map(id, (_Remembering, tuple, list, dict)))
_DEPTH = 4
"""Containers in containers that are looked into."""


_inside: list[Any] = []
"""What is entered; one thread at a time runs models (`one_at_a_time`)."""


@contextlib.contextmanager
def nothing_fake_remembered(*, made_here: bool) -> Iterator[None]:
    """On leaving, what has a fake tensor among its remembered results forgets all of them; a real run would get it.

    `made_here`: all that the run has to do with is made in here, so that nobody needs to be asked where none is left.
    """
    if _inside:
        yield  # the outer one sees to it
        return
    left = True
    try:
        with held_back(FakeTensor) if made_here else contextlib.nullcontext() as hold:
            _inside.append(hold)
            try:
                yield
            finally:
                _inside.pop()
                left = hold is None or hold.is_left()
    finally:
        if left:
            _forget()


def _forget() -> None:
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
