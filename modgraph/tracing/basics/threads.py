"""Threads started, and tasks handed to a pool, go on with something that the thread they come from is in."""

from __future__ import annotations

import _thread
import contextlib
import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

Inside = Callable[[], contextlib.AbstractContextManager[None]]
"""What the other thread enters."""
Replace = Callable[[Any, str, Any], Any]
"""Sets an attribute of a class or module, for a while."""


def follow_threads(replace: Replace, fork: Callable[[], Inside | None]) -> None:
    """Have what `fork` gives in the thread that starts another entered in the other; nothing where it gives None."""
    _follow_started(replace, fork)
    _follow_tasks(replace, fork)
    _follow_raw(replace, fork)


def _follow_started(replace: Replace, fork: Callable[[], Inside | None]) -> None:
    start: Callable[..., Any] = vars(threading.Thread)["start"]
    bootstrap: Callable[..., Any] | None = vars(threading.Thread).get("_bootstrap_inner")
    started: dict[int, Any] = {}

    @functools.wraps(start)
    def traced_start(self: threading.Thread) -> None:
        inside = fork()
        if inside is not None:
            started[id(self)] = (self, inside)
        start(self)

    def traced_bootstrap(self: threading.Thread) -> None:
        assert bootstrap is not None
        _, inside = started.pop(id(self), (self, contextlib.nullcontext))
        with inside():
            bootstrap(self)

    if bootstrap is not None:
        replace(threading.Thread, "start", traced_start)
        replace(threading.Thread, "_bootstrap_inner", traced_bootstrap)


def _follow_tasks(replace: Replace, fork: Callable[[], Inside | None]) -> None:
    submit: Callable[..., Any] = vars(ThreadPoolExecutor)["submit"]

    @functools.wraps(submit)
    def traced_submit(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        inside = fork()
        if inside is None:
            return submit(self, fn, *args, **kwargs)

        def task(*args: Any, **kwargs: Any) -> Any:
            with inside():
                return fn(*args, **kwargs)

        return submit(self, task, *args, **kwargs)

    replace(ThreadPoolExecutor, "submit", traced_submit)


def _follow_raw(replace: Replace, fork: Callable[[], Inside | None]) -> None:
    start: Callable[..., Any] = _thread.start_new_thread

    @functools.wraps(start)
    def traced_start(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any = None) -> Any:
        inside = fork()
        if inside is None:
            return start(function, args, kwargs or {})

        def run(*args: Any, **kwargs: Any) -> None:
            with inside():
                function(*args, **kwargs)

        return start(run, args, kwargs or {})

    replace(_thread, "start_new_thread", traced_start)
