"""How deeply source is nested: libcst takes more than the square of the depth of an expression.

The tree of `ast` says how deep it is, but to walk over it takes a third of the time in which libcst parses; so only
what may be deep is asked: lines that go on in the next, and are long together.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence

MAX_NESTING = 500
"""Expressions and blocks inside each other; at this depth libcst takes a seventh of a second."""

_LONG = 400
"""Characters; fewer hold no deeper nesting, at one each."""
_GOES_ON = re.compile(r"[-+*/.%&|^<>=(\[{~,:\\@#]\s*$|#|\b(?:and|or|not|if|else|in|is|lambda|await|yield|from|for)\s*$")
_WENT_ON = re.compile(r"\s*(?:[-+*/.%&|^<>=)\]}~,:@#]|$|(?:and|or|if|else|elif|in|is|for)\b)")


def depth_of(lines: Sequence[str]) -> int:
    """Levels inside each other, where these may be many; 0 where they are few, or the lines are no Python."""
    if not _may_be_deep(lines):
        return 0
    try:
        tree = ast.parse(textwrap.dedent("\n".join(lines)))
    except (SyntaxError, ValueError):
        return 0
    except (RecursionError, MemoryError):
        return MAX_NESTING + 1
    deepest = 0
    pending: list[tuple[ast.AST, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        if isinstance(node, (ast.BoolOp, ast.Compare)):
            depth += len(node.values if isinstance(node, ast.BoolOp) else node.ops)  # one inside the other in libcst
        pending.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return deepest


def _may_be_deep(lines: Sequence[str]) -> bool:
    together, goes_on = 0, False
    for line in lines:
        together = together + len(line) if goes_on or _WENT_ON.match(line) else len(line)
        if together > _LONG:
            return True
        goes_on = _GOES_ON.search(line) is not None
    return False
