"""Text that is not given to Python's parser: it would take more time or memory than is in proportion to it.

A parser cannot be stopped once it has begun. What is counted here costs the square of its length in CPython 3.10 to
3.13, each of which was measured.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice

MAX_TOKENS = 500_000
"""Words, signs and line ends of one file; `ast` takes up to 1 KB for each. Of a file of Python's length a tenth."""
MAX_MARKS = 256
"""Combining characters in a row: to put those of a name in their order takes the square of their number."""
MAX_FIELD_CHARACTERS = 2_000_000_000
"""Fields of an f-string, times its characters, of all together: Python 3.11 looks for each from the beginning."""
MAX_PATH_CHARACTERS = 50_000_000
"""Dots in what one statement imports, times its characters, of all together: each part is kept with all before."""

_TOKEN = re.compile(r"\w+|[^\w\s]|\n")
_NOT_ASCII = re.compile(rf"[^\x00-\x7f]{{{MAX_MARKS + 1},}}")
_FIELDS = re.compile(
    r"[fF][rR]?(?:'''(?:[^\\']+|\\.|'(?!''))*|\"\"\"(?:[^\\\"]+|\\.|\"(?!\"\"))*|'(?:[^\\'\n]+|\\.)*|\"(?:[^\\\"\n]+|\\.)*)",
    re.DOTALL,
)
_IMPORT = re.compile(r"\b(?:import|from)\b(?:[^\n\\;]+|\\\n)*")


class TooMuchError(SyntaxError):
    """The text is not read, though it may be Python: `msg` says why."""


def n_tokens(text: str, most: int) -> int:
    """How many words, signs and line ends a text has, counted up to `most` and one more. Those of strings and
    comments count too: what looks like a string to less than a parser may be none."""
    return sum(1 for _ in islice(_TOKEN.finditer(text), most + 1))


def refuse(text: str) -> None:
    """Raises:
    TooMuchError: a parser would take too long, or too much memory, for it.
    """
    if len(text) > MAX_TOKENS and n_tokens(text, MAX_TOKENS) > MAX_TOKENS:
        raise TooMuchError(f"more than {MAX_TOKENS:,} words and signs")
    if not text.isascii() and any(_is_long_row(found[0]) for found in _NOT_ASCII.finditer(text)):
        raise TooMuchError(f"more than {MAX_MARKS} combining characters in a row")
    if text.count("{") * len(text) > MAX_FIELD_CHARACTERS and sum(_weights(_FIELDS, "{", text)) > MAX_FIELD_CHARACTERS:
        raise TooMuchError("too many fields in long f-strings")
    if text.count(".") * len(text) > MAX_PATH_CHARACTERS and sum(_weights(_IMPORT, ".", text)) > MAX_PATH_CHARACTERS:
        raise TooMuchError("the dotted names of its imports are too long")


def _is_long_row(text: str) -> bool:
    row = 0
    for each in text:
        # Some that combine with nothing themselves are written as ones that do.
        row = row + 1 if unicodedata.combining(unicodedata.normalize("NFKD", each)[0]) else 0
        if row > MAX_MARKS:
            return True
    return False


def _weights(pattern: re.Pattern[str], sign: str, text: str) -> Iterator[int]:
    for found in pattern.finditer(text):
        yield found[0].count(sign) * len(found[0])
