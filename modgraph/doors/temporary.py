"""The one maker of temporary folders and files: they are removed however this process ends.

A keeper (`keeper.py`) removes the folder of a process that was killed. Where that was killed too, or the machine went
down, the next process does: the owner of a folder holds a lock on it, which the system takes away with the process.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from modgraph.doors.keeper import remove_tree
from modgraph.doors.processes import dismiss, start_keeper
from modgraph.doors.signals import deferred
from modgraph.errors import ResourceError

_PREFIX = "modgraph-"
_DIGITS = 16
"""Hexadecimal, in a name. Folders of other names are never looked at."""
_NAME = re.compile(f"{_PREFIX}[0-9a-f]{{{_DIGITS}}}")
_HINT = "name a folder with room by the environment variable TMPDIR"
_TRIES = 5
_inside: str | None = None


def make_folders_in(folder: Path) -> None:
    """From now on this process makes its temporary folders in that one, which another process removes."""
    global _inside
    _inside = str(folder)


def made_here(path: str) -> str | None:
    """The folder that `folder` has made around a path, in whichever process; None where it lies in none."""
    place = os.path.realpath(_inside or tempfile.gettempdir())
    if os.path.dirname(path) == path or not path.startswith(os.path.join(place, _PREFIX)):
        return None
    name = path[len(os.path.join(place, "")) :].partition(os.sep)[0]
    return os.path.join(place, name) if _NAME.fullmatch(name) else None


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A new folder that only this user can look into, for as long as the context lasts.

    Raises:
        ResourceError: there is no place for one, or no process that watches over it can be started.
    """
    place = _inside or _place()
    name = os.path.join(place, f"{_PREFIX}{secrets.token_hex(_DIGITS // 2)}")
    keeper: subprocess.Popen[bytes] | None = None
    lock: int | None = None
    try:
        if _inside is None and os.name == "posix":
            _remove_stale(place)
            keeper = start_keeper("keep", [name])
            _wait_for(keeper)
        lock = _made(name)
        yield Path(name)
    finally:
        with deferred(), contextlib.ExitStack() as after:
            if keeper is not None:
                after.callback(dismiss, keeper)
            if lock is not None:
                after.callback(os.close, lock)
            remove_tree(name)


def _made(name: str) -> int | None:
    """Make the folder; a descriptor that holds the lock on it, where the system has such locks."""
    try:
        for _ in range(_TRIES):
            os.mkdir(name, 0o700)
            if os.name != "posix":
                return None
            with contextlib.suppress(FileNotFoundError):
                lock = _locked(name)
                if lock is not None:
                    return lock
    except OSError as error:
        raise _none(f"{os.path.dirname(name)}: {error.strerror}") from error
    raise _none(f"something removes folders from {os.path.dirname(name)}")


def _locked(name: str) -> int | None:
    """The folder, opened and locked; None where another process was quicker, and has removed it as forgotten."""
    import fcntl

    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    with contextlib.suppress(OSError):  # without locks nobody else gets one either, and so nothing is removed
        fcntl.flock(folder, fcntl.LOCK_EX)
    if os.path.lexists(name):
        return folder
    os.close(folder)
    return None


@contextlib.contextmanager
def file() -> Iterator[IO[bytes]]:
    """A file without a name, for as long as the context lasts.

    Raises:
        ResourceError: there is no place for one.
    """
    try:
        made = tempfile.TemporaryFile(dir=_place())  # noqa: SIM115
    except OSError as error:
        raise _none(error.strerror or str(error)) from error
    with made as handle:
        yield handle


def _place() -> str:
    """Where the system keeps temporary files. Never the working directory, which Python takes as its last choice: it
    may be somebody's repository."""
    try:
        place = tempfile.gettempdir()
    except OSError as error:
        raise _none("no folder that there is can be written to") from error
    here = os.path.realpath(os.getcwd())
    if os.path.realpath(place) == here:
        named = [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
        if here not in map(os.path.realpath, (*named, "/tmp", "/var/tmp", "/usr/tmp")):
            raise _none("no folder but the working directory can be written to")
    return place


def _none(why: str) -> ResourceError:
    return ResourceError(f"there is no place for temporary files: {why}", hint=_HINT)


def _wait_for(keeper: subprocess.Popen[bytes]) -> None:
    """Until it is ready: before that it might miss the end of this process."""
    assert keeper.stdout is not None
    if not keeper.stdout.read(1):
        raise ResourceError(
            f"the process that watches over a temporary folder ended with status {keeper.wait()}",
            hint="this machine, or a limit of this user (ulimit -a), allows no more",
        )


def _remove_stale(place: str) -> None:
    """Remove the folders of processes that are gone: those of this user whose lock is free. What comes of one of them,
    whoever made it, is nothing to this process."""
    import fcntl

    found: list[str] = []
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        found = [entry.path for entry in entries if _NAME.fullmatch(entry.name)]
    for path in found:
        with contextlib.suppress(Exception):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                status = os.fstat(handle)
                if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == 0o700:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove_tree(path)
            finally:
                os.close(handle)
