"""What the assignments of a module give to which target, and which names are other names of something."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from modgraph.source.dotted_names import dotted

_COMPOUND = frozenset((ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match))
_COMPOUND |= {getattr(ast, "TryStar", ast.Try)}
_NAMES = (ast.Name, ast.Attribute)
_SEQUENCES = (ast.Tuple, ast.List)


def aliases_in(statements: Iterable[ast.stmt]) -> dict[str, tuple[str, ...]]:
    """Names that are assigned other names, with these: `Base = nn.Module`, also inside `try` and `if`."""
    found: dict[str, list[str]] = {}
    for target, value in assignments(statements):
        if not isinstance(target, ast.Name):
            continue
        for option in (value.body, value.orelse) if value.__class__ is ast.IfExp else (value,):
            name = dotted(option) if option.__class__ in _NAMES else None
            if name is not None and name != target.id:
                found.setdefault(target.id, []).append(name)
    return {name: tuple(given) for name, given in found.items()}


def assignments(statements: Iterable[ast.stmt]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of every assignment that importing may carry out; tuples item by item."""
    pending = list(statements)[::-1]
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if target.__class__ in _SEQUENCES:
                    yield from pairs(target, statement.value)
                else:
                    yield target, statement.value
        elif isinstance(statement, ast.If):
            pending.extend([*statement.body, *statement.orelse][::-1])
        elif statement.__class__ in _COMPOUND:
            pending.extend([inner for block in blocks(statement) for inner in block][::-1])
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            yield statement.target, statement.value


def pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of one assignment: `a, b = f(), g()` is two."""
    if isinstance(target, _SEQUENCES) and isinstance(value, _SEQUENCES) and len(target.elts) == len(value.elts):
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
