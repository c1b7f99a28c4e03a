"""Names that only a file which is run as a script binds: below `if __name__ == "__main__":`, or by `global` in a
function. Its classes are made when these are there: a constructor that speaks of such a `device` does not fail for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from modgraph.source.integers import parse
from modgraph.source.needed_statements import bound_names

_NOWHERE = "_not_found"
"""A module that is not there: of a name that is imported from it nothing is known."""


@lru_cache(maxsize=4)
def with_names_of_scripts(text: str) -> str:
    """The text with a statement at its end that gives each such name a value of which nothing is known."""
    if "__main__" not in text and "global " not in text:
        return text
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    names = sorted(names_of_scripts(tree))
    if not names:
        return text
    end = "" if text.endswith(("\n", "\r")) else "\n"
    return f"{text}{end}from {_NOWHERE} import {', '.join(names)}\n"


def names_of_scripts(tree: ast.Module) -> set[str]:
    """What such statements bind and no other statement at the top of the file."""
    mains = [each for each in tree.body if _is_main(each)]
    late = set(_bound(below for each in mains for below in each.body))  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            late.update(node.names)
    if not late:
        return late
    rest = [each for each in tree.body if each not in mains]
    rest += [below for each in mains for below in each.orelse]  # type: ignore[attr-defined]
    return late - set(_bound(rest))


def _is_main(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, either way round, and with further conditions."""
    if not isinstance(node, ast.If):
        return False
    tests = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) else [node.test]
    for test in tests:
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            sides = (test.left, test.comparators[0])
            if any(isinstance(each, ast.Name) and each.id == "__name__" for each in sides) and any(
                isinstance(each, ast.Constant) and each.value == "__main__" for each in sides
            ):
                return True
    return False


def _bound(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """Names that statements bind in the scope that they stand in."""
    return (name for each in statements for name in bound_names(each) if name != "*")
