"""What lies where a shell stands, and what can be made there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from modgraph.arguments.shell_values import BASE, MANY
from modgraph.doors.reading import lies_in
from modgraph.prediction.calls_elsewhere import OPEN

_DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr")
_MOST_PARTS = 30
"""Of a path."""
_ALWAYS_THERE = frozenset(["", ".", "/", "/tmp"])


class Places:
    """Of one text.

    Args:
        place: the folder of the text.
        top: that of the project. Where between both the text is started, nobody says.
    """

    def __init__(self, place: str, top: str) -> None:
        self.place, self.top = place, top
        self._folders = [each for each in (place, *_above(place, top)) if lies_in(each, top)]
        self.made: set[str] = set()
        """Folders that the text makes."""

    def has(self, path: str) -> bool:
        """Something lies there, from the folder of the text or one above, within the project."""
        return any(map(os.path.exists, self._all(path)))

    def is_folder(self, path: str) -> bool:
        """In one of these places; the path is normal."""
        return path in _ALWAYS_THERE or path in self.made or any(map(os.path.isdir, self._all(path)))

    def _is_other(self, path: str) -> bool:
        """In one of these places something lies there that is no folder."""
        return any(os.path.exists(each) and not os.path.isdir(each) for each in self._all(path))

    def _all(self, path: str) -> Iterator[str]:
        places = (os.path.normpath(os.path.join(each, path)) for each in self._folders)
        return (each for each in places if lies_in(each, self.top))

    def found(self, here: str | None, named: str) -> str | None:
        """The normal path of a name; None where it leads through what may be no folder."""
        if here is None or not named or MANY in named or named.count("/") > _MOST_PARTS:
            return None
        if named.startswith(BASE):
            here, named = self.place, named[1:].lstrip("/")
        elif named.startswith("/tmp/"):
            here, named = "/tmp", named[5:]
        path = os.path.normpath(here) if here else ""
        if not named:
            return path
        parts = named.replace(BASE, self.place).split("/")
        for at, part in enumerate(parts):
            if at and not self.is_folder(path) and path != here:
                return None
            path = os.path.normpath(os.path.join(path, part or ("/" if not at else "")))
        return path

    def can_be_written(self, here: str | None, named: str) -> bool:
        """A file of that name is there, or can be made."""
        if named.startswith("/dev/"):
            return named in _DEVICES
        path, last = self.found(here, named), os.path.basename(named)
        return path is not None and last.strip(OPEN) not in ("", ".", "..") and not self.is_folder(path)

    def is_no_file(self, here: str | None, named: str) -> bool:
        """Nothing can be written under that name, wherever the text is started."""
        if not named or named.endswith(("/", "/.", "/..")):
            return True
        return (
            here is not None
            and OPEN not in named
            and self.is_folder(os.path.normpath(os.path.join(here, named.replace(BASE, self.place))))
        )

    def can_be_read(self, here: str | None, named: str) -> bool:
        path = self.found(here, named)
        return named == "/dev/null" or (path is not None and OPEN not in named and self.has(path))

    def make(self, here: str | None, named: str, *, with_those_above: bool) -> bool:
        """A folder is made; whether that goes well for sure: within the project, where nothing stands in its way."""
        if here is None or not named or MANY in named or named[0] == OPEN or named.count("/") > _MOST_PARTS:
            return False
        if not with_those_above:
            self._add(self.found(here, named.rstrip("/")))
            return False
        if named[0] == BASE:
            here, named = self.place, named[1:].lstrip("/")
        if ".." in named or named.startswith("/"):
            self._add(self.found(here, named))
            return False
        return self._make_all(here, named)

    def _make_all(self, here: str, named: str) -> bool:
        path = here
        for part in named.split("/"):
            path = os.path.normpath(os.path.join(path, part))
            if self._is_other(path):
                return False
            self._add(path)
        return True

    def _add(self, path: str | None) -> None:
        is_within = path is not None and (not path.startswith("/") or path.startswith((self.place, "/tmp/")))
        if path is not None and is_within and OPEN not in path and not self._is_other(path):
            self.made.add(path)


def _above(folder: str, top: str) -> Iterable[str]:
    while folder != top and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        yield folder
