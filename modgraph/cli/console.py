"""Standard output for results, standard error for everything else; colour and progress only where a person looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Literal, TextIO

from modgraph.cli.progress import Progress, Stage
from modgraph.cli.streams import discard, put, tell
from modgraph.doors import printing
from modgraph.doors.printing import excerpt, painted, printable
from modgraph.errors import ModgraphError


class Console:
    """Where a command prints. Names and messages of others are in what it prints: nothing in that acts.

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
        self.color = _colored(color, sys.stdout)
        self._color_errors = _colored(color, sys.stderr)
        self.encoding = sys.stdout.encoding or "ascii"
        self.unicode = _can_show(self.encoding)
        self.one_terminal = sys.stdout.isatty() and sys.stderr.isatty()
        """A person sees both streams together."""
        self._progress = Progress(sys.stderr, shown=not quiet and _watched(sys.stderr), verbose=verbose and not quiet)

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        import shutil

        return shutil.get_terminal_size((100, 24)).columns

    def result(self, text: str) -> None:
        """Print lines for people on standard output. A name in them is on one line already."""
        text = printing.block(text, styled=self.color)
        self._put(text if text.endswith("\n") else text + "\n")

    def document(self, text: str) -> None:
        """Print a result for programs on standard output, as it is: its format has escapes of its own, and is UTF-8
        whatever people are shown."""
        text = text if text.endswith("\n") else text + "\n"
        if text.isascii() or self.unicode or sys.stdout.isatty():
            self._put(text)
        else:
            self.result_bytes(text.encode("utf-8", "backslashreplace"))

    def result_bytes(self, content: bytes) -> None:
        """Print a binary result on standard output."""
        self._progress.clear()
        self._put_by(sys.stdout.flush)
        self._put_by(lambda: sys.stdout.buffer.write(content))
        self._put_by(lambda: sys.stdout.buffer.flush())

    def flush(self) -> None:
        """Print what was said so far, in a pipe too."""
        self._put_by(sys.stdout.flush)

    def reader_has_gone(self) -> None:
        """Nobody reads standard output any more (`modgraph ... | head`): that is enough for whoever read. The work goes
        on, since its files and its status are results too."""
        discard(sys.stdout)

    def note(self, text: str) -> None:
        """Say something useful on standard error."""
        if not self.quiet:
            self._say("", text)

    def notes(self, text: str) -> None:
        """Lines for people, as a result, on standard error."""
        if not self.quiet:
            self._write(printing.block(text))

    def warning(self, text: str, file: str | None = None, line: int | None = None) -> None:
        """Say what is amiss, with its place, on standard error."""
        if not self.quiet:
            self.reason(text, file, line)

    def reason(self, text: str, file: str | None = None, line: int | None = None) -> None:
        """A warning that tells why the status is not 0: where all else is quiet too."""
        self._say(f"{self._paint('bold yellow', 'warning:')} ", text)
        if file is not None:
            self._say(f"  {self._paint('cyan', '-->')} ", printing.place(file, line or None))

    def error(self, error: ModgraphError) -> None:
        """What was wrong, where, and what to do; the traceback where it was asked for."""
        self._say(f"{self._paint('bold red', 'error:')} ", error.message)
        if error.file is not None and (error.line is not None or error.file not in error.message):
            self._say(f"  {self._paint('cyan', '-->')} ", printing.place(error.file, error.line, error.column))
        if error.text is not None:
            shown = excerpt(error.text.rstrip())
            bar = self._paint("dim", "|")
            self._write(f"   {bar} {shown}")
            if error.column is not None:
                # Tabs are kept, so that the caret stands below its character however wide a tab is shown.
                indent = "".join("\t" if c == "\t" else " " for c in shown[: error.column - 1])
                self._write(f"   {bar} {indent}{self._paint('red', '^')}")
        if error.hint is not None:
            self._say(f"{self._paint('bold', 'help:')} ", error.hint)
        if self.debug:
            import traceback

            self._write(printing.block("".join(traceback.format_exception(error)).rstrip()))

    def stage(self, name: str) -> Stage:
        """A stage of the work (`predict`, `trace`, ...), shown while it lasts: `with console.stage("trace"): ...`."""
        return Stage(name, self._progress, self.note)

    def close(self) -> None:
        """Take a progress line that is still shown off the terminal."""
        self._progress.clear()

    def _put(self, text: str) -> None:
        self._progress.clear()
        self._put_by(lambda: sys.stdout.write(text))

    def _put_by(self, write: Callable[[], object]) -> None:
        try:
            put(write)
        except BrokenPipeError:
            self.reader_has_gone()

    def _say(self, head: str, text: str) -> None:
        """Lines; the first follows a word of ours, the others are set in, so that none looks like one of ours."""
        lines = head + "\n    ".join(map(printable, text.split("\n")))
        self._write(printing.block(lines, styled=self._color_errors))

    def _write(self, text: str) -> None:
        self._progress.clear()
        tell(text + "\n")

    def _paint(self, style: str, text: str) -> str:
        return painted(text, style) if self._color_errors else text


def _can_show(encoding: str) -> bool:
    try:
        "×→├◌▲✕●↺≥▸µ…".encode(encoding)
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
