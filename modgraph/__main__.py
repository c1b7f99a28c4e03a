"""`python -m modgraph` and the `modgraph` command: nothing but the way in."""

# No `from __future__`: that is an import too, and the first lines must not look for a file.
import sys


def main() -> int:
    """Run the command line on `sys.argv`; returns the exit status."""
    _leave_at_once("interrupted\n")  # while modules are imported there is nothing yet that would have to be put back
    try:
        from modgraph.cli import main as run
    except Exception as error:  # status 1, which Python ends with, would be a result
        _tell(f"error: modgraph cannot be imported: {type(error).__name__}: {str(error)!a}\n")
        return 2
    status = run(sys.argv[1:])
    _leave_at_once("")
    import gc

    gc.freeze()  # the process ends: to look through all that it has read for circles takes as long as half a check
    if status > 128:
        _end(status)
    return status


def _tell(text: str) -> None:
    import contextlib
    import os

    with contextlib.suppress(OSError):  # nobody can be told
        os.write(2, text.encode())


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


def _forget_working_directory() -> None:
    """`python -m` looks for every module in the working directory first: there may be a stranger's `json.py`. What
    Python has looked for by then cannot be helped: `python -P -m` and the command look for nothing there."""
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]


if __name__ == "__main__":
    _forget_working_directory()
    sys.exit(main())
