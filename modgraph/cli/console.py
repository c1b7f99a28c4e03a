"""Standard output for results, standard error for everything else; colour and progress only where a person looks."""

from __future__ import annotations

import os
import sys
from typing import Literal, TextIO

from modgraph.cli.progress import Progress, Stage
from modgraph.errors import ModgraphError

_RED, _YELLOW, _CYAN, _BOLD, _DIM, _RESET = "\033[31m", "\033[33m", "\033[36m", "\033[1m", "\033[2m", "\033[0m"


class Console:
    """Where a command prints.

    Args:
        color: "always" and "never" beat the environment (`NO_COLOR`, `FORCE_COLOR`, `TERM=dumb`) and the terminal.
        quiet: errors alone.
        verbose: each finished stage with its time, also where nobody looks.
        debug: the traceback below an error.
    """

    def __init__(
        self,
        *,
        color: Literal["auto", "always", "never"] = "auto",
        quiet: bool = False,
        verbose: bool = False,
        debug: bool = False,
    ) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.debug = debug
        for stream in (sys.stdout, sys.stderr):
            _speak_utf8(stream)
        self.color = _colored(color, sys.stdout)
        self._color_errors = _colored(color, sys.stderr)
        self.unicode = _can_show(sys.stdout)
        self.one_terminal = not quiet and sys.stdout.isatty() and sys.stderr.isatty()
        """A person sees both streams together."""
        self._progress = Progress(sys.stderr, shown=not quiet and _watched(sys.stderr), verbose=verbose and not quiet)

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        import shutil

        return shutil.get_terminal_size((100, 24)).columns

    def result(self, text: str) -> None:
        """Print a result on standard output."""
        self._progress.clear()
        sys.stdout.write(text if text.endswith("\n") else text + "\n")

    def result_bytes(self, content: bytes) -> None:
        """Print a binary result on standard output."""
        self._progress.clear()
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()

    def reader_has_gone(self) -> None:
        """Nobody reads standard output any more (`modgraph ... | head`): leave quietly, and keep the interpreter from
        failing again as it flushes on its way out."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def note(self, text: str) -> None:
        """Say something useful on standard error."""
        if not self.quiet:
            self._say(text)

    def warning(self, text: str, file: str | None = None, line: int | None = None) -> None:
        """Say what is amiss, with its place, on standard error."""
        if self.quiet:
            return
        self._say(f"{self._paint(_BOLD + _YELLOW, 'warning:')} {text}")
        if file is not None:
            self._say(f"  {self._paint(_CYAN, '-->')} {file}" + (f":{line}" if line else ""))

    def error(self, error: ModgraphError) -> None:
        """What was wrong, where, and what to do; the traceback where it was asked for."""
        self._say(f"{self._paint(_BOLD + _RED, 'error:')} {error.message}")
        if error.file is not None:
            place = ":".join(str(part) for part in (error.file, error.line, error.column) if part is not None)
            self._say(f"  {self._paint(_CYAN, '-->')} {place}")
        if error.text is not None:
            shown = error.text.rstrip()
            self._say(f"   {self._paint(_DIM, '|')} {shown}")
            if error.column is not None:
                # Tabs are kept, so that the caret stands below its character however wide a tab is shown.
                indent = "".join("\t" if c == "\t" else " " for c in shown[: error.column - 1])
                self._say(f"   {self._paint(_DIM, '|')} {indent}{self._paint(_RED, '^')}")
        if error.hint is not None:
            self._say(f"{self._paint(_BOLD, 'help:')} {error.hint}")
        if self.debug:
            import traceback

            self._say("".join(traceback.format_exception(error)).rstrip())

    def stage(self, name: str) -> Stage:
        """A stage of the work (`predict`, `trace`, ...), shown while it lasts: `with console.stage("trace"): ...`."""
        return Stage(name, self._progress, self.note)

    def close(self) -> None:
        """Take a progress line that is still shown off the terminal."""
        self._progress.clear()

    def _say(self, text: str) -> None:
        self._progress.clear()
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def _paint(self, code: str, text: str) -> str:
        return f"{code}{text}{_RESET}" if self._color_errors else text


def _speak_utf8(stream: TextIO) -> None:
    """Results are UTF-8 in pipes and files; a terminal keeps its own encoding, and never fails on a character."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is None:  # a test or a notebook put another object in its place
        return
    if stream.isatty():
        reconfigure(errors="replace")
    else:
        reconfigure(encoding="utf-8", errors="backslashreplace")


def _can_show(stream: TextIO) -> bool:
    try:
        "×→├◌▲✕●↺".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _watched(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"


def _colored(choice: str, stream: TextIO) -> bool:
    """Source of the order: no-color.org for `NO_COLOR`, force-color.org for `FORCE_COLOR`."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()
