"""Folders into which somebody else's code has written: their regular files, opened one by one through their folders.

No link is followed on the way, nothing waits (a pipe), and no folder is gone into that lies deeper than a bound; so it
does not matter what takes the place of what meanwhile.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from modgraph.doors import writing

MOST_DEEP = 100
"""Folders within each other that are gone into."""
MOST_ENTRIES = 100_000
"""Files and folders that are looked at."""
_PIECE = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = _FLAGS | getattr(os, "O_DIRECTORY", 0)
_FILE = _FLAGS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_BY_FOLDER = {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd


class Found(NamedTuple):
    """A regular file, open for as long as it is looked at."""

    parts: tuple[str, ...]
    """What leads to it from the folder."""
    handle: int
    size: int
    """In bytes."""

    def content(self, most: int) -> bytes | None:
        """What it holds; None where that is more than so many bytes."""
        if self.size > most:
            return None
        pieces: list[bytes] = []
        held = 0
        while data := os.read(self.handle, min(_PIECE, most + 1 - held)):
            pieces.append(data)
            held += len(data)
            if held > most:
                return None
        return b"".join(pieces)

    def put_into(self, place: str | os.PathLike[str]) -> None:
        """Give it a place in another folder of ours, under its own name. It may be larger than memory: where the system
        can, it is the same file.

        Raises:
            OSError: it cannot be written.
        """
        into = os.path.join(os.fspath(place), self.parts[-1])
        with contextlib.suppress(OSError):
            os.unlink(into)
        try:
            os.link(f"/proc/self/fd/{self.handle}", into, follow_symlinks=True)
        except OSError:  # another file system, or a system without such names
            writing.put_new(into, iter(lambda: os.read(self.handle, _PIECE), b""), below=place)


def regular_files(folder: str | os.PathLike[str], *, deep: int = MOST_DEEP) -> Iterator[Found]:
    """The regular files in a folder and below, in the order of their names; none where there is no such folder.

    Args:
        deep: how many folders within each other are gone into; 0 for the files of this one alone.
    """
    pending: list[tuple[str, ...]] = [()]
    left = MOST_ENTRIES
    while pending:
        parts = pending.pop()
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            handle = _entered(os.fspath(folder), parts, stack)
            with os.scandir(handle) as entries:
                names = sorted(entry.name for entry in itertools.islice(entries, left))
            left -= len(names)
            inner: list[tuple[str, ...]] = []
            for name in names:
                with contextlib.suppress(OSError), contextlib.ExitStack() as one:
                    file = _opened(handle, name, one)
                    if file is None:
                        inner.append((*parts, name))
                    elif stat.S_ISREG((found := os.fstat(file)).st_mode):
                        yield Found((*parts, name), file, found.st_size)
            if len(parts) < deep:
                pending += reversed(inner)


def _entered(folder: str, parts: tuple[str, ...], stack: contextlib.ExitStack) -> int | str:
    """A folder below another, open; its path on a system that has no such descriptors."""
    if not _BY_FOLDER:
        return os.path.join(folder, *parts)
    handle = os.open(folder, _FOLDER)
    for part in parts:
        try:
            inner = os.open(part, _FOLDER, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    stack.callback(os.close, handle)
    return handle


def _opened(folder: int | str, name: str, stack: contextlib.ExitStack) -> int | None:
    """What is there, open; None of a folder."""
    place = name if isinstance(folder, int) else os.path.join(folder, name)
    above = folder if isinstance(folder, int) else None
    mode = os.stat(place, dir_fd=above, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode):
        return None
    if not stat.S_ISREG(mode):
        raise FileNotFoundError(place)
    handle = os.open(place, _FILE, dir_fd=above)
    stack.callback(os.close, handle)
    return handle
