"""What a script that is followed may have done so far to the files that it reads later, and to its working folder."""

from __future__ import annotations

import re
from collections.abc import Iterable

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

    def __init__(self) -> None:
        self._everything = False
        self._names: set[str] = set()

    def anything(self) -> None:
        """Any file may have changed, or relative paths lead elsewhere."""
        self._everything = True

    def named(self, texts: Iterable[str]) -> None:
        """Files and folders may have changed whose names stand in these texts."""
        for text in texts:
            words = {each.casefold() for each in _WORDS.findall(text)}
            self._everything |= not words.isdisjoint(_FOLDERS)
            self._names |= words

    def may_touch(self, path: str) -> bool:
        """It is not known whether the path still leads to the file that lies there."""
        return self._everything or not self._names.isdisjoint(each.casefold() for each in _WORDS.findall(path))
