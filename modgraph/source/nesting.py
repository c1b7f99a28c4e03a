"""What libcst takes for a piece of source, by how deeply it is nested: more than the square of the depth of an
expression, and each word as often as there are brackets around it.

The tree of `ast` says how deep it is, but to walk over it takes a third of the time in which libcst parses; so only
what may be deep is asked: lines that go on in the next, and are long together.
"""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from modgraph.source.quiet import python_tree

MAX_NESTING = 500
"""Expressions and blocks inside each other; at this depth libcst takes a seventh of a second."""

_LONG = 400
"""Characters; fewer hold no deeper nesting, at one each."""
_GOES_ON = re.compile(r"[-+*/.%&|^<>=(\[{~,:\\@#]\s*$|#|\b(?:and|or|not|if|else|in|is|lambda|await|yield|from|for)\s*$")
_WENT_ON = re.compile(r"\s*(?:[-+*/.%&|^<>=)\]}~,:@#]|$|(?:and|or|if|else|elif|in|is|for)\b)")


MAX_TRIED = 6
"""Brackets inside each other in a pattern of `case`, or in what `del` takes away: of each libcst tries both readings
of all that is inside, so that each takes four times as long as the last, and twenty have no end."""

MAX_READINGS = 200_000
"""Words and signs of one piece of source, each as often as libcst reads it again: it keeps what it read for each
bracket around it (up to 1.3 KB and two microseconds), a fourth of that for each block, and reads it four times as often
for each bracket of a pattern."""
MAX_ALL_READINGS = 2_000_000
"""The same of all that is parsed for one prediction."""

_TRIED = re.compile(r"\b(?:case|del)\b")
_OPENING = re.compile(r"[(\[{]")
_WORD_OR_SIGN = re.compile(r"\w+|[^\w\s]")
_FEW = 12
"""Brackets, or characters of indentation for each: in so few, nothing is read again so often that it matters."""
_MOST_BRACKETS = 200
"""Inside each other; Python itself reads no more. Source: MAXLEVEL in CPython's Parser/tokenizer.h."""


@dataclass
class Readings:
    """How often libcst would read pieces of source."""

    deepest_tried: int = 0
    """Brackets inside each other in patterns and `del` statements."""
    again: int = 0
    """Readings of words and signs besides the first of each."""


def readings_of(lines: Sequence[str]) -> Readings:
    """Told before libcst is called: it is one native call, which nothing interrupts."""
    text = textwrap.dedent("\n".join(lines))
    tried = _TRIED.search(text) is not None
    found = Readings()
    if not tried and not _may_be_read_again(text):
        return found
    has_match = "match" in text  # else `case` is a name
    depth = blocks = quarters = 0
    is_tried, begins = False, True
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind, word = token.type, token.string
            if kind in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                is_tried, begins, depth = False, True, 0
                blocks += (kind == tokenize.INDENT) - (kind == tokenize.DEDENT)
            elif kind == tokenize.NAME and (word == "del" or (begins and has_match and word == "case")):
                is_tried, begins = True, False
            elif kind == tokenize.OP:
                depth += (word in "([{") - (word in ")]}")
                found.deepest_tried = max(found.deepest_tried, depth if is_tried else 0)
                is_tried = is_tried and word != ";"
                begins = False
            elif kind not in (tokenize.NL, tokenize.COMMENT):
                begins = False
            around = depth + (_inside(word) if kind == tokenize.STRING else 0)
            n_words = 1 if kind != tokenize.STRING or around == depth else len(_WORD_OR_SIGN.findall(word))
            quarters += 4 * n_words * (4 ** min(depth, 20) if is_tried else max(around - 1, 0))
            quarters += n_words * max(blocks - 2, 0)
    except (tokenize.TokenError, SyntaxError):  # libcst may see it otherwise: as many as there could be
        quarters += 4 * len(_WORD_OR_SIGN.findall(text)) * min(len(_OPENING.findall(text)), _MOST_BRACKETS)
    found.again = quarters // 4
    return found


def _may_be_read_again(text: str) -> bool:
    """Whether there are brackets, or blocks, of which more than a few could be inside each other."""
    indented = max(len(line) - len(line.lstrip()) for line in text.split("\n"))
    return indented > 4 * _FEW or sum(1 for _ in islice(_OPENING.finditer(text), _FEW + 1)) > _FEW


def _inside(string: str) -> int:
    """Brackets that may be inside each other in an f-string, which is one token before Python 3.12."""
    prefix = string[: min(string.find('"') % len(string), string.find("'") % len(string))]
    return min(len(_OPENING.findall(string)), _MOST_BRACKETS) if "f" in prefix.lower() else 0


def depth_of(lines: Sequence[str]) -> tuple[int, int]:
    """Levels inside each other, and those of all nodes together: of a chain of calls or operators, libcst reads the
    beginning with each link again. Zeros where they are few, or the lines are no Python."""
    if not _may_be_deep(lines):
        return 0, 0
    try:
        tree = python_tree(textwrap.dedent("\n".join(lines)))
    except (SyntaxError, ValueError):
        return 0, 0
    except (RecursionError, MemoryError):
        return MAX_NESTING + 1, 0
    deepest = together = 0
    pending: list[tuple[ast.AST, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        together += depth
        if isinstance(node, (ast.BoolOp, ast.Compare)):
            depth += len(node.values if isinstance(node, ast.BoolOp) else node.ops)  # one inside the other in libcst
        pending.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return deepest, together


def _may_be_deep(lines: Sequence[str]) -> bool:
    together, goes_on = 0, False
    for line in lines:
        together = together + len(line) if goes_on or _WENT_ON.match(line) else len(line)
        if together > _LONG:
            return True
        goes_on = _GOES_ON.search(line) is not None
    return False
