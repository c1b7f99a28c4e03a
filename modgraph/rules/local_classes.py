"""Classes that stand in functions: read as if they stood at the end of their file, what the function binds unknown."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

NOWHERE = "_not_found"
"""A module that is nowhere: of what is imported from it nothing is known."""


def bound_around(tree: ast.Module, node: ast.ClassDef) -> frozenset[str]:
    """Names that the functions around a class bind: their parameters and locals, the class itself left out."""
    found: set[str] = set()
    for function in _around(tree, node):
        for each in ast.walk(function):
            if isinstance(each, ast.arg):
                found.add(each.arg)
            elif isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
                found.add(each.id)
            elif isinstance(each, ast.alias):
                found.add((each.asname or each.name).partition(".")[0])
            elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(each.name)
    return frozenset(found - {node.name})


def _around(tree: ast.Module, node: ast.ClassDef) -> Iterator[ast.AST]:
    for each in ast.walk(tree):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            last = each.end_lineno or each.lineno
            if each.lineno <= node.lineno and last >= (node.end_lineno or node.lineno) and node in ast.walk(each):
                yield each


def with_it_at_the_end(text: str, lines: list[str], tree: ast.Module, node: ast.ClassDef) -> str | None:
    """The text of the file with a copy of the class behind it; None where the class is not a few lines of its own."""
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    own = "".join(lines[first - 1 : node.end_lineno])
    if not own.lstrip().startswith(("class", "@")):
        return None
    names = sorted(name for name in bound_around(tree, node) if name.isidentifier())
    unknown = f"from {NOWHERE} import {', '.join(names)}\n" if names else ""
    return f"{text}\n\n{unknown}{textwrap.dedent(own)}\n"
