"""The command lines with which a project starts its scripts: in its README files and shell scripts.

A script whose options are required is started with them, and that is often written down nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from modgraph.arguments.files_around import files_around
from modgraph.arguments.shell_commands import Command, Document
from modgraph.doors.borders import project_folders
from modgraph.doors.reading import lies_in
from modgraph.prediction.calls_elsewhere import OPEN
from modgraph.source.files import COMMANDS, text_of

MAX_FILE = 200_000
"""Bytes of one file."""
MAX_FILES = 100
"""Files that are asked for one script."""
MAX_TEXT = 4_000_000
"""Characters of all files that are read for one model."""
MAX_FOUND = 2
"""Command lines of one script."""
MAX_KEPT = 1_000
"""Commands of one file."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """How a script is started."""

    words: tuple[str, ...]
    """Behind the script, with OPEN for what is not known of them."""
    file: str
    """Absolute."""
    line: int


class CommandLines:
    """Those of a project. Each file is read once, whatever is asked."""

    def __init__(self) -> None:
        self._commands: dict[str, dict[str, list[Command]]] = {}
        """By file, then by the name of what is started."""
        self._files: dict[str, list[str]] = {}
        """By the folder around which they lie."""
        self._left = MAX_TEXT

    def of(self, script: Path) -> Iterator[CommandLine]:
        """Those that start a script, of the nearest files first; those with a word not written out come last."""
        seen: set[tuple[str, ...]] = set()
        partly: list[CommandLine] = []
        n_found = 0
        real = os.path.realpath(script)
        tops = project_folders(os.path.dirname(real))
        for path in self._around(os.path.dirname(real)):
            for each in self._of_file(path).get(os.path.basename(real), ()):
                if each.words and each.words not in seen and _starts(each, os.path.dirname(path), real, tops):
                    seen.add(each.words)
                    found = CommandLine(each.words, path, each.line)
                    if any(OPEN in word for word in each.words):
                        partly.append(found)
                        continue
                    yield found
                    n_found += 1
                    if n_found == MAX_FOUND:
                        return
        yield from partly[: MAX_FOUND - n_found]

    def _around(self, folder: str) -> list[str]:
        if folder not in self._files:
            found = files_around(folder, COMMANDS, most=MAX_FILES, order=_its_own_first)
            self._files[folder] = list(islice(found, MAX_FILES))
        return self._files[folder]

    def _of_file(self, path: str) -> dict[str, list[Command]]:
        if path not in self._commands:
            found: dict[str, list[Command]] = {}
            top = project_folders(os.path.dirname(path))[0]
            for each in islice(Document(self._text(path), path, top).commands(), MAX_KEPT):
                found.setdefault(os.path.basename(each.script), []).append(each)
            self._commands[path] = found
        return self._commands[path]

    def _text(self, path: str) -> str:
        if self._left <= 0:
            return ""
        text = text_of(path, MAX_FILE) or ""
        self._left -= len(text)
        return text


def _its_own_first(path: str, folder: str) -> tuple[bool, str]:
    return os.path.dirname(path) != folder, path


def _starts(command: Command, folder: str, script: str, tops: list[str]) -> bool:
    """What a command starts is the script, wherever it may be meant to be given: where its file lies, or, where
    nothing lies there, above; and where the file changes to for other commands.

    Args:
        folder: that of the file with the command.
        tops: those of the project.
    """

    def scripts(folders: Iterable[str]) -> set[str]:
        places = {os.path.realpath(os.path.join(each, command.folder, command.script)) for each in folders}
        return {each for each in places if any(lies_in(each, top) for top in tops) and os.path.isfile(each)}

    meant = scripts([folder]) or scripts(_folders_above(folder, tops))
    return meant | scripts(os.path.join(folder, each) for each in command.elsewhere) == {script}


def _folders_above(folder: str, tops: list[str]) -> list[str]:
    """Up to the top of the project."""
    found: list[str] = []
    while True:
        folder = os.path.dirname(folder)
        if not any(lies_in(folder, top) for top in tops) or folder in found:
            return found
        found.append(folder)
