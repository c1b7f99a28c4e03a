"""One line on a terminal that says what is being done and where it is; nothing where nobody looks."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from modgraph.doors.printing import printable
from modgraph.doors.threads import start_thread
from modgraph.errors import ResourceError

if TYPE_CHECKING:
    from modgraph.graph.events import Event

_BAR = 20
"""Characters of a bar."""
_SAID_AGAIN = 0.1
"""Seconds between two looks of the line."""
_WORTH_TELLING = 2.0
"""Seconds after which the time is told."""
_BETWEEN_TICKS = 1.0
"""Seconds after which a line tells the time again of what says nothing itself."""
_WORTH_A_LINE = 20.0
"""Seconds after which it is said also where nobody looks at a terminal, once for each stage."""


class Progress:
    """One transient line on a terminal; with `verbose`, a line per finished stage instead."""

    def __init__(self, stream: TextIO, *, shown: bool, verbose: bool) -> None:
        self._stream = stream
        self._shown = shown and not verbose
        self._verbose = verbose
        self._open = False
        self._last = 0.0
        self._lock = threading.Lock()
        """What happens in the process that traces is heard by another thread."""

    def begin(self, name: str) -> None:
        """A stage begins."""
        with self._lock:
            self._draw(f"{name} ...")

    def at(self, line: str) -> None:
        """The stage has come somewhere; several times a second this is told once."""
        if not self._open or time.monotonic() - self._last < _SAID_AGAIN:
            return
        with self._lock:
            if self._open:
                self._draw(line)

    def end(self, name: str, seconds: float) -> None:
        """A stage has ended."""
        self.clear()
        if self._verbose:
            self._write(f"{printable(name)}: {seconds:.2f} s\n")

    def clear(self) -> None:
        """Take the line off."""
        with self._lock:
            self._wipe()

    def _draw(self, line: str) -> None:
        if not self._shown:
            return
        import shutil  # here, so that a check that draws nothing does not pay for it

        columns = shutil.get_terminal_size((100, 24)).columns  # a line that wraps could not be taken off
        self._write(("\r\033[K" if self._open else "") + _cut(printable(line), columns - 1))
        self._open = True
        self._last = time.monotonic()

    def _wipe(self) -> None:
        if self._open:
            self._write("\r\033[K")
            self._open = False

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the terminal is gone: the work goes on
            self._stream.write(text)
            self._stream.flush()


def _cut(line: str, columns: int) -> str:
    return line if len(line) <= columns else line[: max(0, columns - 3)] + "..."


_DOES = {"predict": "following the code of the model", "merge": "comparing", "draw": "writing the results"}
"""What a stage does that says nothing of itself."""
_WAY_OUT = {
    "predict": "it ends by itself, at a limit of work, with what is known by then. One class is faster than a whole"
    " file: name it, as model.py:Net; Ctrl-C ends it",
    "draw": "--format json writes the graph without a picture, --depth N draws less of it; Ctrl-C ends it",
}
"""What can be done about a stage that lasts. Of a run the worker tells it, which knows what it waits for."""


class Stage:
    """A stage while it lasts; made by `Console.stage`. It may be told of what happens inside."""

    def __init__(
        self,
        name: str,
        progress: Progress,
        note: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._over = threading.Event()
        self._doing = ""
        self._told = False
        self._name = name
        self._progress = progress
        self._note = note
        self._began = 0.0
        self._n_modules = 0
        self._met: set[str] = set()

    def __enter__(self) -> Stage:
        self._began = self._clock()
        self._progress.begin(self._name)
        with contextlib.suppress(ResourceError):  # the work goes on without
            start_thread(self._tick_until_over)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._progress.end(self._name, self._clock() - self._began)

    def doing(self, what: str) -> None:
        """What is done now, in words."""
        self._doing = what
        self._progress.at(f"{self._name}: {what}{self._time()}")

    def tick(self) -> None:
        """Time has passed: what is waited for, and for how long, and after a while what can be done about it."""
        spent = self._clock() - self._began
        if self._over.is_set() or spent < _WORTH_TELLING:
            return
        doing = self._doing or _DOES.get(self._name, "")
        self._progress.at(f"{self._name}: {doing}{self._time()}" if doing else f"{self._name}{self._time()}")
        if spent >= _WORTH_A_LINE and not self._told and self._name in _WAY_OUT:
            self._told = True
            self.waits(f"still {doing}, for {spent:.0f} s now; {_WAY_OUT[self._name]}")

    def _tick_until_over(self) -> None:
        while not self._over.wait(_BETWEEN_TICKS):
            self.tick()

    def waits(self, why: str) -> None:
        """It takes long, and something can be done about it: said also where nobody looks."""
        self._note(f"{self._name}: {why}")

    def event(self, event: Event) -> None:
        """What the traced run did: the bar counts modules, each once."""
        from modgraph.graph.events import EnterEvent, StartEvent

        if isinstance(event, StartEvent):
            self._n_modules = len(event.modules)
            self._met.clear()
        elif isinstance(event, EnterEvent):
            self._met.add(event.module)
            self._doing = f"{self._bar()} {event.module or 'the model'}"
            self._progress.at(f"{self._name} {self._doing}{self._time()}")

    def _bar(self) -> str:
        total = max(self._n_modules, len(self._met), 1)
        filled = _BAR * len(self._met) // total
        return f"[{'#' * filled}{'.' * (_BAR - filled)}] {len(self._met)}/{total}"

    def _time(self) -> str:
        seconds = self._clock() - self._began
        return f" ({seconds:.0f} s)" if seconds >= _WORTH_TELLING else ""
