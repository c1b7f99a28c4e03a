"""Whether anybody still waits for what is interpreted: who was interrupted says so, and it ends at its next step."""

from __future__ import annotations

import threading
from typing import Protocol


class StoppedError(BaseException):
    """Nobody waits for what is interpreted any more; not an Exception, as no fault is to be made of it."""


class Job(Protocol):
    """What somebody waits for."""

    unwanted: bool


class _Here(threading.local):
    job: Job | None = None
    """What this thread was started for."""


here = _Here()


def require_wanted() -> None:
    """Called now and then by what may take long.

    Raises:
        StoppedError: who waited was interrupted.
    """
    job = here.job
    if job is not None and job.unwanted:
        raise StoppedError
