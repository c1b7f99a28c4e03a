"""Runs the interpretation in a thread whose stack is deep enough for any nesting that the limits allow.

The recursion limit, the thresholds of the garbage collector and the stack size of new threads hold for the whole
process, which may be the user's own. They are set and put back in threads of ours, which no Ctrl-C interrupts; a caller
that is interrupted says so, the interpretation hears of it at its next step, and the caller waits until it has ended.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import Generic, TypeVar

from modgraph.doors.threads import OwnThread, start_thread
from modgraph.errors import ModgraphError, ResourceError
from modgraph.prediction.domain.stopping import here

_MIB = 1024 * 1024
_STACKS = (512 * _MIB, 128 * _MIB, 32 * _MIB)
"""The next is tried where there is no memory for one."""
_RECURSION = 60_000
"""With the largest stack; in proportion with a smaller one."""
_FRAMES = 2**18
"""Python keeps frames in chunks of 16 KiB, fetches one from the system at a call across the end of the last, and gives
it back when the call returns: a loop at such a place is several times slower. A frame that claims so many words gets a
chunk of twice that size (4 MiB, touched only as far as it is used), in which there is room for all that follow."""
_COLLECTIONS = (1_000_000, 20, 50)
"""Trees and values are many, live long and hold few cycles: looking through them often finds nothing."""

Result = TypeVar("Result")


def with_deep_stack(function: Callable[[], Result]) -> Result:
    """Runs it where Python's stack is deep enough for any nesting that the limits allow.

    Raises:
        ModgraphError: there is no memory for a further thread.
    """
    if here.job is not None:
        return function()
    job = _Job(function)
    try:
        job.start()
        job.wait()
    finally:
        job.stop()
    return job.result()


class _ProcessWide:
    """What is set for the whole process while any prediction runs; the last one out puts it back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._outer = (0, (0, 0, 0))
        self._limit = 0

    def set(self, limit: int) -> None:
        with self._lock:
            if not self._users:
                self._outer = sys.getrecursionlimit(), gc.get_threshold()
            self._users += 1
            self._limit = max(sys.getrecursionlimit(), limit)
            sys.setrecursionlimit(self._limit)
            gc.set_threshold(*_COLLECTIONS)

    def put_back(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            limit, thresholds = self._outer
            if sys.getrecursionlimit() == self._limit:  # else others have changed it meanwhile
                sys.setrecursionlimit(limit)
            if gc.get_threshold() == _COLLECTIONS:
                gc.set_threshold(*thresholds)


_process_wide = _ProcessWide()
_stack_size = threading.Lock()
"""Held while threads are started with a stack size of their own."""


class _Job(Generic[Result]):
    """One call in a thread of its own."""

    def __init__(self, function: Callable[[], Result]) -> None:
        self.unwanted = False
        self._function = function
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self._begun = False
        self._lock = threading.Lock()
        self._launcher: OwnThread | None = None
        self._thread: OwnThread | None = None

    def start(self) -> None:
        """Starts the thread, by way of another: the stack size is for threads that are started later, and an
        interruption here must not leave it."""
        try:
            self._launcher = OwnThread(self._launch)
            self._launcher.start()
        except (ResourceError, MemoryError):
            raise _no_thread() from None
        self._launcher.join()

    def wait(self) -> None:
        """Until the thread has ended, if there is one."""
        if not self._begun:
            return
        if self._launcher is not None:
            self._launcher.join()
        if self._thread is not None:  # the launcher has set it, if there is one
            self._thread.join()

    def stop(self) -> None:
        """Has the thread end, where it has not, and waits for it."""
        with self._lock:
            self.unwanted = True
        self.wait()

    def result(self) -> Result:
        if self._error is not None:
            raise self._error
        if not self._results:
            raise _no_thread()
        return self._results[0]

    def _launch(self) -> None:
        with self._lock:
            if self.unwanted:
                return
            self._begun = True
        with suppress(MemoryError):
            any(self._is_started(size) for size in _STACKS)

    def _is_started(self, size: int) -> bool:
        """Whether there is a thread with a stack of that size."""
        try:
            with _stack_size:
                outer = threading.stack_size(size)
                try:
                    self._thread = start_thread(partial(self._run, size))
                finally:
                    threading.stack_size(outer)
        except (ResourceError, MemoryError):
            return False
        return True

    def _run(self, size: int) -> None:
        try:
            here.job = self
            _process_wide.set(_RECURSION * size // _STACKS[0])
            try:
                self._in_one_chunk()
            finally:
                _process_wide.put_back()
        except BaseException as error:  # handed over to the thread that asked
            self._error = error

    def _in_one_chunk(self) -> None:
        called: list[bool] = []

        def call() -> None:
            called.append(True)
            self._results.append(self._function())

        try:
            _call_in_one_chunk(call)
        except MemoryError:
            if called:
                raise
            call()  # there is no memory for the chunk


def _no_thread() -> ModgraphError:
    return ModgraphError(
        "there is no memory for the thread in which source is interpreted",
        hint=f"allow this process {_STACKS[-1] // _MIB} MB more (ulimit -v), and further threads (ulimit -u)",
    )


def _call(function: Callable[[], None]) -> None:
    function()


_call_in_one_chunk = FunctionType(_call.__code__.replace(co_stacksize=_FRAMES), globals())
