"""Attributes of classes and modules replaced for a while, by one trace of the whole process at a time."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

from modgraph.errors import TraceError
from modgraph.tracing.basics.interruptions import let_through
from modgraph.tracing.basics.threads import Inside, follow_threads

_SECONDS_BETWEEN_LOOKS = 0.1
"""How often who waits for another trace to end looks whether Ctrl-C was pressed."""


class Patches:
    """Attributes replaced on classes and modules, each put back as it was found."""

    def __init__(self, undo: contextlib.ExitStack) -> None:
        self._undo = undo
        self._done: set[tuple[int, str]] = set()

    def replace(self, owner: Any, name: str, value: Any) -> bool:
        """Set `owner.name`, once; False where a class refuses it, as some made in C do, or has it already."""
        if (id(owner), name) in self._done:
            return False
        had_own = name in vars(owner)
        before = vars(owner).get(name)
        try:
            setattr(owner, name, value)
        except (TypeError, AttributeError):
            return False
        self._done.add((id(owner), name))
        if had_own:
            self._undo.callback(setattr, owner, name, before)
        else:
            self._undo.callback(delattr, owner, name)
        return True

    def replace_item(self, mapping: dict[str, Any], name: str, value: Any) -> None:
        """Set `mapping[name]`, which there is."""
        self._undo.callback(mapping.__setitem__, name, mapping[name])
        mapping[name] = value


class _Descent(threading.local):
    trace: object | None = None
    """The trace in which this thread takes part, or last did: it holds the lock, or descends from one that does."""


class _OneAtATime:
    """A lock that one thread may take several times over, and that knows the threads which its holder has started.

    One of those, waiting for its turn, would wait for ever where the holder waits for it to end.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._trace: object | None = None
        self._here = _Descent()
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            if self._takes_part():
                raise TraceError(
                    "a model that is being traced has started a thread that traces another one",
                    hint="trace the other one by itself, or in the thread that runs the model",
                )
            while not self._lock.acquire(timeout=_SECONDS_BETWEEN_LOOKS):
                with let_through():
                    pass
        self._depth += 1
        if self._depth == 1:
            self._trace = self._here.trace = object()
            follow_threads(Patches(self._undo).replace, self._fork)

    def __exit__(self, *_: object) -> None:
        try:
            if self._depth == 1:
                self._undo.close()
                self._trace = self._here.trace = None
        finally:
            self._depth -= 1
            self._lock.release()

    def _takes_part(self) -> bool:
        return self._here.trace is not None and self._here.trace is self._trace

    def _fork(self) -> Inside | None:
        return functools.partial(self._descending, self._trace) if self._takes_part() else None

    @contextlib.contextmanager
    def _descending(self, trace: object) -> Iterator[None]:
        before, self._here.trace = self._here.trace, trace
        try:
            yield
        finally:
            self._here.trace = before


one_at_a_time = _OneAtATime()
"""Held from the first look at a model until it is as before: patches, flags and generators are of the process."""
