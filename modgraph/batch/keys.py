"""What the result of a task depends on, as one hash: the files that the model's file imports in the tree, the options,
and the versions of modgraph and torch."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from modgraph._version import __version__
from modgraph.errors import TargetError
from modgraph.source.modules import ModuleFinder, SourceModule, finder_for
from modgraph.source.targets import Target

_ELSEWHERE = sys.stdlib_module_names | {"torch"}


class Keys:
    """Hashes for the models below one folder; each file is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._finders: dict[tuple[str, ...], ModuleFinder] = {}
        self._imports: dict[Path, tuple[tuple[str, str | None, int], ...]] = {}
        self._hashes: dict[Path, str] = {}

    def of(self, target: Target, fields: Mapping[str, Any]) -> str:
        """The key of a target.

        Args:
            fields: what else the result depends on, as JSON values.
        """
        if target.search_path not in self._finders:
            self._finders[target.search_path] = finder_for(target.search_path)
        finder = self._finders[target.search_path]
        assert target.file is not None
        start = SourceModule(target.module, target.file, target.relative_file, target.file.stem == "__init__")
        files = {self._shown(path): self._hash(path) for path in self._closure(start, finder)}
        document = {
            "modgraph": __version__,
            "torch": _version("torch"),
            "files": files,
            "target": target.text,
            **fields,
        }
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode("utf-8", "backslashreplace")).hexdigest()

    def _shown(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()

    def _hash(self, path: Path) -> str:
        if path not in self._hashes:
            self._hashes[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        return self._hashes[path]

    def _closure(self, start: SourceModule, finder: ModuleFinder) -> Iterator[Path]:
        """The file, and those of the tree that importing it may come to."""
        seen: set[Path] = set()
        pending = [start]
        while pending:
            module = pending.pop()
            path = module.path.resolve()
            if path in seen or not path.is_relative_to(self._folder):
                continue
            seen.add(path)
            yield path
            for name, attribute, level in self._imports_of(module, path):
                for dotted in _with_parents(module.absolute(name, level), attribute):
                    found = finder.source(dotted)
                    if found is not None:
                        pending.append(found)

    def _imports_of(self, module: SourceModule, path: Path) -> tuple[tuple[str, str | None, int], ...]:
        """(module, name, level) of every import, also of those inside functions."""
        if path not in self._imports:
            try:
                tree: ast.AST = ast.parse(module.text)
            except (SyntaxError, ValueError, RecursionError, MemoryError, TargetError):
                tree = ast.Module([], [])
            self._imports[path] = tuple(_imports(tree))
        return self._imports[path]


def _imports(tree: ast.AST) -> Iterator[tuple[str, str | None, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] not in _ELSEWHERE:
                    yield alias.name, None, 0
        elif isinstance(node, ast.ImportFrom) and (
            node.level or (node.module or "").partition(".")[0] not in _ELSEWHERE
        ):
            for alias in node.names:
                yield node.module or "", alias.name, node.level


def _with_parents(name: str, attribute: str | None) -> Iterator[str]:
    """The modules that importing a name runs: "a", "a.b", and "a.b.c", which may be no module."""
    parts = [*name.split("."), *([attribute] if attribute not in (None, "*") else [])] if name else []
    for count in range(1, len(parts) + 1):
        yield ".".join(map(str, parts[:count]))


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
