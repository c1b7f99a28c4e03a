"""How a command ends that was asked to, or for which the machine has nothing left: one line and a status."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable, Sequence

from modgraph.cli.streams import tell
from modgraph.doors.signals import Terminated, raising
from modgraph.errors import ExitStatus

_SHORT = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EAGAIN", "ENOMEM")
    if hasattr(errno, name)
)
"""What an operating system says when it has no more places, files, processes or memory."""

_NO_THREAD = "can't start new thread"


def ending(main: Callable[[Sequence[str]], int]) -> Callable[[Sequence[str]], int]:
    """`main`, ended by a signal or for want of something with a line on standard error, and never with a traceback."""

    @functools.wraps(main)
    def run(argv: Sequence[str]) -> int:
        with raising():
            try:
                return main(argv)
            except KeyboardInterrupt as stop:
                tell(f"{_words(stop)}\n")
                return int(status_of(stop))
            except MemoryError:
                tell("error: out of memory\n")
            except RuntimeError as error:
                if str(error) != _NO_THREAD:
                    raise
                tell("error: out of memory or threads: the prediction needs one with a deep stack (ulimit -a)\n")
            except OSError as error:
                if error.errno not in _SHORT:
                    raise
                place = f" ({error.filename!r})" if isinstance(error.filename, str) else ""
                tell(f"error: this machine has no more of what modgraph needs: {error.strerror}{place}\n")
            return int(ExitStatus.FAILED)

    return run


def status_of(stop: KeyboardInterrupt) -> ExitStatus:
    """What a command returns that was ended by this."""
    return ExitStatus(128 + stop.number) if isinstance(stop, Terminated) else ExitStatus.INTERRUPTED


def _words(stop: KeyboardInterrupt) -> str:
    return f"interrupted by {status_of(stop).name}" if isinstance(stop, Terminated) else "interrupted"
