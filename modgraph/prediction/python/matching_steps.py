"""How many steps matching a regular expression could take, told from what `re` itself reads in the pattern."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser  # type: ignore[attr-defined]  # has no hints
else:
    import sre_parse as _parser

_MOST = 1 << 64
"""More steps than anybody waits for."""


def matching_steps(pattern: str, text: str, flags: int = 0) -> int:
    """About the attempts at most: each place to begin at, times the ways to lay the pattern over the text.

    A way is told by what each repetition takes, or by the characters at which a part of the pattern ends. What cannot
    be read takes more than anybody waits for.

    Args:
        flags: those that the pattern is matched with; `re.X` says what is a pattern, and what a comment.
    """
    found = _told(pattern, len(text), flags)
    return _MOST if found is None else found[0]


def compared_characters(pattern: str, text: str, flags: int = 0) -> int:
    """About the comparisons of a character at most: attempts, times what one looks at beside its repetitions."""
    found = _told(pattern, len(text), flags)
    return _MOST if found is None else min(found[0] * found[1], _MOST)


def _told(pattern: str, length: int, flags: int) -> tuple[int, int] | None:
    """Attempts, and characters that one looks at; None where `re` does not read the pattern."""
    try:
        return _read(pattern, length, flags & ~re.DEBUG)
    except (re.error, RecursionError, OverflowError, ValueError, Warning):
        return None


@lru_cache(maxsize=256)
def _read(pattern: str, length: int, flags: int) -> tuple[int, int]:
    parsed = _parser.parse(pattern, flags)
    return _attempts(parsed, length), _looked_at(parsed, length)


def _attempts(parsed: Any, length: int) -> int:
    by_ends = (1 << min(length, 64)) * _ways(parsed, length, False)
    return min((length + 1) * _ways(parsed, length, True), by_ends, _MOST)


def _looked_at(parsed: Any, length: int) -> int:
    """Characters that one turn of each part of a pattern looks at."""
    return max(1, min(sum(_looked_at_by(operation.name, argument, length) for operation, argument in parsed), _MOST))


def _looked_at_by(operation: str, argument: Any, length: int) -> int:
    if operation == "BRANCH":
        return max((_looked_at(each, length) for each in argument[1]), default=1)
    if operation == "GROUPREF_EXISTS":
        return sum(_looked_at(each, length) for each in argument[1:] if each is not None)
    if operation.startswith("GROUPREF"):
        return length + 1
    if operation.endswith("_REPEAT"):
        least, _, body = argument
        inner = _looked_at(body, length)
        return max(1, min(int(least), length // max(1, inner) + 1)) * inner
    if operation == "IN":  # of those above, one is compared after the other
        return 1 + sum(1 for _, each in argument if each is not None and _largest(each) > 0xFFFF)
    inside = _BODIES.get(operation)
    if inside is not None:
        return _looked_at(argument[inside], length)
    return _looked_at(argument, length) if operation == "ATOMIC_GROUP" else 1


def _largest(of_a_set: Any) -> int:
    """The code of a character, or of the last of a range."""
    return max(of_a_set) if isinstance(of_a_set, tuple) else int(of_a_set)


_BODIES = {"SUBPATTERN": 3, "ASSERT": 1, "ASSERT_NOT": 1}
"""Where in its argument an operation has the pattern inside."""


def _ways(parsed: Any, length: int, with_lengths: bool) -> int:
    """Of all that stands one after the other; without lengths, only which alternatives are taken counts."""
    total = 1
    for operation, argument in parsed:
        total = min(total * _ways_of(operation.name, argument, length, with_lengths), _MOST)
    return total


def _ways_of(operation: str, argument: Any, length: int, with_lengths: bool) -> int:
    if operation == "BRANCH":
        return sum(_ways(each, length, with_lengths) for each in argument[1])
    if operation == "GROUPREF_EXISTS":
        return sum(_ways(each, length, with_lengths) for each in argument[1:] if each is not None)
    if operation.endswith("_REPEAT"):
        least, most, body = argument
        return _repeated(int(least), int(most), body, length, with_lengths)
    inside = _BODIES.get(operation)
    if inside is not None:
        return _ways(argument[inside], length, with_lengths)
    return _ways(argument, length, with_lengths) if operation == "ATOMIC_GROUP" else 1


def _repeated(least: int, most: int, body: Any, length: int, with_lengths: bool) -> int:
    low, high = body.getwidth()
    times = min(most, length // low if low else length + 1)
    inner, choices = _ways(body, length, with_lengths), _ways(body, length, False)
    counts = max(times - least, 0) + 1 if with_lengths else 1
    if inner == 1 and low == high:
        return counts
    parted = min(_power(inner, times), (1 << min(length, 64)) * _power(choices, times))
    return min(counts * parted if times < 2 else parted, _MOST)


def _power(base: int, exponent: int) -> int:
    return _MOST if base > 1 and exponent > 64 else min(base**exponent, _MOST)
