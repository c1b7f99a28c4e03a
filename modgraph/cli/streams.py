"""The standard streams as a command finds them: closed, on a full device, with an encoding that shows little."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO, cast

from modgraph.doors.encoding import ERRORS
from modgraph.doors.printing import printable
from modgraph.errors import ExitStatus, ExportError

_FAILED = "standard output cannot be written: {}"


class _Closed(io.TextIOBase):
    """Stands where there is no stream: what is written fails as on a closed file, and is not forgotten."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.asked = False

    def write(self, _text: str) -> int:
        self.asked = True
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def flush(self) -> None:
        if self.asked:
            self.asked = False
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    @property
    def buffer(self) -> io.RawIOBase:
        self.asked = True
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def isatty(self) -> bool:
        return False


def prepare() -> None:
    """Put something where a stream is closed: else the first file that is opened takes its number, and what is meant
    for a person, or printed by a program that is started, goes into that file."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # noqa: PERF203
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = cast(TextIO, _Closed())
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        _speak_utf8(stream)


def _speak_utf8(stream: TextIO) -> None:
    """Results are UTF-8 in pipes and files; a terminal keeps its own encoding, and so does what `PYTHONIOENCODING` asks
    for. None fails on a character."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is None:  # a test or a notebook put another object in its place
        return
    if stream.isatty() or _encoding_is_asked_for():
        reconfigure(errors=ERRORS)
    else:
        reconfigure(encoding="utf-8", errors=ERRORS)


def _encoding_is_asked_for() -> bool:
    """ "ascii" and "cp1252:strict" name one, ":replace" does not."""
    return not sys.flags.ignore_environment and bool(os.environ.get("PYTHONIOENCODING", "").partition(":")[0])


def put(write: Callable[[], object]) -> None:
    """Do what writes to standard output.

    Raises:
        BrokenPipeError: nobody reads it any more.
        ExportError: it cannot be written; nothing is left in it that would fail again.
    """
    try:
        write()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard(sys.stdout)
        hint = "give it a place with room, or write files with -o"
        raise ExportError(_FAILED.format(error.strerror or error), hint=hint) from error


def discard(stream: object) -> None:
    """Let what is left in a stream go nowhere: the interpreter would fail again as it flushes on its way out."""
    if isinstance(stream, _Closed):
        stream.asked = False
        return
    with contextlib.suppress(OSError, ValueError, AttributeError):
        place = os.open(os.devnull, os.O_WRONLY)
        os.dup2(place, stream.fileno())  # type: ignore[attr-defined]
        os.close(place)


def guarded(main: Callable[[Sequence[str]], int]) -> Callable[[Sequence[str]], int]:
    """`main` on streams that are there, with what it printed written when it returns.

    Whatever keeps standard output from being written, `--help` and `--version` too, is an error with its status; where
    nobody reads it any more (`modgraph ... | head`), the command ends without a word.
    """

    def run(argv: Sequence[str]) -> int:
        prepare()
        status: int = ExitStatus.OK
        try:
            with _warnings_printable():
                status = main(argv)
            put(sys.stdout.flush)
        except BrokenPipeError:
            discard(sys.stdout)
        except ExportError as error:
            tell(f"error: {error.message}\nhelp: {error.hint}\n")
            status = ExitStatus.FAILED
        return status

    return run


@contextlib.contextmanager
def _warnings_printable() -> Iterator[None]:
    """Python warns of what it parses with the name of the file and the line of source, as they are. What a stranger's
    source has of that is none of the user's; every other warning is a line on which nothing acts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=SyntaxWarning)
        warnings.filterwarnings(
            "ignore", "invalid (escape sequence|octal escape|decimal|hexadecimal|octal|binary|imag)"
        )

        def show(message: Warning | str, category: type[Warning], *_place: object) -> None:
            tell(f"{category.__name__}: {printable(str(message))}\n")

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def tell(text: str) -> None:
    """Write on standard error; where that cannot be, nobody can be told."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        discard(sys.stderr)
