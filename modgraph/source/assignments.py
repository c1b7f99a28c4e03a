"""What the assignments of a module give to which target, and which names are other names of something."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from modgraph.source.dotted_names import dotted


def aliases_in(statements: Iterable[ast.stmt]) -> dict[str, tuple[str, ...]]:
    """Names that are assigned other names, with these: `Base = nn.Module`, also inside `try` and `if`."""
    found: dict[str, list[str]] = {}
    for target, value in assignments(statements):
        for option in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
            name = dotted(option)
            if isinstance(target, ast.Name) and name is not None and name != target.id:
                found.setdefault(target.id, []).append(name)
    return {name: tuple(given) for name, given in found.items()}


def assignments(statements: Iterable[ast.stmt]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of every assignment that importing may carry out; tuples item by item."""
    for statement in statements:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield from pairs(target, statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            yield statement.target, statement.value
        elif not isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for block in blocks(statement):
                yield from assignments(block)


def pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of one assignment: `a, b = f(), g()` is two."""
    sequences = ast.Tuple | ast.List
    if isinstance(target, sequences) and isinstance(value, sequences) and len(target.elts) == len(value.elts):
        for one, given in zip(target.elts, value.elts, strict=True):
            yield from pairs(one, given)
    else:
        yield target, value


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement, in the order of the text."""
    if isinstance(statement, ast.Match):
        for case in statement.cases:
            yield case.body
        return
    yield getattr(statement, "body", [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    yield getattr(statement, "orelse", [])
    yield getattr(statement, "finalbody", [])
