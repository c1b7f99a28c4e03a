"""A file in short, for questions about its classes: what its names mean and what its classes derive from.

Made from an `ast` in one pass over the statements that importing the file may execute. Plain data, so that it can be
kept on disk. Nothing heavy is imported here: a check of one file must not cost more than reading it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from modgraph.source.dotted_names import dotted
from modgraph.source.module_classes import FORWARD, TORCH


class Summary:
    """What the names at module level of one file stand for."""

    __slots__ = ("aliases", "classes", "forwards", "functions", "has_torch", "imports", "stars")

    def __init__(self) -> None:
        self.imports: dict[str, tuple[str, str, int]] = {}
        """By the bound name: the module as written, the attribute taken from it ("" for the module itself), and the
        number of leading dots. `import a.b` binds "a" to ("a", "", 0)."""
        self.stars: list[tuple[str, int]] = []
        """Star imports: the module as written and the number of leading dots."""
        self.classes: dict[str, tuple[str, ...]] = {}
        """By qualified name: its bases as dotted names, "" for one that is none."""
        self.forwards: set[str] = set()
        """Classes that have a `forward` which is called on an instance."""
        self.has_torch = False
        """It imports torch, or something of it."""
        self.functions: set[str] = set()
        self.aliases: dict[str, str] = {}
        """Names that are assigned another dotted name: `Base = nn.Module`."""

    def to_json(self) -> list[Any]:
        forwards = [sorted(self.forwards), self.has_torch]
        return [self.imports, self.stars, self.classes, sorted(self.functions), self.aliases, *forwards]

    @classmethod
    def from_json(cls, data: list[Any]) -> Summary:
        """Raises ValueError or TypeError where the data is no summary."""
        found = cls()
        imports, stars, classes, functions, aliases, forwards, has_torch = data
        found.imports = {name: (module, attribute, level) for name, (module, attribute, level) in imports.items()}
        found.stars = [(module, level) for module, level in stars]
        found.classes = {name: tuple(bases) for name, bases in classes.items()}
        found.functions = set(functions)
        found.aliases = dict(aliases)
        found.forwards, found.has_torch = set(forwards), bool(has_torch)
        return found


def summarize(tree: ast.Module) -> Summary:
    """The summary of a parsed file."""
    found = Summary()
    _read(tree.body, "", found)
    found.has_torch = imports_torch(found)
    return found


def imports_torch(found: Summary) -> bool:
    """Whether an import names torch, or something of it."""
    homes = (*(module for module, _, level in found.imports.values() if not level), *(name for name, _ in found.stars))
    return any(home.partition(".")[0] == TORCH for home in homes)


def read_statement(node: ast.stmt, found: Summary) -> None:
    """Adds what a statement binds, as if it stood at the top of a file."""
    _read([node], "", found)


def _read(statements: Iterable[ast.stmt], prefix: str, found: Summary) -> None:
    for node in statements:
        if isinstance(node, ast.ClassDef):
            found.classes[prefix + node.name] = tuple(_base(base) for base in node.bases)
            _read(node.body, f"{prefix}{node.name}.", found)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not prefix:
                found.functions.add(node.name)
            elif node.name == FORWARD and not any(dotted(each) == "staticmethod" for each in node.decorator_list):
                found.forwards.add(prefix[:-1])
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            read_import(node, found)
        elif isinstance(node, ast.Assign):
            name = dotted(node.value)
            for target in node.targets:
                if name and not prefix and isinstance(target, ast.Name) and target.id != name:
                    found.aliases.setdefault(target.id, name)
        else:
            for block in blocks(node):
                _read(block, prefix, found)


def read_import(node: ast.Import | ast.ImportFrom, found: Summary) -> None:
    """Adds what an import statement binds; of several imports of one name the first counts, as that of a `try`."""
    if isinstance(node, ast.Import):
        for each in node.names:
            name, module = (each.asname, each.name) if each.asname else (each.name.partition(".")[0],) * 2
            found.imports.setdefault(name, (module, "", 0))
        return
    for each in node.names:
        if each.name == "*":
            found.stars.append((node.module or "", node.level))
        else:
            found.imports.setdefault(each.asname or each.name, (node.module or "", each.name, node.level))


def _base(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):  # Base[int]
        node = node.value
    return dotted(node) or ""


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement, those of its handlers and cases last."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if block:
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body
