"""The texts of tests that came out one way or the other, as a condition that is told: as plain as Python can say it.

What is said is true exactly where the tests came out so. So `not (x > 3)` becomes `x <= 3` only where both sides are
whole numbers by what is written: neither is true of a NaN, or of a set that does not hold the other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar

from modgraph.names import is_in_parentheses
from modgraph.source.quiet import python_tree

_PLAIN = r"[\w.]+(?:\([^()]*\)[\w.]*)*"
"""A name, or a call: what `not` in front of it is of, all of it."""
_CONTRARY: dict[type[ast.cmpop], str] = {
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.Eq: "!=", ast.NotEq: "==",
    ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">",
}  # fmt: skip
_OF_WHOLE_NUMBERS = (ast.Lt, ast.GtE, ast.Gt, ast.LtE)
_COUNTING_METHODS = frozenset({"size", "numel", "dim", "nelement", "ndimension"})
_Known = TypeVar("_Known")
MOST_LETTERS = 1_000_000
"""Of the texts about which one function is remembered: those of one call may be tens of thousands long."""
MOST_LETTERS_TOGETHER = 4_000_000


class _Remembered(dict[str, _Known]):
    """What is known by text, emptied where the texts come to too many letters."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most, self.letters = most, 0

    def __setitem__(self, text: str, known: _Known) -> None:
        size = 2 * len(text) + 100  # what is known of a text is about as long
        if self.letters + size > self._most:
            self.clear()
        if text not in self:
            self.letters += size
        super().__setitem__(text, known)

    def clear(self) -> None:
        super().clear()
        self.letters = 0


_TOGETHER: _Remembered[tuple[str, ...]] = _Remembered(MOST_LETTERS_TOGETHER)
"""By a text that `all_of` has written: the tests of which it is."""


def _remembering(known_of: Callable[[str], _Known]) -> Callable[[str], _Known]:
    """Asks the function once for each text."""
    known: _Remembered[_Known] = _Remembered(MOST_LETTERS)

    @wraps(known_of)
    def asked(text: str) -> _Known:
        if text in known:
            return known[text]
        found = known_of(text)
        known[text] = found
        return found

    return asked


@_remembering
def negated(test: str) -> str:
    """What holds where the test does not: "x is not None" for "x is None", "not x.any()" for "x.any()", "not (x > 0)"
    for "x > 0" of what may be no number, and the other way round."""
    tree = _read(test)
    if tree is None:
        return _with_not(test)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return plain(_text_of(test, tree.operand))
    return _compared_otherwise(test, tree) or _with_not(plain(test))


@_remembering
def plain(test: str) -> str:
    """The same test, without a `not` or parentheses that it does not need."""
    tree = _read(test)
    if tree is None:
        return test
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return negated(_text_of(test, tree.operand))
    return test[1:-1].strip() if is_in_parentheses(test) and test[1:2] != ")" else test


def all_of(tests: Sequence[str]) -> str:
    """That each of them comes out true: "a and (b or c)", as `a and b or c` is another test. What is said once is not
    said again."""
    parts = tuple(dict.fromkeys(part for test in tests for part in tests_in(test)))
    text = " and ".join(f"({each})" if len(parts) > 1 and _is_loose(each) else each for each in parts)
    if len(parts) > 1 and all(map(is_python, parts)):
        # Where hundreds of tests lead to a call, to read what was written of them takes longer than all else.
        _TOGETHER[text] = parts
    return text


def tests_in(test: str) -> tuple[str, ...]:
    """The tests of which one is that all come out true."""
    return _TOGETHER.get(test) or _tests_read(test)


@_remembering
def _tests_read(test: str) -> tuple[str, ...]:
    test = plain(test)
    tree = _read(test)
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        return tuple(part for each in tree.values for part in tests_in(_text_of(test, each)))
    return (test,)


@_remembering
def is_python(text: str) -> bool:
    """It is Python, and no words."""
    return _read(text) is not None


def _read(test: str) -> ast.expr | None:
    """None for a text that is no expression, as where it is cut."""
    try:
        return python_tree(test, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _text_of(test: str, part: ast.expr) -> str:
    if test.isascii() and "\n" not in test and "\f" not in test and "\r" not in test:
        # Python's own way splits all of the text for each part of it.
        return test[part.col_offset : part.end_col_offset]
    return ast.get_source_segment(test, part) or ast.unparse(part)


def _with_not(test: str) -> str:
    return f"not {test}" if re.fullmatch(_PLAIN, test) else f"not ({test})"


def _compared_otherwise(test: str, tree: ast.expr) -> str | None:
    """The other comparison of the same two; None where it is none, or not the contrary of all that may be compared."""
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        return None
    (operator,), (right,) = tree.ops, tree.comparators
    if isinstance(operator, _OF_WHOLE_NUMBERS) and not (_is_whole(tree.left) and _is_whole(right)):
        return None
    mine, theirs = (_operand(test, each) for each in (tree.left, right))
    return f"{mine} {_CONTRARY[type(operator)]} {theirs}"


def _operand(test: str, part: ast.expr) -> str:
    text = _text_of(test, part)
    is_loose = isinstance(part, (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)) or (
        isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not)
    )
    return f"({text})" if is_loose else text


def _is_whole(part: ast.expr) -> bool:
    """It is a whole number, whatever the names in it are."""
    if isinstance(part, ast.Constant):
        return type(part.value) is int
    if isinstance(part, ast.Call):
        counts = isinstance(part.func, ast.Attribute) and part.func.attr in _COUNTING_METHODS
        has_number = len(part.args) == 1 or (isinstance(part.func, ast.Attribute) and part.func.attr != "size")
        return (isinstance(part.func, ast.Name) and part.func.id == "len") or (counts and has_number)
    if isinstance(part, ast.Attribute):
        return part.attr == "ndim"
    if isinstance(part, ast.Subscript):
        is_one = not isinstance(part.slice, (ast.Slice, ast.Tuple))
        return is_one and isinstance(part.value, ast.Attribute) and part.value.attr == "shape"
    if isinstance(part, ast.BinOp):
        is_kept = isinstance(part.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod))
        return is_kept and _is_whole(part.left) and _is_whole(part.right)
    return isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) and _is_whole(part.operand)


@_remembering
def _is_loose(test: str) -> bool:
    """Something in it binds less than `and` does, in no parentheses."""
    tree = _read(test)
    if tree is None:
        return True
    return isinstance(tree, (ast.IfExp, ast.Lambda, ast.NamedExpr)) or (
        isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or)
    )
