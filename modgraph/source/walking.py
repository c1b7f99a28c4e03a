"""Walks over `ast` trees without what holds no name: numbers, texts, operators. Of a long literal nothing is left."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

_NAMELESS = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_KINDS: dict[type, bool] = {}
"""Whether nodes of a type are left out."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below, in order."""
    found: list[ast.AST] = []
    kinds = _KINDS
    for name in node._fields:
        value: Any = getattr(node, name, None)
        for child in value if type(value) is list else (value,):
            kind = type(child)
            left_out = kinds.get(kind)
            if left_out is None:
                left_out = kinds[kind] = not issubclass(kind, ast.AST) or issubclass(kind, _NAMELESS)
            if not left_out:
                found.append(child)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it, in the order of `ast.walk`."""
    found = [node]
    for each in found:  # which grows meanwhile
        yield each
        found += children(each)
