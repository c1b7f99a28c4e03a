"""The one way to what is kept between runs: entries that only this user's own modgraph can have written.

An entry is sealed with a key that is made once for each user. What somebody else put into the folder, be it a file
that came with a repository or one of another user of the machine, has no such seal and counts as absent. Entries are
data, and whoever reads one looks at its form all the same.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable
from typing import NamedTuple

from modgraph.doors import reading, writing
from modgraph.doors.borders import holds_many

ENTRY_BYTES = 256_000_000
"""Of one entry; a larger one counts as absent."""
_KEY = "key"
_KEY_BYTES = 32
_SEAL_BYTES = 32
_PASSING = os.urandom(_KEY_BYTES)
"""In place of a key, where none can be kept."""
_MOST_LINKS = 40


class Place(NamedTuple):
    """A folder of caches, and what is told of whose it is."""

    folder: str
    own: str | None
    """The user's own folder of caches, whatever variables say."""
    analysed: tuple[str, ...] = ()
    """Folders of the projects that are analysed, links resolved."""

    @property
    def is_own(self) -> bool:
        return self.own is not None and os.path.realpath(self.folder) == os.path.realpath(self.own)

    @property
    def is_foreign(self) -> bool:
        """Whether what lies in it may have come with what is analysed."""
        return self._may_have_come(os.path.realpath(self.folder))

    @property
    def is_led_to(self) -> bool:
        """Whether a link is on the way to it that may have come with what is analysed."""
        return any(self._may_have_come(folder) for folder in _folders_of_links(os.path.abspath(self.folder)))

    def _may_have_come(self, real: str) -> bool:
        """The user's own folder is so only where it is part of what is analysed. Another, which a variable names, is so
        in any repository as well, below the working directory, and beside what is analysed: all of it may have been
        unpacked there."""
        around = self.analysed or (os.path.realpath(os.curdir),)
        if any(reading.lies_in(real, folder) for folder in self.analysed):
            return True
        top = reading.repository_of(real)
        if self.is_own:
            return top is not None and any(reading.repository_of(folder) == top for folder in around)
        return (
            top is not None
            or reading.lies_in(real, os.path.realpath(os.curdir))
            or any(_lie_together(real, folder) for folder in around)
        )


class Kept:
    """The entries below one folder.

    Args:
        home: the folder of all caches; None where nothing is to be kept.
        own: the user's own folder of caches, where the key lies if `home` may have come with what is analysed.
        analysed: folders of the projects that are analysed.
    """

    def __init__(self, home: str | None, own: str | None, analysed: tuple[str, ...] = ()) -> None:
        self.home = home
        self._key: bytes | None = None
        if home is not None:
            self._key = _key_of(Place(home, own, analysed))

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


def usable(place: Place) -> bool:
    """Makes a folder for this user alone where there is none; whether nobody else owns it, may write to it, or leads to
    it. Of the user's own, the rights of others are taken away."""
    folder = place.folder
    try:
        if place.is_led_to:
            return False
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
        if found.st_mode & 0o022 and place.is_own:
            _forget(folder)
            os.chmod(folder, 0o700)
            return True
        return not found.st_mode & 0o022
    except (OSError, ValueError):
        return False


def _folders_of_links(path: str) -> list[str]:
    """The folders, links resolved, in which the links lie on the way to an absolute path.

    Raises:
        OSError: there are too many, or one leads to itself.
    """
    found: list[str] = []
    drive, rest = os.path.splitdrive(path)
    here, pending = drive + os.sep, [part for part in reversed(rest.split(os.sep)) if part]
    while pending:
        part = pending.pop()
        place = os.path.normpath(os.path.join(here, part))
        if not os.path.islink(place):
            here = place
            continue
        found.append(here)
        if len(found) > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        drive, rest = os.path.splitdrive(os.path.join(here, os.readlink(place)))
        here, pending = drive + os.sep, [*pending, *(part for part in reversed(rest.split(os.sep)) if part)]
    return list(dict.fromkeys(found))


def _lie_together(one: str, other: str) -> bool:
    """Whether two folders lie in one that belongs to a single project, as far as can be told."""
    try:
        return not holds_many(os.path.commonpath([one, other]))
    except ValueError:  # on two drives
        return False


def _key_of(place: Place) -> bytes | None:
    """The key that seals the entries of a folder; None where the folder is not ours alone, or there is no place for
    a key."""
    own = None if place.own is None else place._replace(folder=place.own)
    if not usable(place):
        return None
    if not place.is_foreign:
        return _key_in(place.folder)
    return _key_in(own.folder) if own is not None and not own.is_foreign and usable(own) else None


def _key_in(folder: str) -> bytes | None:
    """The key that lies there, or one that is made; None where something else is called so, which stays what it is."""
    path = os.path.join(folder, _KEY)
    for _ in range(2):
        try:
            found = os.lstat(path)
            if not stat.S_ISREG(found.st_mode) or (os.name == "posix" and not _is_private(found)):
                return None
            key = reading.read(path, _KEY_BYTES)
        except FileNotFoundError:
            with contextlib.suppress(OSError):
                _make_key(path, folder)
            continue
        except OSError:
            return None
        return key if len(key) == _KEY_BYTES else None
    return None


def _make_key(path: str, folder: str) -> None:
    """Put a key there; the first of several processes does. It is there whole, or not at all."""
    made = f"{path}.{os.urandom(8).hex()}"
    writing.put(made, os.urandom(_KEY_BYTES), below=folder, mode=0o600)
    try:
        os.link(made, path)
    finally:
        os.unlink(made)


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _forget(folder: str) -> None:
    """Others may have written into it: what is sealed with that key is no longer trusted."""
    path = os.path.join(folder, _KEY)
    with contextlib.suppress(OSError):
        if os.lstat(path).st_size == _KEY_BYTES:
            os.unlink(path)
