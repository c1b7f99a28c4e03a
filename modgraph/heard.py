"""What a worker has said over its pipe so far. The user's code can write there too: no line of it does any harm."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from modgraph import errors
from modgraph.errors import GraphError, ModgraphError, TraceError
from modgraph.graph.events import Event


class Watcher(Protocol):
    """Is told what happens in the worker, on another thread."""

    def doing(self, what: str) -> None:
        """What the worker does now, in words."""

    def event(self, event: Event) -> None:
        """An event of the traced run."""


class Heard:
    """What the worker has said so far."""

    def __init__(self, on_event: Callable[[Event], None] | None = None, watcher: Watcher | None = None) -> None:
        self.events: list[Event] = []
        self.stage = "starting"
        self.probing = False
        self.error: ModgraphError | None = None
        self.warnings: list[str] = []
        self.captured: dict[str, Any] | None = None
        self.checkpoint: dict[str, dict[str, list[int] | str | None]] | None = None
        self.ended = False
        self.n_malformed = 0
        """Lines that no worker writes."""
        self.began = threading.Event()
        """The worker is through with importing what is not the user's."""
        self._since = 0.0
        self._on_event = on_event
        self._watcher = watcher

    @property
    def seconds(self) -> float:
        """How long the user's code has run."""
        return time.monotonic() - self._since if self.began.is_set() else 0.0

    def anew(self) -> Heard:
        """For another worker: nothing heard yet, the same listeners."""
        return Heard(self._on_event, self._watcher)

    def line(self, text: str) -> None:
        """Take in one line. The user's code can write into the pipe too: what makes no sense is counted, not raised."""
        try:
            event = self._taken(text)
        except (ValueError, RecursionError, GraphError, TypeError, KeyError, AttributeError):
            self.n_malformed += text.endswith("\n")  # else the last line of a process that died while it wrote
            return
        if event is not None:
            self.events.append(event)
            if self._on_event is not None:
                self._on_event(event)
            if self._watcher is not None:
                self._watcher.event(event)

    def _taken(self, text: str) -> Event | None:
        """The event that a line tells; None for what it says beside them.

        Raises:
            ValueError: it is not of those that the worker writes; so do the other errors that `line` knows.
        """
        message = _of(dict, json.loads(text))
        if "event" in message:
            return Event.from_record(message)
        if "stage" in message:
            self.stage, self.probing = _of(str, message["stage"]), _of(bool, message.get("probing", False))
            if message.get("begins") is True and not self.began.is_set():
                self._since = time.monotonic()
                self.began.set()
            if self._watcher is not None:
                self._watcher.doing(self.stage)
        elif "failed" in message:
            self.error = _error_from(_of(dict, message["failed"]))
        elif "warning" in message:
            self.warnings.append(_of(str, message["warning"]))
        elif "captured" in message:
            self.captured = _captured(message["captured"])
        elif "checkpoint" in message:
            self.checkpoint = _checkpoint(message["checkpoint"])
        elif "end" in message:
            self.ended = True
        else:
            raise ValueError("none of those")
        return None


_T = TypeVar("_T")


def _of(kind: type[_T], value: Any) -> _T:
    """`value`, which is of `kind`.

    Raises:
        ValueError: it is not.
    """
    if type(value) is not kind:
        raise ValueError(f"{kind.__name__} expected")
    return value


def _captured(value: Any) -> dict[str, Any]:
    fields = _of(dict, value)
    if fields.get("error") is not None:
        _of(str, fields["error"])
    return fields


def _checkpoint(value: Any) -> dict[str, dict[str, list[int] | str | None]]:
    for table in _of(dict, value).values():
        for shape in _of(dict, table).values():
            if type(shape) is list:
                for size in shape:
                    _of(int, size)
            elif shape is not None:
                _of(str, shape)
    return _of(dict, value)


def _error_from(fields: dict[str, Any]) -> ModgraphError:
    kind: Any = getattr(errors, _of(str, fields["kind"]), TraceError)
    if not isinstance(kind, type) or not issubclass(kind, ModgraphError):
        raise ValueError("no error of ours")
    if issubclass(kind, TraceError):
        names: tuple[str, ...] = ("module", "file", "line", "hint")
    else:
        names = ("file", "line", "column", "text", "hint")
    given = {name: fields[name] for name in names}
    for name, value in given.items():
        if value is not None:
            _of(int if name in ("line", "column") else str, value)
    made: ModgraphError = kind(_of(str, fields["message"]), **given)
    return made
