"""Which modules are imported once a module is, and in which order; from their text alone, without indexing them."""

from __future__ import annotations

import ast
import os
import re
import sys
import textwrap
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from modgraph.prediction.limits import MAX_FOLLOWED_TEXT, MAX_IMPORTED_MODULES
from modgraph.source.modules import BYTES_SEARCHED, ModuleFinder, SourceError, SourceModule

_IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+[^\n(;]+|from[ \t]+[.\w]+[ \t]+import[ \t]*(?:\([^)]*\)|(?:[^\n(;]*\\\n)*[^\n(;]+))", re.M
)
_BY_NAME = re.compile(r"^(?![ \t]*(?:#|def ))[^\n]*\b(?:import_module|__import__)\(\s*[\"']([.\w]+)[\"']", re.M)
_COMPUTED = re.compile(
    r"\b(?:import_module|__import__)\(\s*(?![\"'][.\w]+[\"']\s*[,)])|\b(?:iter_modules|walk_packages)\("
)
_OUTERMOST = re.compile(r"^[^\s#)\]}][^\n]*", re.M)
_NOT_RUN = re.compile(r"(?:async\s+)?def\b|if\s+(?:\w+\.)?TYPE_CHECKING\b|if\s+__name__\s*==")
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
            found.incomplete = f"more than {MAX_IMPORTED_MODULES} modules are imported"
            break
        found.modules[name] = source
        if name not in finder.imports:
            finder.imports[name] = _read(finder, source)
        lines, computed = finder.imports[name]
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
    parents = source.path.parents
    depth = source.name.count(".") + source.is_package
    return any(part in ("site-packages", "dist-packages") for part in source.path.parts) or (
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


def _imports(finder: ModuleFinder, source: SourceModule, found: Imported) -> Iterator[tuple[int, str]]:
    """Line and name of each module that the body imports."""
    text = source.text
    source.spend(len(text) // BYTES_SEARCHED)
    blocks = [match.start() for match in _OUTERMOST.finditer(text)]
    for match in _IMPORT.finditer(text):
        if not _runs(text, blocks, match.start()):
            continue
        line = text.count("\n", 0, match.start()) + 1
        try:
            (node,) = ast.parse(textwrap.dedent(match.group())).body
        except (SyntaxError, ValueError):
            continue
        for name in _named(finder, source, node):
            yield line, name
    for match in _BY_NAME.finditer(text):
        if not _runs(text, blocks, match.start()):
            continue
        name = match.group(1)
        dots = len(name) - len(name.lstrip("."))
        yield text.count("\n", 0, match.start()) + 1, source.absolute(name[dots:], dots)
    computed = _COMPUTED.search(text)
    if computed is not None and (source.is_package or _runs(text, blocks, computed.start())) and not _LAZY.search(text):
        found.incomplete = f"{source.file} imports modules by names that it computes"
        if source.is_package:
            line = text.count("\n", 0, computed.start()) + 1
            yield from ((line, name) for name in _below(source.name, source.path.parent))


def _runs(text: str, blocks: list[int], position: int) -> bool:
    """What stands at that position is executed when the module is imported."""
    place = bisect_right(blocks, position) - 1
    return place < 0 or blocks[place] == position or not _NOT_RUN.match(text, blocks[place])


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


def _below(package: str, directory: Path, depth: int = 0) -> Iterator[str]:
    """The modules of a package and of the packages in it, by name."""
    try:
        entries = sorted(os.listdir(directory))
    except OSError:
        return
    for entry in entries:
        if entry.endswith(".py") and not entry.startswith("__"):
            yield f"{package}.{entry[:-3]}"
        elif depth < 2 and (directory / entry / "__init__.py").is_file():
            yield f"{package}.{entry}"
            yield from _below(f"{package}.{entry}", directory / entry, depth + 1)
