"""Classes of the same name in other files of a project: which of them a configuration means that says no module.

A registry takes the name alone, and a project may have several. The one whose file lies nearest to the configuration,
by steps from folder to folder, is meant; where two lie equally near, nobody can tell.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from pathlib import Path

from modgraph.doors.borders import border_around
from modgraph.source.files import python_files, text_of
from modgraph.source.integers import parse

MAX_FILES = 5_000
"""Files of a project that are looked through; where it has more, it cannot be told."""
_MAX_FILE = 1_000_000
"""Bytes of one file."""


class Namesakes:
    """Of one class.

    Args:
        name: by which it is called, its own or one under which it is registered.
        file: where it is defined.
        registered_in: the files that register it under that name; where another one registers something so, that is a
            namesake too. None where the name is its own.
    """

    def __init__(self, name: str, file: Path, registered_in: Iterable[Path] | None = None) -> None:
        written = re.escape(name)
        self._word = re.compile(rf"^[ \t]*class[ \t]+{written}\b", re.MULTILINE)
        quoted = rf"[\"']{written}[\"']"
        self._registers = re.compile(
            rf"@[\w.]+\([^)\n@]{{0,300}}{quoted}|\[\s*{quoted}\s*\]\s*=(?!=)|{quoted}\s*:\s*[A-Za-z_][\w.]*\s*[,}}\n]"
            rf"|{quoted}\s*,\s*[A-Za-z_][\w.]*\s*\)|{quoted}\s*\)\s*\("
        )
        self._name = name
        self._file = os.path.realpath(file)
        self._is_registered = registered_in is not None
        self._own = {self._file, *map(os.path.realpath, registered_in or ())}

    def is_nearest(self, configuration: str) -> bool:
        """Whether a configuration that says the name alone means this class."""
        if self._others is None:
            return False
        home = os.path.dirname(configuration)
        own = _steps(self._file, home)
        return all(_steps(other, home) > own for other in self._others)

    @cached_property
    def _others(self) -> list[str] | None:
        """Files that define such a class; None where there are too many to look through."""
        border = border_around(os.path.dirname(self._file))
        files = (path for top in border.folders for path in python_files(top, wanted=(".py",)))
        found = list(islice(files, MAX_FILES + 1))
        if len(found) > MAX_FILES:
            return None
        others = {os.path.realpath(path) for path in found} - self._own
        if self._is_registered and self._defines(self._file):
            others.add(self._file)
        return [path for path in others if border.holds_real(path) and self._defines(path)]

    def _defines(self, path: str) -> bool:
        """At the top of the file, also below `if` and `try`; a class in a function is known to nobody else."""
        text = text_of(path, _MAX_FILE)
        if text is None or self._name not in text:
            return False
        if self._is_registered and path not in self._own and self._registers.search(text):
            return True
        if self._word.search(text) is None:
            return False
        try:
            return _has(parse(text).body, self._name)
        except SyntaxError:
            return False
        except (ValueError, RecursionError, MemoryError):
            return True  # it may


def _has(statements: list[ast.stmt], name: str) -> bool:
    pending: list[ast.AST] = [*statements]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.ClassDef) and each.name == name:
            return True
        if isinstance(each, ast.If | ast.Try | ast.With | ast.ExceptHandler | ast.For | ast.While):
            pending += ast.iter_child_nodes(each)
    return False


def _steps(path: str, folder: str) -> int:
    return len(Path(os.path.relpath(os.path.dirname(path), folder)).parts)
