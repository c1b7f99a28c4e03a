"""What a worker has said over its pipe so far. The user's code can write there too: no line of it does any harm.

What it costs to keep a line is known before it is read, from its length and the number of its values. One that is too
large is counted and left out; when all that is kept has become too much, the record is full, and the run is ended.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO, Any, Protocol, TypeVar

from modgraph import errors
from modgraph.errors import GraphError, ModgraphError, TraceError
from modgraph.graph.codec import as_text, decode, encode
from modgraph.graph.events import Event, ModuleEvent, SizedEvent, StartEvent
from modgraph.graph.model import MissingWeights

MAX_LINE = 64 * 2**20
"""Bytes of one line. The first event holds all modules: some 500 bytes for each."""
MAX_RECORD = 2**30
"""What all lines that are kept may cost, in bytes of this process as `_cost` reckons them: some 300,000 events."""
_VALUE = 64
"""Bytes that one value of a line is taken to need."""
_MAX_SIZE = 2**63
_CHUNK = 1 << 20
_MAX_TEXT = 20_000
"""Characters of a message."""
_MAX_PATH = 1 << 14
"""Characters of the path of a module."""
_STEP_SHARE = 64
"""Looking for what a path lies below takes time with the square of its length: a byte of record for so many steps."""


class Watcher(Protocol):
    """Is told what happens in the worker, on another thread."""

    def doing(self, what: str) -> None:
        """What the worker does now, in words."""

    def event(self, event: Event) -> None:
        """An event of the traced run."""

    def waits(self, why: str) -> None:
        """The worker has taken long over something that the user's code does, and what can be done about it."""


class Heard:
    """What the worker has said so far."""

    def __init__(self, on_event: Callable[[Event], None] | None = None, watcher: Watcher | None = None) -> None:
        self.events: list[Event] = []
        self.stage = "starting"
        self.probing = False
        self.importing = False
        """The user's file is being imported, and its model built."""
        self.imported = False
        """The user's file came to its end while it was imported."""
        self.import_at: tuple[str, int, str] | None = None
        """The file of the project that was being executed while it was imported, the line, and what it raised, if that
        ended it."""
        self.error: ModgraphError | None = None
        self.absent_package: str | None = None
        """A package that is not installed, for want of which the model could not be imported."""
        self.lacking: dict[str, Any] | None = None
        """Weights that are not there, for want of which the model could not be built."""
        self.elsewhere = False
        """The model asks for a device that is not here, and ended for want of it."""
        self.warnings: list[str] = []
        self.captured: dict[str, Any] | None = None
        self.checkpoint: dict[str, dict[str, list[int] | str | None]] | None = None
        self.ended = False
        self.doubts_told = False
        """All is said that makes the graph less than complete."""
        self.n_malformed = 0
        """Lines that no worker writes, or that are too long."""
        self.full = False
        """More was said than is kept; what came after it is left out."""
        self.began = threading.Event()
        """The worker is through with importing what is not the user's."""
        self.closed = threading.Event()
        """Nobody can say anything more."""
        self._since = 0.0
        self._cost = 0
        self._on_event = on_event
        self._watcher = watcher

    @property
    def seconds(self) -> float:
        """How long the user's code has run."""
        return time.monotonic() - self._since if self.began.is_set() else 0.0

    def anew(self) -> Heard:
        """For another worker: nothing heard yet, the same listeners."""
        return Heard(self._on_event, self._watcher)

    def tell_wait(self, why: str) -> None:
        """Say that the worker takes long over something, and what can be done about it."""
        if self._watcher is not None:
            self._watcher.waits(why)

    def listen(self, reading: IO[bytes]) -> None:
        """Take in all lines, until nobody can write any more. Then the stream is closed."""
        try:
            with reading:
                for line in lines_of(reading):
                    if line is None:
                        self.n_malformed += 1
                    else:
                        self.line(line.decode("utf-8", "replace"))
        finally:
            self.closed.set()

    def line(self, text: str) -> None:
        """Take in one line. The user's code can write into the pipe too: what makes no sense is counted, not raised."""
        if self.full:
            return
        # Python keeps a text with one character from outside of the first plane in four bytes for each.
        cost = len(text) * (1 if text.isascii() else 4) + _VALUE * sum(map(text.count, "[{,"))
        if cost > MAX_RECORD - self._cost:
            self.full = True
            return
        try:
            event = self._taken(text)
            cost += 0 if event is None else _steps(event) // _STEP_SHARE
        except (ValueError, RecursionError, GraphError, TypeError, KeyError, AttributeError):
            self.n_malformed += text.endswith("\n")  # else the last line of a process that died while it wrote
            return
        if event is not None:
            self._cost += cost
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
            stage, probing = _of(str, message["stage"]), _of(bool, message.get("probing", False))
            self.stage, self.probing, self.importing = stage, probing, message.get("begins") is True
            if self.importing and not self.began.is_set():
                self._since = time.monotonic()
                self.began.set()
            if self._watcher is not None:
                self._watcher.doing(self.stage)
        elif "imported" in message:
            self.imported = _of(bool, message["imported"])
        elif "import_at" in message:
            file, line, error = _of(list, message["import_at"])
            if _of(str, error) or self.import_at is None or not self.import_at[2]:  # who looks may say so too late
                self.import_at = _of(str, file), _of(int, line), _of(str, error)
        elif "failed" in message:
            self.error = _error_from(_of(dict, message["failed"]))
        elif "absent" in message:
            self.absent_package = _of(str, message["absent"])
        elif "lacking" in message:
            self.lacking = _lacking(message["lacking"])
            self._cost += len(text) + _VALUE
        elif "elsewhere" in message:
            self.elsewhere = _of(bool, message["elsewhere"])
        elif "doubts_told" in message:
            self.doubts_told = _of(bool, message["doubts_told"])
        elif "warning" in message:
            self.warnings.append(_of(str, message["warning"]))
            self._cost += len(text) + _VALUE
        elif "captured" in message:
            self.captured = _captured(message["captured"])
        elif "checkpoint" in message:
            self.checkpoint = _checkpoint(message["checkpoint"])
        elif "end" in message:
            self.ended = True
        else:
            raise ValueError("none of those")
        return None


