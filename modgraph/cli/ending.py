"""How a command ends that was asked to, for which the machine has nothing left, or that failed through a fault of
modgraph: one line and a status, which is never 1. That is a result: findings, a partial graph, a difference."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable, Sequence

from modgraph.cli.streams import tell
from modgraph.doors.printing import block, printable
from modgraph.doors.signals import Terminated, raising
from modgraph.errors import RAISED_BY_OTHERS, ExitStatus

_SHORT = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EAGAIN", "ENOMEM")
    if hasattr(errno, name)
)
"""What an operating system says when it has no more places, files, processes or memory."""

_NO_THREAD = "can't start new thread"
_MOST_SAID = 500
"""Characters of what an exception says."""


def ending(main: Callable[[Sequence[str]], int]) -> Callable[[Sequence[str]], int]:
    """`main`, ended with a line on standard error by a signal, for want of something, or by a defect; the traceback of
    a defect is shown to whom has asked for it."""

    @functools.wraps(main)
    def run(argv: Sequence[str]) -> int:
        with raising():
            try:
                return main(argv)
            except KeyboardInterrupt as stop:
                tell(f"{_words(stop)}\n")
                return int(status_of(stop))
            except RAISED_BY_OTHERS as error:
                tell(_shortage(error) or _defect(error, argv))
            return int(ExitStatus.FAILED)

    return run


def status_of(stop: KeyboardInterrupt) -> ExitStatus:
    """What a command returns that was ended by this."""
    return ExitStatus(128 + stop.number) if isinstance(stop, Terminated) else ExitStatus.INTERRUPTED


def _words(stop: KeyboardInterrupt) -> str:
    return f"interrupted by {status_of(stop).name}" if isinstance(stop, Terminated) else "interrupted"


def _shortage(error: BaseException) -> str | None:
    """What is said where the machine has too little of something."""
    if isinstance(error, MemoryError):
        return "error: out of memory\n"
    if isinstance(error, RuntimeError) and error.args == (_NO_THREAD,):
        return "error: this machine, or a limit of this user (ulimit -a), allows no further thread\n"
    if isinstance(error, OSError) and error.errno in _SHORT:
        place = f" ({error.filename!r})" if isinstance(error.filename, str) else ""
        return f"error: this machine has no more of what modgraph needs: {error.strerror}{place}\n"
    return None


def _defect(error: BaseException, argv: Sequence[str]) -> str:
    """What is said where modgraph itself fails: its status must not be that of a result."""
    try:
        said = str(error)[:_MOST_SAID]
    except Exception:  # an exception of another library may have no text
        said = ""
    head = printable(f"{type(error).__name__}: {said}".rstrip(": "))
    lines = (
        f"error: modgraph itself failed: {head}\n"
        "help: this is a defect of modgraph: please report it where you have modgraph from, with the command, the"
        " smallest file that shows it, and what --debug prints\n"
    )
    options = argv[: argv.index("--")] if "--" in argv else argv
    if "--debug" not in options:
        return lines
    import traceback

    return lines + block("".join(traceback.format_exception(error)).rstrip()) + "\n"
