"""`python -m modgraph` and the `modgraph` command: nothing but the way in."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line on `sys.argv`; returns the exit status."""
    _leave_at_once("interrupted\n")  # while modules are imported there is nothing yet that would have to be put back
    from modgraph.cli import main as run

    status = run(sys.argv[1:])
    _leave_at_once("")
    if status > 128:
        _end(status)
    return status


def _leave_at_once(told: str) -> None:
    """From now on, a signal that asks for the end ends this process where it stands, with one line.

    By the module without Python code: every moment before this is one in which Ctrl-C would give a traceback.
    """
    import _signal  # type: ignore[import-not-found]
    import os

    def leave(number: int, _frame: object) -> None:
        os.write(2, told.encode())
        os._exit(128 + number)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(_signal, name, None)
        if number is not None and _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, leave)


def _end(status: int) -> None:
    """End a process that was asked to end: threads that are still at work are not waited for."""
    import contextlib
    import os

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
