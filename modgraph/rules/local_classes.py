"""Classes that stand in functions: read as if they stood at the end of their file. What the functions around bind by an
import, another name or a class is what that says; all else that they bind is unknown."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from functools import lru_cache

from modgraph.source.dotted_names import dotted
from modgraph.source.summaries import Summary, blocks, imports_torch, read_statement
from modgraph.source.walking import children, walk

Binding = ast.Import | ast.ImportFrom | ast.Assign | ast.ClassDef
"""A statement that tells what it binds."""
NOWHERE = "_not_found"
"""A module that is nowhere: of what is imported from it nothing is known."""


@lru_cache(maxsize=64)
def bound_around(tree: ast.Module, node: ast.ClassDef) -> frozenset[str]:
    """Names that the functions around a class bind to what is not told: parameters and locals, the class itself left
    out."""
    found = frozenset().union(*map(_bound_in, _around(tree, node)))
    return found - {node.name} - told(tree, node).keys()


@lru_cache(maxsize=16)
def _bound_in(function: ast.AST) -> frozenset[str]:
    found: set[str] = set()
    for each in ast.walk(function):
        if isinstance(each, ast.arg):
            found.add(each.arg)
        elif isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            found.add(each.id)
        elif isinstance(each, ast.alias):
            found.add((each.asname or each.name).partition(".")[0])
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(each.name)
    return frozenset(found)


@lru_cache(maxsize=64)
def told(tree: ast.Module, node: ast.ClassDef) -> Mapping[str, Binding]:
    """Names that a class uses and the functions around it bind to what is told. Of several bindings in one function the
    first counts, as that of a `try`, and of several functions that of the inner one."""
    found: dict[str, Binding] = {}
    for function in _around(tree, node):
        found.update(_told_in(function))
    pending, needed = [node.name, *_names(node)], dict[str, Binding]()
    while pending:
        name = pending.pop()
        if name in found and name != node.name and name not in needed:
            needed[name] = found[name]
            pending += _names(found[name])
    return {name: binding for name, binding in found.items() if name in needed}


@lru_cache(maxsize=64)
def _names(statement: ast.stmt) -> tuple[str, ...]:
    """That a statement uses."""
    return tuple({each.id for each in walk(statement) if isinstance(each, ast.Name)})


@lru_cache(maxsize=16)
def _told_in(function: ast.AST) -> Mapping[str, Binding]:
    found: dict[str, Binding] = {}
    for statement in _own_statements(function):
        if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Assign, ast.ClassDef)):
            for name in _told_by(statement):
                found.setdefault(name, statement)
    return found


def described(summary: Summary, bound: Mapping[str, Binding]) -> Summary:
    """A file in short as a class sees it for whom these names are bound so."""
    inner = Summary()
    for statement in dict.fromkeys(bound.values()):
        read_statement(statement, inner)
    seen = Summary.from_json(summary.to_json())
    for name in bound:
        for table in (seen.imports, seen.aliases, seen.classes):
            table.pop(name, None)
        seen.functions.discard(name)
    seen.imports |= {name: meant for name, meant in inner.imports.items() if name in bound}
    seen.aliases |= {name: meant for name, meant in inner.aliases.items() if name in bound}
    seen.classes |= {name: bases for name, bases in inner.classes.items() if name.partition(".")[0] in bound}
    seen.forwards |= inner.forwards
    seen.has_torch = seen.has_torch or imports_torch(seen)
    return seen


def _own_statements(function: ast.AST) -> Iterator[ast.stmt]:
    """Those of a function itself, not of what is defined in it."""
    pending = list(reversed(getattr(function, "body", [])))
    while pending:
        statement = pending.pop()
        yield statement
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for block in reversed(list(blocks(statement))):
                pending.extend(reversed(block))


def _told_by(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(each.asname or each.name).partition(".")[0] for each in statement.names if each.name != "*"]
    if isinstance(statement, ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign) and dotted(statement.value) is not None:
        return [each.id for each in statement.targets if isinstance(each, ast.Name)]
    return []


def _around(tree: ast.Module, node: ast.ClassDef) -> tuple[ast.AST, ...]:
    """The functions in which a class stands, outer ones first."""
    return _functions(tree).get(node, ())


@lru_cache(maxsize=4)
def _functions(tree: ast.Module) -> dict[ast.ClassDef, tuple[ast.AST, ...]]:
    """Of all classes that stand in functions."""
    found: dict[ast.ClassDef, tuple[ast.AST, ...]] = {}
    pending: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while pending:
        node, functions = pending.pop()
        if isinstance(node, ast.ClassDef) and functions:
            found[node] = functions
        within = (*functions, node) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else functions
        pending += [(each, within) for each in children(node)]
    return found


def with_it_at_the_end(text: str, lines: list[str], tree: ast.Module, node: ast.ClassDef) -> str | None:
    """The text of the file with a copy of the class behind it; None where the class is not a few lines of its own."""
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    own = "".join(lines[first - 1 : node.end_lineno])
    if not own.lstrip().startswith(("class", "@")):
        return None
    names = sorted(name for name in bound_around(tree, node) if name.isidentifier())
    unknown = f"from {NOWHERE} import {', '.join(names)}\n" if names else ""
    bound = "".join(f"{ast.unparse(each)}\n" for each in dict.fromkeys(told(tree, node).values()))
    return f"{text}\n\n{unknown}{bound}{textwrap.dedent(own)}\n"
