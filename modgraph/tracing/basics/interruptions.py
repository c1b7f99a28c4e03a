"""Ctrl-C while a model is traced: it ends the model's code at any moment, and ours only where all is put back."""

from __future__ import annotations

import contextlib
import importlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

getsignal: Callable[[int], Any] = importlib.import_module("_signal").getsignal
"""`signal.getsignal` makes an enumeration's member of each handler."""


class _Guard:
    """Stands before the handler that was there: an interruption goes on to it while the model runs, else it waits."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self._noted: tuple[Any, ...] | None = None
        self.is_open = False

    def __call__(self, *arguments: Any) -> None:
        if not self.is_open:
            self._noted = arguments
            return
        self.is_open = False  # a second one must not meet what the first has set off: everything being put back
        self._handler(*arguments)
        self.is_open = True  # its handler went on as if nothing were

    def tell(self) -> None:
        """Pass on what was kept."""
        noted, self._noted = self._noted, None
        if noted is not None:
            self._handler(*noted)


_guard: _Guard | None = None
"""The one that stands now."""


@contextlib.contextmanager
def kept_for_later() -> Iterator[None]:
    """An interruption inside comes when this is left, but for what runs inside `let_through`.

    Only the main thread gets any, and only where a handler of Python's waits for it.
    """
    global _guard
    before = _guard
    if (before is not None and not before.is_open) or threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = getsignal(signal.SIGINT)
    if not callable(handler):
        yield
        return
    guard = _guard = _Guard(handler)
    signal.signal(signal.SIGINT, guard)
    try:
        yield
    finally:
        _guard = before
        if getsignal(signal.SIGINT) is guard:
            signal.signal(signal.SIGINT, handler)
        guard.tell()


@contextlib.contextmanager
def let_through() -> Iterator[None]:
    """Here the user's code runs: an interruption ends it."""
    guard = _guard
    if guard is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    guard.tell()
    was_open, guard.is_open = guard.is_open, True
    try:
        yield
    finally:
        guard.is_open = was_open
