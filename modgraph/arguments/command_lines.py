"""The command lines with which a project starts its scripts: in its README files and shell scripts.

A script whose options are required is started with them, and that is often written down nowhere else.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from modgraph.doors.borders import border_around, project_folders
from modgraph.doors.reading import lies_in, read
from modgraph.source.files import decode, python_files

ENDINGS = (".md", ".rst", ".sh", ".bash", "Makefile")
MAX_FILE = 200_000
"""Bytes of one file."""
MAX_FILES = 100
MAX_FOUND = 2
"""Command lines of one script."""
_MAX_FOLDERS_UP = 4
_MAX_LINE = 4_000
_ENDS = re.compile(r"(?:^|\s)(?:&&?|\|\|?|;|\d?>{1,2}|<(?=\s))|;(?:\s|$)|\s#|`")
"""What ends a command of a shell, or has it read and write elsewhere."""
_OPEN = re.compile(r"[$*?<>]|\.\.\.|^\[-|^\[[^\]]*$|^[^\[]*\]$|^\{.*\}$|^\W+$")
"""Of a word: that something stands for it, which the shell or the reader is to put there."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """How a script is started."""

    words: tuple[str, ...]
    """Behind the script."""
    file: str
    """Absolute."""
    line: int


def command_lines(script: Path) -> Iterator[CommandLine]:
    """Those that start a script with words that are written out, of the nearest files first."""
    seen: set[tuple[str, ...]] = set()
    for path, text in _texts(script):
        for line, command in _commands(text, script.name):
            words = _words(command, script)
            if words and words not in seen:
                seen.add(words)
                yield CommandLine(words, path, line)
                if len(seen) == MAX_FOUND:
                    return


def _texts(script: Path) -> Iterator[tuple[str, str]]:
    """The files in which it may be started, with their texts: its folder's, then those of the folders around."""
    seen: set[str] = set()
    folder = str(script.parent)
    border = border_around(folder)
    tops = project_folders(folder)
    for _ in range(_MAX_FOLDERS_UP + 1):
        if not any(lies_in(folder, top) for top in tops):
            return
        found = islice(python_files(folder, wanted=ENDINGS), MAX_FILES)
        for path in sorted(found, key=lambda path: (os.path.dirname(path) != folder, path)):
            real = os.path.realpath(path)
            if real in seen or not border.admits(real, ENDINGS):
                continue
            seen.add(real)
            try:
                yield real, decode(read(real, MAX_FILE))
            except (OSError, ValueError, LookupError, SyntaxError):
                continue
            if len(seen) >= MAX_FILES:
                return
        folder = os.path.dirname(folder)


def _commands(text: str, name: str) -> Iterator[tuple[int, str]]:
    """Lines that have a name, those that a backslash continues joined, each with its number."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        first, line = number, lines[number]
        while line.rstrip().endswith("\\") and number + 1 < len(lines) and len(line) < _MAX_LINE:
            number += 1
            line = f"{line.rstrip()[:-1]} {lines[number]}"
        number += 1
        if name in line and len(line) < _MAX_LINE:
            yield first + 1, line


def _words(command: str, script: Path) -> tuple[str, ...]:
    """What follows the script in a command, to the command's end; () where the command does not start it, or
    something stands for a word."""
    named = re.search(rf"(?:^|\s)((?:[\w./-]*/)?{re.escape(script.name)})(?=\s)", command)
    if named is None or ("py" not in command[: named.start(1)] and "launch" not in command[: named.start(1)]):
        return ()
    if not str(script).endswith("/" + os.path.normpath(named[1]).lstrip("./")):
        return ()
    rest = command[named.end(1) :]
    end = _ENDS.search(rest)
    try:
        words = shlex.split((rest[: end.start()] if end else rest).strip())
    except ValueError:
        return ()
    return () if any(_OPEN.search(word) for word in words) else tuple(words)
