"""How long one search for arguments may take.

What it reads and follows is counted, each file for itself; the clock is a last resort for all of it together, and for
what is not counted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from modgraph.prediction.domain import limits

_until: ContextVar[float] = ContextVar("until", default=math.inf)


class SearchOverError(BaseException):
    """It has taken too long; not an Exception, as no file is at fault."""


@contextmanager
def limited() -> Iterator[None]:
    """What is searched inside ends in time; a search inside another one has its time."""
    token = _until.set(min(_until.get(), time.monotonic() + limits.MAX_SECONDS))
    try:
        yield
    finally:
        _until.reset(token)


def until() -> float:
    """When it is over, by the clock of `time.monotonic`."""
    return _until.get()


def require_time() -> None:
    """Asked before each file is read, parsed or followed.

    Raises:
        SearchOverError: it is over.
    """
    if time.monotonic() > _until.get():
        raise SearchOverError
