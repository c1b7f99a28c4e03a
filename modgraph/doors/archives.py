"""Zip archives that others wrote: their names, and one file of them at a time up to a size. Nothing goes to disk.

What an archive says of its sizes is not believed: a file is read up to the limit and no further. Its directory is read
at once, so that is bounded too.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

from modgraph.doors import reading

MAX_DIRECTORY = 32 * 2**20
"""Bytes of the list of names in an archive: some three hundred thousand of them."""
MAX_READ = 512 * 2**20
"""Bytes that are asked of the file at once."""


class ArchiveError(ValueError):
    """It is no archive, is damaged, or something in it is larger than what is read."""


class _Window:
    """A file as `zipfile` reads it: only through the door, and never more at once than the limit."""

    def __init__(self, path: str | os.PathLike[str], size: int) -> None:
        self._path, self._size, self._at = path, size, 0

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        start = (0, self._at, self._size)[whence]
        if start + offset < 0:
            raise OSError("a place before the file begins")
        self._at = start + offset
        return self._at

    def read(self, count: int = -1) -> bytes:
        wanted = self._size - self._at if count is None or count < 0 else count
        if wanted > MAX_READ:
            raise ArchiveError("its directory is larger than what is read")
        data = reading.beginning(self._path, max(wanted, 0), self._at)
        self._at += len(data)
        return data


class Archive:
    """A zip archive.

    Raises:
        ArchiveError: it is none, or its directory is too large.
        OSError: the file cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        size = Path(path).stat().st_size
        if _directory_bytes(path, size) > MAX_DIRECTORY:
            raise ArchiveError(f"its list of names is longer than {reading.shown(MAX_DIRECTORY)}")
        try:
            self._zip = zipfile.ZipFile(_Window(path, size))
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
            raise ArchiveError(f"it is a damaged archive: {error}") from error
        self.names: dict[str, str] = {}
        """By name without the folder around all of them, which torch names after the file: the name in the archive."""
        names = self._zip.namelist()
        around = names[0].partition("/")[0] + "/" if names and "/" in names[0] else ""
        if not all(name.startswith(around) for name in names):
            around = ""
        for name in names:
            self.names.setdefault(name[len(around) :], name)

    def read(self, name: str, most: int) -> bytes:
        """What the file `name` holds.

        Raises:
            KeyError: there is none of that name.
            ArchiveError: it is larger than `most` bytes, is damaged, or is packed in a way that is not known.
        """
        place = self.names[name]
        try:
            with self._zip.open(place) as file:
                data = file.read(most + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
            raise ArchiveError(f"{name} in it is damaged: {error}") from error
        if len(data) > most:
            raise ArchiveError(f"{name} in it is larger than {reading.shown(most)}")
        return data


_END, _END64, _LOCATOR = b"PK\x05\x06", b"PK\x06\x06", 20


def _directory_bytes(path: str | os.PathLike[str], size: int) -> int:
    """How long its directory says that it is. Source: APPNOTE.TXT of PKWARE, 4.3.14 and 4.3.16."""
    tail = reading.ending(path, 22 + 65_535 + _LOCATOR + 56)
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise ArchiveError("it is a damaged archive: its end is missing")
    said = int.from_bytes(tail[at + 12 : at + 16], "little")
    before = tail.rfind(_END64, 0, at)
    if before >= 0 and said == 0xFFFFFFFF:
        said = int.from_bytes(tail[before + 40 : before + 48], "little")
    return min(said, size)
