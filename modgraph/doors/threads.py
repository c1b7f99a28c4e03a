"""The one starter of threads: where the system has none left, that is an error of ours."""

from __future__ import annotations

import threading

from modgraph.errors import ResourceError


def start_thread(thread: threading.Thread) -> None:
    """Start a thread, or a timer.

    Raises:
        ResourceError: the system has none left.
    """
    try:
        thread.start()
    except (RuntimeError, MemoryError) as error:
        raise ResourceError(
            "no thread can be started", hint="this machine, or a limit of this user (ulimit -a), allows no more"
        ) from error
