"""What the result of a task depends on, as one hash: the files that importing the model's file reads, wherever they
lie, the versions of what is installed, the configuration nearest to the file, and the options."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from modgraph._version import __version__
from modgraph.batch.installed import Installed, is_standard
from modgraph.config import Configs
from modgraph.doors.borders import project_folders
from modgraph.doors.reading import read
from modgraph.errors import ConfigError, TargetError
from modgraph.source.cache_home import cache_home, kept_in
from modgraph.source.modules import CompiledModule, ModuleFinder, SourceModule, finder_for
from modgraph.source.quiet import python_tree
from modgraph.source.targets import Target

_OURSELVES = Path(os.path.realpath(__file__)).parents[1]
"""modgraph's version stands for it, and for what it knows of torch."""
_Module = SourceModule | CompiledModule
_OF_FINDINGS = ("select", "extend_select", "ignore", "per_file_ignores", "module_bases", "hidden_names")
"""What of a configuration says which findings a graph has."""


_Import = tuple[str, str | None, int]
"""Module, name, level."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the file of a module is, and what stands for it in a key."""

    path: str
    among: Literal["files", "beside", ""] = ""
    """Its content, among the files of the tree, or of those beside it; nothing of it, or the version of `owners`."""
    name: str = ""
    owners: frozenset[str] = frozenset()


class Keys:
    """Hashes for the models below one folder; each file is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._readers: dict[tuple[Any, ...], _Reader] = {}
        self._hashes: dict[str, str] = {}
        self._projects: dict[str, tuple[str, ...]] = {}
        """Folders of the project of each folder of a file."""
        self._places: dict[tuple[str, str], _Place] = {}
        self._imports: dict[str, tuple[_Import, ...]] = {}
        self._installed = Installed()
        self._configs = Configs()
        self.problems: dict[str, ConfigError] = {}
        """Of configurations that cannot be used, by their file."""

    def of(self, target: Target, fields: Mapping[str, Any]) -> str:
        """The key of a target.

        Args:
            fields: what else the result depends on, as JSON values.
        """
        assert target.file is not None
        document = {
            "python": platform.python_version(),
            "modgraph": __version__,
            "torch": self._installed.versions(frozenset(["torch"])),
            **self._read_for(target),
            "config": self._config(target.file),
            "target": target.text,
            **fields,
        }
        # Keyed, for a manifest may have come with the repository, and would say that all of it is done.
        return kept_in(cache_home()).keyed(json.dumps(document, sort_keys=True).encode("ascii"))

    def _read_for(self, target: Target) -> dict[str, Any]:
        """Hashes of the files of the tree by their path, of others by the name of their module, and versions of what is
        installed."""
        home = target.home or os.curdir
        if home not in self._projects:
            self._projects[home] = tuple(project_folders(home))
        key = target.search_path, *self._projects[home]
        if key not in self._readers:
            self._readers[key] = _Reader(finder_for(target.search_path, target.home), self._imports)
        reader = self._readers[key]
        assert target.file is not None
        start = SourceModule(target.module, target.file, target.relative_file, target.file.stem == "__init__")
        seen: set[str] = set()
        found: dict[str, dict[str, str]] = {"files": {}, "beside": {}}
        owners: set[str] = set()
        pending: list[_Module] = [start, *reader.parents(target.module)]
        while pending:
            module = pending.pop()
            if module.path is None:
                continue
            place = self._place(module)
            if place.path in seen:
                continue
            seen.add(place.path)
            owners |= place.owners
            if place.among:
                found[place.among][place.name] = self._hash(place.path)
                pending.extend(reader.imported_by(module))
        return {**found, "installed": self._installed.versions(frozenset(owners))}

    def _place(self, module: _Module) -> _Place:
        """Found out once: models of one project import the same modules."""
        key = str(module.path), module.name
        if key not in self._places:
            self._places[key] = self._placed(module)
        return self._places[key]

    def _placed(self, module: _Module) -> _Place:
        assert module.path is not None
        path = Path(os.path.realpath(module.path))
        if path.is_relative_to(self._folder):
            return _Place(str(path), "files", path.relative_to(self._folder).as_posix())
        if is_standard(path) or path.is_relative_to(_OURSELVES):
            return _Place(str(path))
        if owners := self._installed.owners(module.path.parents[_depth(module)], module.path):
            return _Place(str(path), owners=owners)
        return _Place(str(path), "beside", module.name)

    def _hash(self, path: str) -> str:
        if path not in self._hashes:
            try:
                self._hashes[path] = hashlib.sha256(read(path)).hexdigest()
            except OSError as error:
                self._hashes[path] = f"cannot be read: {error.errno}"
        return self._hashes[path]

    def _config(self, file: Path) -> Any:
        """What holds for the findings of a file; a mistake in it leaves the graph without any."""
        try:
            config = self._configs.of(str(file))
        except ConfigError as error:
            self.problems[error.file or ""] = error
            return error.message
        given = {name: getattr(config, name) for name in _OF_FINDINGS if getattr(config, name)}
        if not given:
            return None
        given["per_file_ignores"] = dict(config.per_file_ignores)
        return [os.path.relpath(config.folder, self._folder), given]


def _depth(module: _Module) -> int:
    """How many folders above its own the one is from which it is imported."""
    return module.name.count(".") + (isinstance(module, SourceModule) and module.is_package)


@dataclass(slots=True)
class _Reader:
    """The modules of one search path, and what each imports."""

    finder: ModuleFinder
    imports: dict[str, tuple[_Import, ...]]
    """What stands in each file, whichever the search path."""
    _imported: dict[str, tuple[_Module, ...]] = field(default_factory=dict)

    def imported_by(self, module: _Module) -> tuple[_Module, ...]:
        """The modules that importing one may come to at once, also by what stands in its functions."""
        if isinstance(module, CompiledModule):
            return ()
        key = str(module.path)
        if key not in self._imported:
            names = dict.fromkeys(
                dotted
                for name, attribute, level in self._written(module)
                for dotted in _with_parents(module.absolute(name, level), attribute)
            )
            self._imported[key] = tuple(self._found(names))
        return self._imported[key]

    def _written(self, module: SourceModule) -> tuple[_Import, ...]:
        key = str(module.path)
        if key not in self.imports:
            self.imports[key] = tuple(dict.fromkeys(_imports(_tree(module))))
        return self.imports[key]

    def parents(self, name: str) -> Iterator[_Module]:
        """The packages that importing a module runs first."""
        return self._found(_with_parents(name.rpartition(".")[0], None))

    def _found(self, names: Iterator[str] | Mapping[str, None]) -> Iterator[_Module]:
        for name in names:
            found = self.finder.find(name)
            if isinstance(found, SourceModule | CompiledModule):
                yield found


def _tree(module: SourceModule) -> ast.AST:
    try:
        return python_tree(module.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TargetError):
        return ast.Module([], [])


def _imports(tree: ast.AST) -> Iterator[_Import]:
    """Every import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None, 0
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.module or "", alias.name, node.level


def _with_parents(name: str, attribute: str | None) -> Iterator[str]:
    """The modules that importing a name runs: "a", "a.b", and "a.b.c", which may be no module."""
    parts = [*name.split("."), *([attribute] if attribute not in (None, "*") else [])] if name else []
    for count in range(1, len(parts) + 1):
        yield ".".join(map(str, parts[:count]))
