"""Whether there is memory for what ends the process where there is none: compiled code that is not Python's."""

from __future__ import annotations

import mmap


def require_memory(n_bytes: int) -> None:
    """Ask the system for so much, and give it back untouched.

    Raises:
        MemoryError: there is not so much.
    """
    try:
        mmap.mmap(-1, n_bytes).close()
    except (OSError, ValueError) as error:
        raise MemoryError from error