def lines_of(reading: IO[bytes], most: int | None = None) -> Iterator[bytes | None]:
    """The lines of a stream, the last one also where it has no end; None in the place of one that is longer than
    `most` bytes, of which no more than that is ever held."""
    most = MAX_LINE if most is None else most
    held = bytearray()
    too_long = False
    while data := reading.read1(_CHUNK):  # type: ignore[attr-defined]
        *ended, rest = data.split(b"\n")
        for part in ended:
            too_long = too_long or len(held) + len(part) > most
            yield None if too_long else bytes(held + part) + b"\n"
            held.clear()
            too_long = False
        too_long = too_long or len(held) + len(rest) > most
        if too_long:
            held.clear()
        else:
            held += rest
    if held:
        yield bytes(held)


def _steps(event: Event) -> int:
    """What it takes to find the modules that those of an event lie below.

    Raises:
        ValueError: a path is too long.
    """
    if not isinstance(event, StartEvent | ModuleEvent | SizedEvent):
        return 0
    longest = max((len(node.path) for node in event.modules), default=0)
    if longest > _MAX_PATH:
        raise ValueError("the path of a module is too long")
    return sum(len(node.path) * node.path.count(".") for node in event.modules)


_T = TypeVar("_T")


def _of(kind: type[_T], value: Any) -> _T:
    """`value`, which is of `kind`.

    Raises:
        ValueError: it is not.
    """
    if type(value) is not kind:
        raise ValueError(f"{kind.__name__} expected")
    return as_text(value)[:_MAX_TEXT] if kind is str else value  # type: ignore[return-value]


def _captured(value: Any) -> dict[str, Any]:
    fields = _of(dict, value)
    if fields.get("error") is not None:
        fields["error"] = _of(str, fields["error"])
    return fields


def _lacking(value: Any) -> dict[str, Any]:
    """As it is handed on to another worker."""
    weights = decode(MissingWeights, _of(dict, value)["weights"])
    return {"weights": encode(weights), "modules": [_of(str, each) for each in _of(list, value["modules"])]}


def _checkpoint(value: Any) -> dict[str, dict[str, list[int] | str | None]]:
    return {
        as_text(entry): {as_text(key): _shape(shape) for key, shape in _of(dict, table).items()}
        for entry, table in _of(dict, value).items()
    }


def _shape(value: Any) -> list[int] | str | None:
    if type(value) is list:
        return [_size(size) for size in value]
    return None if value is None else _of(str, value)


def _size(value: Any) -> int:
    if not 0 <= _of(int, value) < _MAX_SIZE:
        raise ValueError("a size of a tensor expected")
    return _of(int, value)


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
            given[name] = _of(int if name in ("line", "column") else str, value)
    made: ModgraphError = kind(_of(str, fields["message"]), **given)
    return made
