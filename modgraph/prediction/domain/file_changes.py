"""What a script that is followed may have done so far to the files that it reads later, and to its working folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_WORDS = re.compile(r"[^\s\"'=;|&<>,/\\]+")
_ON_PATHS_NAMES = """
    write_text write_bytes rename replace unlink symlink_to hardlink_to link_to touch rmdir copy copy_into
    move move_into open
"""
ON_PATHS = frozenset(_ON_PATHS_NAMES.split())
"""Methods of `pathlib.Path` that change files."""
_FOLDERS = frozenset({".", ".."})


class FileChanges:
    """Only grows: what one path has done is taken to have been done on all."""

    def __init__(self, leads_to: Callable[[str], Iterable[str]] | None = None) -> None:
        """Args:
        leads_to: other paths of the file that lies at a path, as links say them.
        """
        self._everything = False
        self._names: set[str] = set()
        self._of_paths: set[str] = set()
        self._leads_to = leads_to or _nowhere_else

    def anything(self) -> None:
        """Any file may have changed, or relative paths lead elsewhere."""
        self._everything = True

    def named(self, texts: Iterable[str]) -> None:
        """Files and folders may have changed whose names stand in these texts."""
        for text in texts:
            for path in (text, *self._leads_to(text)):
                words = _words(path)
                self._everything |= not words.isdisjoint(_FOLDERS)
                self._names |= words

    def is_path(self, texts: Iterable[str]) -> None:
        """An object that stands for a path was made of these texts."""
        for text in texts:
            self._of_paths |= _words(text)

    def some_path(self) -> None:
        """A file may have changed whose path stands in such an object; which one it is is not followed."""
        self.named(self._of_paths)

    def replaced(self) -> None:
        """That with which files are read is another."""
        self._everything = True

    def may_touch(self, path: str) -> bool:
        """It is not known whether the path still leads to the file that lies there."""
        if self._everything:
            return True
        return any(not self._names.isdisjoint(_words(each)) for each in (path, *self._leads_to(path)))


def _nowhere_else(_: str) -> tuple[str, ...]:
    return ()


def _words(text: str) -> set[str]:
    return {each.casefold() for each in _WORDS.findall(text)}
