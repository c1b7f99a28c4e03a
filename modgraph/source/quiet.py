"""The one parser of others' Python: what Python warns of in a text (`"\\d"`, `1if x`) is not for who reads it.

A warning would show the line as it is, with whatever control characters are in it, and `python -W error` would make a
file that is valid no Python.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Sequence
from types import CodeType
from typing import Any, Literal, overload

from modgraph.source.refusing_text import refuse

_NAME = "<modgraph: source that is analysed>"
"""What a text is called while it is parsed. The filter of warnings is for this name alone."""
_KINDS: tuple[type[Warning], ...] = (SyntaxWarning, DeprecationWarning)
"""What the parser warns with; the second before Python 3.12."""
_FILTERS = [("ignore", None, kind, re.compile(re.escape(_NAME)), 0) for kind in _KINDS]


def _hush() -> None:
    """Puts the filters first, and leaves them there: to take them away again, as `warnings.catch_warnings` does, could
    undo what other threads change meanwhile. No warning of anyone else is of that name."""
    if list(warnings.filters[: len(_FILTERS)]) != _FILTERS[::-1]:
        for kind in _KINDS:
            warnings.filterwarnings("ignore", category=kind, module=re.escape(_NAME))


@overload
def python_tree(text: str, filename: str = ..., mode: Literal["exec"] = ...) -> ast.Module: ...
@overload
def python_tree(text: str, filename: str = ..., *, mode: Literal["eval"]) -> ast.Expression: ...
def python_tree(text: str, filename: str = "<unknown>", mode: str = "exec") -> Any:
    """`ast.parse`, without a warning.

    Raises:
        TooMuchError: Python's parser would take too long for it; a SyntaxError too.
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse`.
    """
    refuse(text)
    _hush()
    try:
        return ast.parse(text, _NAME, mode)
    except SyntaxError as error:
        error.filename = filename
        raise


def python_code(text: str) -> CodeType:
    """The code of a file with that text, which nothing runs, without a warning.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `python_tree`, and what only the compiler refuses.
    """
    code: CodeType = compile(python_tree(text), _NAME, "exec", dont_inherit=True)
    return code


def literal_value(text: str) -> Any:
    """`ast.literal_eval` of a text, without a warning.

    Raises:
        SyntaxError, ValueError, TypeError, RecursionError, MemoryError: as `ast.literal_eval`.
    """
    return ast.literal_eval(python_tree(text.lstrip(" \t"), mode="eval"))


def tree_of_lines(lines: Sequence[str], first: int, last: int) -> ast.AST:
    """The tree of some lines of a file, counted from 1, however they are indented; of no Python, one without nodes."""
    try:
        return python_tree(textwrap.dedent("\n".join(lines[first - 1 : last])))
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])
