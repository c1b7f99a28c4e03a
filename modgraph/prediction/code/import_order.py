"""Which modules are imported once a module is, and in which order; from their text alone, without indexing them."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import sys
import textwrap
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

from modgraph.prediction.code.lazy_hooks import only_hooks_import
from modgraph.prediction.domain.limits import MAX_FOLLOWED_TEXT, MAX_IMPORTED_MODULES
from modgraph.source.modules import BYTES_SEARCHED, ModuleFinder, SourceError, SourceModule
from modgraph.source.quiet import python_tree
from modgraph.source.reached import Reached

_IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+[^\n(;]+|from[ \t]+[.\w]+[ \t]+import[ \t]*(?:\(|(?:[^\n(;]*\\\n)*[^\n(;]+))", re.M
)
_BY_NAME = re.compile(r"^(?![ \t]*(?:#|def ))[^\n]*\b(?:import_module|__import__)\(\s*[\"']([.\w]+)[\"']", re.M)
_COMPUTED = re.compile(
    r"\b(?:import_module|__import__)\(\s*(?![\"'][.\w]+[\"']\s*[,)])|\b(?:iter_modules|walk_packages)\("
)
_OUTERMOST = re.compile(r"^[^\s#)\]}][^\n]*", re.M)
_NOT_RUN = re.compile(r"(?:async\s+)?def\b|if\s+(?:\w+\.)?TYPE_CHECKING\b|if\s+__name__\s*==")
_LINE_END = re.compile("\n")
_LAZY = re.compile(r"^def __getattr__\(", re.M)


@dataclass
class Imported:
    """The modules that importing one brings, in the order in which their bodies begin."""

    modules: dict[str, SourceModule] = field(default_factory=dict)
    imports: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """Of each: the lines on which it imports others, in order."""
    changers: dict[str, bool] = field(default_factory=dict)
    """Functions by name: whether they change what they are given; kept by `side_effects.py`."""
    incomplete: str | None = None
    """Why there may be more than these."""
    large: frozenset[str] = frozenset()
    """Packages that are too large to be followed."""
    far: dict[str, SourceModule] = field(default_factory=dict)
    """Their modules that are imported."""


def imported_by(finder: ModuleFinder, roots: tuple[str, ...], known: Container[str] = ()) -> Imported:
    """The modules imported with `roots`; those of other installed packages left out, and the known ones."""
    found = Imported()
    tops = set(map(top_of, roots))
    pending = list(reversed(roots))
    while pending:
        name = pending.pop()
        if name in found.modules or name in known or _foreign(name):
            continue
        source = finder.source(name)
        if source is None or (top_of(name) not in tops and is_installed(source)):
            continue
        if len(found.modules) >= MAX_IMPORTED_MODULES:
            found.incomplete = Reached(f"more than {MAX_IMPORTED_MODULES} modules are imported")
            break
        found.modules[name] = source
        if source not in finder.imports:
            finder.imports[source] = _read(finder, source)
        lines, computed = finder.imports[source]
        found.incomplete = computed or found.incomplete
        found.imports[name] = [*((0, parent) for parent in _parents(name)), *lines]
        pending.extend(reversed([other for _, other in found.imports[name]]))
    return found


def without_large_packages(imported: Imported, roots: tuple[str, ...]) -> Imported:
    """The same without the modules of packages of more text than is followed, but for the roots: those are `far`."""
    sizes: Counter[str] = Counter()
    for name, source in imported.modules.items():
        if not is_installed(source):
            sizes[top_of(name)] += len(source.text)
    large = frozenset(top for top, size in sizes.items() if size > MAX_FOLLOWED_TEXT)
    far = {name: source for name, source in imported.modules.items() if top_of(name) in large and name not in roots}
    if not far:
        return imported
    near = {name: source for name, source in imported.modules.items() if name not in far}
    return replace(imported, modules=near, changers={}, large=large, far=far)


def _read(finder: ModuleFinder, source: SourceModule) -> tuple[list[tuple[int, str]], str | None]:
    found = Imported()
    try:
        return list(_imports(finder, source, found)), found.incomplete
    except SourceError:
        return [], None


def _foreign(name: str) -> bool:
    top = top_of(name)
    return top in sys.stdlib_module_names or top in ("torch", "numpy")


def is_installed(source: SourceModule) -> bool:
    """Whether a module belongs to an installed package, by where it lies."""
    return _is_installed(source.path, source.name.count(".") + source.is_package)


@lru_cache(maxsize=16_384)  # asked of every module for each model
def _is_installed(path: Path, depth: int) -> bool:
    parents = path.parents
    return any(part in ("site-packages", "dist-packages") for part in path.parts) or (
        depth < len(parents) and _holds_distributions(str(parents[depth]))
    )


@cache
def _holds_distributions(directory: str) -> bool:
    try:
        return any(entry.endswith(".dist-info") for entry in os.listdir(directory))
    except OSError:
        return False


def top_of(name: str) -> str:
    """The package outermost in an import path."""
    return name.partition(".")[0]


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


@dataclass(frozen=True)
class _Written:
    """What a text says of its imports, whichever module it is of."""

    statements: list[tuple[int, ast.stmt]]
    """That are executed when it is imported, by line."""
    by_name: list[tuple[int, str]]
    """Lines and names of calls that import what a text names, as written."""
    computed: tuple[int, bool] | None
    """Line of the first import by a name that is computed, and whether it is executed when the module is imported."""


def _imports(finder: ModuleFinder, source: SourceModule, found: Imported) -> Iterator[tuple[int, str]]:
    """Line and name of each module that the body imports."""
    facts = source.facts
    source.spend_once("imports", len(source.text) // BYTES_SEARCHED)
    if facts.imports is None:
        facts.imports = _read_text(source.text)
    written: _Written = facts.imports
    for line, node in written.statements:
        for name in _named(finder, source, node):
            yield line, name
    for line, name in written.by_name:
        dots = len(name) - len(name.lstrip("."))
        yield line, source.absolute(name[dots:], dots)
    if written.computed is not None and (source.is_package or written.computed[1]):
        found.incomplete = f"{source.file} imports modules by names that it computes"
        if source.is_package:
            yield from ((written.computed[0], name) for name in _below(finder, source.name, str(source.path.parent)))


def _read_text(text: str) -> _Written:
    blocks = _Blocks(text)
    statements: list[tuple[int, ast.stmt]] = []
    for start, written in _written_imports(text):
        if blocks.run(start):
            with contextlib.suppress(SyntaxError, ValueError):
                (node,) = python_tree(textwrap.dedent(written)).body
                statements.append((blocks.line(start), node))
    named = (match for match in _BY_NAME.finditer(text) if blocks.run(match.start()))
    by_name = [(blocks.line(match.start()), match.group(1)) for match in named]
    computed = _COMPUTED.search(text)
    if computed is None or _LAZY.search(text) or (".__getattr__" in text and only_hooks_import(text)):
        return _Written(statements, by_name, None)
    return _Written(statements, by_name, (blocks.line(computed.start()), blocks.run(computed.start())))


def _written_imports(text: str) -> Iterator[tuple[int, str]]:
    """Where each import statement begins, and its text."""
    position, is_closed = 0, True
    while (match := _IMPORT.search(text, position)) is not None:
        position = match.end()
        if match.group().endswith("("):
            end = text.find(")", position) + 1 if is_closed else 0
            is_closed = end > 0  # where no bracket is closed any more, none is looked for again
            if not is_closed:
                continue
            position = end
        yield match.start(), text[match.start() : position]


class _Blocks:
    """The statements at the left margin of a text, and its lines."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [match.start() for match in _OUTERMOST.finditer(text)]
        self._ends_of_lines = [match.start() for match in _LINE_END.finditer(text)]
        self._not_run: dict[int, bool] = {}

    def line(self, position: int) -> int:
        return bisect_left(self._ends_of_lines, position) + 1

    def run(self, position: int) -> bool:
        """What stands at that position is executed when the module is imported."""
        place = bisect_right(self._starts, position) - 1
        if place < 0 or self._starts[place] == position:
            return True
        if place not in self._not_run:
            self._not_run[place] = _NOT_RUN.match(self._text, self._starts[place]) is not None
        return not self._not_run[place]


def _named(finder: ModuleFinder, source: SourceModule, node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from (*_parents(alias.name), alias.name)
    elif isinstance(node, ast.ImportFrom):
        module = source.absolute(node.module or "", node.level)
        if not module or _foreign(module):
            return
        yield from (*_parents(module), module)
        package = finder.source(module)
        if package is None or package.is_package:
            for alias in node.names:
                if alias.name != "*" and finder.source(f"{module}.{alias.name}") is not None:
                    yield f"{module}.{alias.name}"


def _below(finder: ModuleFinder, package: str, directory: str, depth: int = 0) -> Iterator[str]:
    """The modules of a package and of the packages in it, by name, as far as they are the project's."""
    here = finder.entries(directory)
    for entry in sorted(here.files | here.folders):
        if entry in here.files:
            if entry.endswith(".py") and not entry.startswith("__"):
                yield f"{package}.{entry[:-3]}"
        elif depth < 2 and "__init__.py" in finder.entries(os.path.join(directory, entry)).files:
            yield f"{package}.{entry}"
            yield from _below(finder, f"{package}.{entry}", os.path.join(directory, entry), depth + 1)
