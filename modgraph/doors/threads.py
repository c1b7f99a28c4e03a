"""The one starter of threads: where the system has none left, or no memory for one, that is an error of ours.

`threading.Thread.start()` waits until the new thread says that it runs. A thread whose memory ends before it has said
so is gone, and the wait has no end (CPython 3.10 to 3.13, `Thread._bootstrap_inner`). Threads of ours begin with as
little Python as can be, to say so takes no memory, and a start is waited for within a limit.
"""

from __future__ import annotations

import sys
import threading
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable

from modgraph.errors import ResourceError

START_SECONDS = 10.0
"""How long a thread may take to begin; one whose memory has ended never does."""
_LOOK_SECONDS = 1.0
"""A Ctrl-C may come when a lock has just been acquired, which is then held for good: who waits for it looks again."""


class OwnThread:
    """A thread that does not keep the process from ending; made by `start_thread`."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._unwanted = False
        self._is_over = False
        self._begun = allocate_lock()
        self._ended = allocate_lock()
        self._begun.acquire()
        self._ended.acquire()

    def start(self) -> None:
        """Raises ResourceError where the system has none left."""
        try:
            start_new_thread(self._run, ())
        except (RuntimeError, MemoryError) as error:
            raise _none_left() from error
        if not self._begun.acquire(timeout=START_SECONDS):
            self._unwanted = True
            raise _none_left()

    def join(self, seconds: float | None = None) -> bool:
        """Wait for its end; whether it came. None waits as long as it takes."""
        until = None if seconds is None else time.monotonic() + seconds
        while not self._is_over:
            left = _LOOK_SECONDS if until is None else until - time.monotonic()
            if self._ended.acquire(timeout=min(max(0.0, left), _LOOK_SECONDS)):
                self._ended.release()
            elif left <= 0:
                return False
        return True

    def _run(self) -> None:
        try:
            self._begun.release()
            if not self._unwanted:
                _be_observed()
                self._function()
        finally:
            self._is_over = True
            self._ended.release()


def _be_observed() -> None:
    """As in threads of `threading`: debuggers, coverage and profilers see what it runs."""
    if (trace := threading.gettrace()) is not None:
        sys.settrace(trace)
    if (profile := threading.getprofile()) is not None:
        sys.setprofile(profile)


def start_thread(function: Callable[[], object]) -> OwnThread:
    """Call a function in a thread of its own.

    Raises:
        ResourceError: the system has no thread left, or no memory for one.
    """
    thread = OwnThread(function)
    thread.start()
    return thread


def _none_left() -> ResourceError:
    return ResourceError(
        "no thread can be started", hint="this machine, or a limit of this user (ulimit -a), allows no more"
    )
