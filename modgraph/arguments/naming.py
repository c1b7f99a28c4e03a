"""The texts by which a configuration names a class: "Net", "models.net.Net", "models/net.py:Net", "net@Net"."""

from __future__ import annotations

import os
import re
from pathlib import Path

from modgraph.doors.borders import border_around
from modgraph.doors.reading import read
from modgraph.names import last_name
from modgraph.source.files import decode
from modgraph.source.index import ImportedName, read_index
from modgraph.source.targets import Target

_NAMES = re.compile(r"(?:(?P<module>[\w./-]+?)(?:\.py)?[.:@])?(?P<name>[^\W\d]\w*)")
_MAX_TEXT = 100_000


def split_name(text: str) -> tuple[str, str] | None:
    """Module ("" where there is none) and class of such a text; None of any other."""
    match = _NAMES.fullmatch(text)
    if match is None:
        return None
    return (match["module"] or "").strip("./").replace("/", "."), match["name"]


def has_module(text: str) -> bool:
    """Whether such a text says more than the name of the class."""
    found = split_name(text)
    return found is not None and bool(found[0])


class Naming:
    """Whether a text names the class of a target.

    Args:
        registered: further names under which its project registers it.
    """

    def __init__(self, target: Target, registered: frozenset[str] = frozenset()) -> None:
        assert target.file is not None
        self.name = last_name(target.name)
        self._registered = registered
        others = "|".join(map(re.escape, sorted(registered, key=len, reverse=True))) or r"(?!)"
        its_own = re.escape(self.name)
        self.word = re.compile(rf"\b{its_own}\b|(?<!\w)(?:{others})(?!\w)")
        self._all = (self.name, *registered)
        self.quoted = re.compile(rf"[\"'](?:[\w./:@-]*\b{its_own}|{others})[\"']")
        """In a script, where the name alone is the class."""
        self._in_line = re.compile(rf"(?<![\w./:@-])(?:[\w./:@-]*\b{its_own}\b|{others})(?![\w./@-])(?![\"']?\s*:)")
        own = target.file.parent if target.file.name == "__init__.py" else target.file.with_suffix("")
        self._own = own.parts
        self._border = border_around(target.file.parent)
        self._known: dict[str, bool] = {}

    def names(self, text: str) -> bool:
        """The class alone, or with a module that its file is, or that imports it from there; or as it is registered."""
        if self.is_registered(text):
            return True
        if text not in self._known:
            found = split_name(text) if len(text) < 300 else None
            self._known[text] = (
                found is not None and found[1] == self.name and (not found[0] or self._is_here(found[0].split(".")))
            )
        return self._known[text]

    def may_stand_in(self, text: str) -> bool:
        """A text has one of the names, as a word."""
        return any(name in text for name in self._all) and self.word.search(text) is not None

    def is_registered(self, text: str) -> bool:
        """It is one of the further names."""
        return text in self._registered

    def line(self, text: str, number: int, n_all: int) -> int | None:
        """The line of a text of a file at which the class is named for that time, counted from 0; None where its lines
        do not name it so often as what was read from them."""
        found = [
            line
            for line, content in enumerate(text.split("\n"), start=1)
            if not content.lstrip().startswith("#")
            for match in self._in_line.finditer(content)
            if self.names(match[0])
        ]
        return found[number] if len(found) == n_all else None

    def _is_here(self, parts: list[str]) -> bool:
        size = len(parts)
        if list(self._own[-size:]) == parts:
            return True
        for end in range(len(self._own) - 1, size - 1, -1):  # a package around it may give the class on
            folder = self._own[:end]
            if not self._border.holds(os.path.join(*folder)):
                return False
            if list(folder[-size:]) == parts:
                return self._gives(Path(*folder) / "__init__.py", self._own[end])
        return False

    def _gives(self, package: Path, below: str) -> bool:
        """The package imports the class from what lies below it under that name."""
        try:
            if not self._border.holds(package):
                return False
            index = read_index(decode(read(package, _MAX_TEXT)), str(package))
        except (OSError, ValueError, LookupError, SyntaxError, RecursionError, MemoryError):
            return False
        imported = (*index.imports_of.get(self.name, ()), *index.star_imports)
        return any(below in _parts(each) for each in imported)


def _parts(imported: ImportedName) -> list[str]:
    return imported.module.split(".")
