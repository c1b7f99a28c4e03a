"""The files of Python of a project around a model, those first that lie nearest to it. They are looked for, read and
parsed once, however often a search comes back to them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from modgraph.arguments.files_around import files_around
from modgraph.arguments.search_time import require_time
from modgraph.errors import TargetError
from modgraph.source.files import text_of
from modgraph.source.integers import parse
from modgraph.source.source_roots import with_source_roots
from modgraph.source.targets import Target, file_target

MAX_FILES = 1_000
"""Files of the project whose text is asked for a name."""
MAX_TEXT = 300_000
"""Characters of one file that is parsed."""
MAX_KEPT = 20_000_000
"""Characters of all files that are kept for the next time."""
MAX_TREES = 200
"""Parsed files that are kept."""
_TRAINING = re.compile(r"train|main|run|fit|demo|example|test", re.IGNORECASE)


class ProjectFiles:
    """Of one search.

    Args:
        model: the file of the model.
    """

    def __init__(self, model: Path) -> None:
        self._model = model
        self._texts: dict[str, str | None] = {}
        self._trees: dict[str, ast.Module | None] = {}
        self._left = MAX_KEPT

    def naming(self, names: Iterable[str], *, own: bool) -> Iterator[tuple[Path, ast.Module]]:
        """Files in whose text one of the names stands, the nearest first, with what they are parsed to.

        Args:
            own: the model's file is one of them.
        """
        names = sorted(names)
        word = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
        paths = (path for path in self._paths if own or path != str(self._model))
        for path in islice(paths, MAX_FILES):
            require_time()
            text = self._text(path)
            if text is None or not any(name in text for name in names) or word.search(text) is None:
                continue  # to look for a name in a text is much faster than for a word
            tree = self._tree(path, text)
            if tree is not None:
                yield Path(path), tree

    @cached_property
    def _paths(self) -> list[str]:
        """Those that take the fewest steps from folder to folder come first."""
        home = str(self._model.parent)
        found = files_around(home, (".py",), most=MAX_FILES, order=lambda path, _: _distance(path, home))
        return list(islice(found, MAX_FILES + 1))

    def _text(self, path: str) -> str | None:
        if path in self._texts:
            return self._texts[path]
        text = text_of(path)
        if text is not None and len(text) > MAX_TEXT:
            text = None
        size = 0 if text is None else len(text)
        if size <= self._left:
            self._left -= size
            self._texts[path] = text
        return text

    def _tree(self, path: str, text: str) -> ast.Module | None:
        if path in self._trees:
            return self._trees[path]
        try:
            tree = parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
        if len(self._trees) < MAX_TREES:
            self._trees[path] = tree
        return tree


def script_of(path: Path, target: Target) -> Target | None:
    """A file as a target, with all that the model's file may import in reach behind what is its own."""
    try:
        script = file_target(str(path), (), path.parent)
    except TargetError:
        return None
    search = with_source_roots(script.search_path, str(path.parent))
    return replace(script, search_path=tuple(dict.fromkeys((*search, *target.search_path))))


def _distance(path: str, folder: str) -> tuple[int, bool, str]:
    """Steps between the folders; then what is called as scripts are, then by name."""
    steps = len(Path(os.path.relpath(os.path.dirname(path), folder)).parts)
    return steps, _TRAINING.search(os.path.basename(path)) is None, path
