"""The files of Python of a project around a model, those first that lie nearest to it. They are looked for, read and
parsed once, however often a search comes back to them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TypeVar

from modgraph.arguments.files_around import Steps, files_around
from modgraph.arguments.kept_answers import kept
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


_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file with its text; it is parsed where something is asked that was not asked of that text before."""

    path: Path
    text: str
    _parse: Callable[[str, str], ast.Module | None]

    @property
    def tree(self) -> ast.Module | None:
        """None of what cannot be parsed."""
        return self._parse(str(self.path), self.text)

    def asked(self, question: Hashable, answer: Callable[[ast.Module], _Answer]) -> _Answer | None:
        """What the tree says, None of what cannot be parsed.

        Args:
            question: all on which the answer depends besides the text.
        """

        def found() -> _Answer | None:
            tree = self.tree
            return None if tree is None else answer(tree)

        return kept(self.text, question, found)


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

    def naming(self, names: Iterable[str], *, own: bool, in_strings: bool = True) -> Iterator[ProjectFile]:
        """Files in whose text one of the names stands, the nearest first.

        Args:
            own: the model's file is one of them.
            in_strings: one that ends a string, or stands in a comment as code, counts too; else only to `getattr`.
        """
        names = sorted(names)
        word = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
        in_code = re.compile(rf"{word.pattern}(?![\"'`])")
        paths = (path for path in self._paths if own or path != str(self._model))
        for path in islice(paths, MAX_FILES):
            require_time()
            text = self._text(path)
            if text is None or not any(name in text for name in names) or word.search(text) is None:
                continue  # to look for a name in a text is much faster than for a word
            if not in_strings and "getattr" not in text and in_code.search(text) is None:
                continue
            yield ProjectFile(Path(path), text, self._tree)

    @cached_property
    def _paths(self) -> list[str]:
        """Those that take the fewest steps from folder to folder come first."""
        home = str(self._model.parent)
        steps = Steps(home)
        found = files_around(home, (".py",), most=MAX_FILES, order=lambda path, _: _distance(path, steps))
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


def _distance(path: str, steps: Steps) -> tuple[int, bool, str]:
    """Steps between the folders; then what is called as scripts are, then by name."""
    folder, name = os.path.split(path)
    return steps.to(folder), _TRAINING.search(name) is None, path
