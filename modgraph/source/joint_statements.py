"""Statements of a module that change several of its names at once, and do something else when they run again.

The names of an installed package are evaluated one by one, each by the statements that make it up; such a statement
would run once for each of its names: `last = NAMES.pop()`, `for each in A: B.append(each); n += 1`.
"""

from __future__ import annotations

import ast
import re
from weakref import WeakKeyDictionary

from modgraph.source.changed_objects import root_name
from modgraph.source.containers import DEQUE, LIST
from modgraph.source.index import Statement
from modgraph.source.modules import SourceModule
from modgraph.source.quiet import tree_of_lines

_METHODS = (LIST | DEQUE | {"popitem"}) - {"clear", "sort"}
"""Those of containers that do something else when they are called again."""
_MAY_DIFFER = re.compile(rf"\.(?:{'|'.join(sorted(_METHODS))})\(|[^=!<>]=|\bnext\(|\bdel\b")
_known: WeakKeyDictionary[SourceModule, dict[int, bool]] = WeakKeyDictionary()


def is_one(source: SourceModule, statement: Statement) -> bool:
    """It changes the object of one name in place, and binds or changes another, in a way that counts each time."""
    if not statement.touched or len({*statement.touched, *statement.names}) < 2:
        return False
    known = _known.setdefault(source, {})
    if statement.first_line not in known:
        known[statement.first_line] = _changes_several(source, statement)
    return known[statement.first_line]


def _changes_several(source: SourceModule, statement: Statement) -> bool:
    first, last = statement.first_line, statement.last_line
    if not any(map(_MAY_DIFFER.search, source.lines[first - 1 : last])):
        return False
    parts = list(ast.walk(tree_of_lines(source.lines, first, last)))
    turns = {
        name.id
        for part in parts
        if isinstance(part, (ast.For, ast.comprehension))
        for name in ast.walk(part.target)
        if isinstance(name, ast.Name)
    }
    counted = {name for part in parts for name in map(root_name, _counting(part))}
    lasting = {*statement.names, *statement.touched} - turns
    return len(lasting) > 1 and not counted.isdisjoint({*statement.touched} - turns)


def _counting(part: ast.AST) -> list[ast.expr]:
    """What is another after each time that it runs."""
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _METHODS:
        return [part.func.value]
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "next":
        return part.args[:1]
    if isinstance(part, ast.AugAssign):
        return [part.target]
    return part.targets if isinstance(part, ast.Delete) else []
