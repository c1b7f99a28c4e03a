"""The one way to what is kept between runs: entries that only this user's own modgraph can have written.

An entry is sealed with a key that is made once for each user. What somebody else put into the folder, be it a file
that came with a repository or one of another user of the machine, has no such seal and counts as absent. Entries are
data, and whoever reads one looks at its form all the same.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import stat
from collections.abc import Callable

from modgraph.doors import reading, writing

ENTRY_BYTES = 256_000_000
"""Of one entry; a larger one counts as absent."""
_KEY = "key"
_KEY_BYTES = 32
_SEAL_BYTES = 32
_PASSING = os.urandom(_KEY_BYTES)
"""In place of a key, where none can be kept."""


class Kept:
    """The entries below one folder.

    Args:
        home: the folder of all caches; None where nothing is to be kept.
        own: the user's own folder of caches, where the key lies if `home` is part of what may be analysed.
    """

    def __init__(self, home: str | None, own: str | None) -> None:
        self.home = home
        self._key: bytes | None = None
        if home is not None:
            self._key = _key_of(home, own)

    @property
    def usable(self) -> bool:
        """Whether anything can be kept."""
        return self._key is not None

    def read(self, name: str) -> bytes | None:
        """An entry by its path below the folder, with forward slashes; None where there is none of ours."""
        if self.home is None or self._key is None:
            return None
        try:
            data = reading.read(os.path.join(self.home, *name.split("/")), ENTRY_BYTES)
        except OSError:
            return None
        content = data[_SEAL_BYTES * 2 + 1 :]
        return content if data[: _SEAL_BYTES * 2 + 1] == self._seal(name, content) else None

    def write(self, name: str, content: bytes) -> None:
        """Keep an entry; what cannot be kept is no error."""
        if self.home is None or self._key is None:
            return
        with contextlib.suppress(OSError, ValueError):
            path = os.path.join(self.home, *name.split("/"))
            writing.put(path, self._seal(name, content) + content, below=self.home)

    def keyed(self, content: bytes) -> str:
        """A hash that only this user's own modgraph can make. Where no key can be kept, it is another one in each
        process: nobody can show then that it was made here."""
        return hashlib.blake2b(content, digest_size=_SEAL_BYTES, key=self._key or _PASSING, person=b"keyed").hexdigest()

    def _seal(self, name: str, content: bytes) -> bytes:
        assert self._key is not None
        made = hashlib.blake2b(content, digest_size=_SEAL_BYTES, key=self._key, person=b"modgraph")
        made.update(b"\0" + name.encode("utf-8", "surrogateescape"))
        return made.hexdigest().encode("ascii") + b"\n"


def at_end(keep: Callable[[], None]) -> None:
    """Calls it when this process ends by itself: what it has made by then is kept. It raises nothing."""
    atexit.register(keep)


def usable(folder: str, *, mend: bool = False) -> bool:
    """Makes a folder for this user alone where there is none; whether nobody else owns it or may write to it.

    Args:
        mend: take the rights of others away, where the folder is this user's.
    """
    try:
        writing.make_folder(os.path.dirname(folder) or os.curdir)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        found = os.stat(folder)
        if not stat.S_ISDIR(found.st_mode):
            return False
        if os.name != "posix":
            return True
        if found.st_uid != os.geteuid():
            return False
        if found.st_mode & 0o022 and mend:
            _forget(folder)
            os.chmod(folder, 0o700)
            return True
        return not found.st_mode & 0o022
    except (OSError, ValueError):
        return False


def _key_of(home: str, own: str | None) -> bytes | None:
    """The key that seals the entries of a folder; None where the folder is not ours alone, or there is no place for
    a key."""
    is_own = own is not None and os.path.realpath(home) == os.path.realpath(own)
    if not usable(home, mend=is_own):
        return None
    if is_own or not _may_be_analysed(home):
        return _key_in(home)
    return _key_in(own) if own is not None and usable(own, mend=True) else None


def _may_be_analysed(folder: str) -> bool:
    """Whether a folder lies below the working directory or in a repository: then its content may have come with it."""
    folder = os.path.realpath(folder)
    if reading.lies_in(folder, os.path.realpath(os.curdir)):
        return True
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True


def _key_in(folder: str) -> bytes | None:
    path = os.path.join(folder, _KEY)
    for _ in range(2):
        try:
            found = os.lstat(path)
            if not stat.S_ISREG(found.st_mode) or (os.name == "posix" and not _is_private(found)):
                return None
            key = reading.read(path, _KEY_BYTES)
        except FileNotFoundError:
            key = None
        except OSError:
            return None
        if key is not None and len(key) == _KEY_BYTES:
            return key
        with contextlib.suppress(OSError):
            _make_key(path, folder, anew=key is None)
    return None


def _make_key(path: str, folder: str, *, anew: bool) -> None:
    """Put a key there; where there was none, the first of several processes does."""
    made = f"{path}.{os.urandom(8).hex()}" if anew else path
    writing.put(made, os.urandom(_KEY_BYTES), below=folder, mode=0o600)
    if anew:
        try:
            os.link(made, path)
        finally:
            os.unlink(made)


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _forget(folder: str) -> None:
    """Others may have written into it: what is sealed with that key is no longer trusted."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, _KEY))
