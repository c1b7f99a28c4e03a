"""What a file refers to, by the full names: `import pickle as p; f = p.loads` refers to `pickle.loads`.

A reference counts whether it is called or not, as a function that was handed on is called elsewhere. Shared by the
tests that look at the source of the package.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """One place."""

    name: str
    """`os.open`, `builtins.open`, `pathlib.Path().replace` of what is made there; `.open` of whatever object."""
    function: str
    """In which it stands; "" at module level."""
    line: int
    call: ast.Call | None
    """Where it is called."""
    is_import: bool = False
    """It stands in a statement that imports it."""


def imported(tree: ast.AST) -> dict[str, str]:
    """What names of modules, and of what is imported from them, stand for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                first = each.name.partition(".")[0]
                names[each.asname or first] = each.name if each.asname else first
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            module = imported_by_name(node.value)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update({each.id: module for each in targets if module is not None and isinstance(each, ast.Name)})
    return names


def imported_by_name(node: ast.AST) -> str | None:
    """The module of `import_module("a.b")`, where it is written out."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    what = node.args[0]
    how = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
    is_text = isinstance(what, ast.Constant) and isinstance(what.value, str)
    return what.value if is_text and how in ("import_module", "__import__") else None


def references(tree: ast.AST) -> Iterator[Reference]:
    """Every reference to what was imported or is built in, and every attribute of what is not known."""
    yield from _References(tree).of(tree, "")


class _References:
    def __init__(self, tree: ast.AST) -> None:
        self.names = imported(tree)
        bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        bound |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self.built_in = set(dir(builtins)) - bound

    def resolved(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            return f"builtins.{node.id}" if node.id in self.built_in else None
        if isinstance(node, ast.Attribute):
            base = self.resolved(node.value)
            return f".{node.attr}" if base is None or base.startswith(".") else f"{base}.{node.attr}"
        if isinstance(node, ast.Call):
            made = self.resolved(node.func)
            if imported_by_name(node) is not None:
                return imported_by_name(node)
            return f"{made}()" if made is not None and made.startswith("pathlib.") else None
        return None

    def of(self, node: ast.AST, function: str, call: ast.Call | None = None) -> Iterator[Reference]:
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            for each in node.names:
                yield Reference(f"{node.module}.{each.name}", function, node.lineno, None, is_import=True)
            return
        name = self.resolved(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if name is not None:
            assert isinstance(node, (ast.Name, ast.Attribute))
            yield Reference(name, function, node.lineno, call)
            while isinstance(node, ast.Attribute):
                node = node.value
            if isinstance(node, ast.Name):
                return
            yield from self.of(node, function)
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name
        never_run = (getattr(node, "annotation", None), getattr(node, "returns", None))
        for child in ast.iter_child_nodes(node):
            if child in never_run:  # by `from __future__ import annotations`, which each file has
                continue
            yield from self.of(child, function, node if isinstance(node, ast.Call) and child is node.func else None)
