"""What a node of syntax changes: the questions of all who look at statements, and run none."""

from __future__ import annotations

import ast

from modgraph.source.containers import CHANGING


def stored_in(node: ast.AST) -> ast.expr | None:
    """The expression whose attribute or item the node sets or deletes: `a.b` for the target of `a.b[0] = 1`."""
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        return node.value
    return None


def changed_by_method(node: ast.AST) -> ast.expr | None:
    """The expression of which the node is a method that changes containers: `a.b` for `a.b.append`."""
    return node.value if isinstance(node, ast.Attribute) and node.attr in CHANGING else None


def bound_by(node: ast.AST) -> str | None:
    """The name that the node binds or deletes, where it is a name."""
    return node.id if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) else None


def root_name(node: ast.AST) -> str | None:
    """The name in a.b[...]; None where there is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
