"""Assignments of literals, read without a tree of libcst: that takes a hundred times as long."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence

from modgraph.source.quiet import literal_value, python_tree
from modgraph.source.walking import walk

_PLAIN_ASSIGNMENT = re.compile(
    r"""\s*([A-Za-z_]\w*)\s*(?::[^=#"']*)?=\s*(None|True|False|-?\d+(?:\.\d*(?:e-?\d+)?)?|"[^"\\]*"|'[^'\\]*')\s*"""
)
_LONG = 4_000
"""Characters of a statement that may be a table of data."""


def assigned_literal(lines: Sequence[str]) -> tuple[str, object] | None:
    """Name and value, where these lines give one name a plain literal, or a long list of such."""
    if sum(map(len, lines)) > _LONG:
        return _long_literal("\n".join(lines))
    found = _PLAIN_ASSIGNMENT.fullmatch(lines[0]) if len(lines) == 1 else None
    return None if found is None else (found[1], literal_value(found[2]))


_TABLE = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(\[.*\])\s*", re.DOTALL)
_ELSEWHERE = re.compile(r"[\\'{#]|true|false|null")
"""What means something else in JSON than in Python, or nothing."""


def _refused(word: str) -> object:
    raise ValueError(word)


def _long_literal(text: str) -> tuple[str, object] | None:
    """Name and value of an assignment of literals; sets are left to the interpreter, which keeps their order."""
    table = _TABLE.fullmatch(text)
    if table is not None and not _ELSEWHERE.search(table[2]):
        try:
            return table[1], json.loads(table[2], parse_constant=_refused)
        except ValueError:
            pass  # what JSON does not read, Python may
    try:
        statement = python_tree(f"if 1:\n{text}" if text[:1] in " \t" else text).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if isinstance(statement, ast.If):
        statement = statement.body[0]
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return None
    if any(not isinstance(node, _OF_LITERALS) or _is_large_mapping(node) for node in walk(statement.value)):
        return None
    try:
        return targets[0].id, ast.literal_eval(statement.value)
    except (ValueError, TypeError, RecursionError):
        return None


_MOST_NUMBERS = 1_000


def _is_large_mapping(node: ast.AST) -> bool:
    """A dict with so many keys besides texts that, where their hashes are equal, making one takes the square of it."""
    if not isinstance(node, ast.Dict) or len(node.keys) <= _MOST_NUMBERS:
        return False
    texts = sum(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys)
    return len(node.keys) - texts > _MOST_NUMBERS


_OF_LITERALS = (ast.List, ast.Tuple, ast.Dict, ast.UnaryOp, ast.Constant)
