"""Ctrl-C and requests to end: they wait while something is taken down, and come again where Python has lost them."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
NUMBERS = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))
"""Signals that ask a process to end; Windows has no SIGHUP."""
_ONE_WISH_SECONDS = 2.0
"""Signals so close to each other are one wish: the second must not disturb what the first has begun to take down."""
_AGAIN_SECONDS = 0.01


class Terminated(KeyboardInterrupt):
    """A signal that is not Ctrl-C asked this process to end.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Inside, signals that would raise an exception wait until the end; they are then as if they came at that moment.

    Handlers are the process's own and belong to its main thread: elsewhere this does nothing, and need not.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[tuple[int, Any]] = []
    before: dict[int, Any] = {}
    try:
        for number in NUMBERS:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, lambda number, frame: waiting.append((number, frame)))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in waiting[:1]:
            before[number](number, frame)


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """Inside, Ctrl-C raises KeyboardInterrupt, and the other signals raise `Terminated`, once for signals that come
    together; and also where Python would only print it, in a destructor or a callback.

    A signal that this process ignores, as under nohup, stays ignored. Does nothing outside of the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last = -_ONE_WISH_SECONDS

    def end(number: int, _frame: object) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _ONE_WISH_SECONDS:
            return
        last = now
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    def unraisable(what: Any) -> None:
        nonlocal last
        if not issubclass(what.exc_type, KeyboardInterrupt):
            hook(what)
            return
        last = -_ONE_WISH_SECONDS
        _signal_soon(getattr(what.exc_value, "number", signal.SIGINT))

    hook = sys.unraisablehook
    before = {number: signal.getsignal(number) for number in NUMBERS}
    changed = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    try:
        for number in changed:
            signal.signal(number, end)
        sys.unraisablehook = unraisable
        yield
    finally:
        sys.unraisablehook = hook
        for number in changed:
            signal.signal(number, before[number])


def _signal_soon(number: int) -> None:
    """As if the signal came once more, when Python has left the place where an exception leads nowhere."""
    import _thread

    def later() -> None:
        time.sleep(_AGAIN_SECONDS)
        _thread.interrupt_main(signal.Signals(number))

    with contextlib.suppress(RuntimeError):  # no thread is left: this one is lost, and the next is one wish of its own
        _thread.start_new_thread(later, ())
