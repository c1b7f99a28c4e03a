"""What was read in the text of a file, kept in the process by that text: the classes of one package stand in the same
files, and a file that has changed has another text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

MAX_KEPT = 10_000
"""Answers that are kept; they are small, and hold no syntax tree."""

_Answer = TypeVar("_Answer")
_kept: dict[tuple[bytes, Hashable], Any] = {}


def kept(text: str, question: Hashable, answer: Callable[[], _Answer]) -> _Answer:
    """The answer to a question about a text.

    Args:
        question: all on which the answer depends besides the text.
        answer: finds it.
    """
    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), question
    if key in _kept:
        found: _Answer = _kept[key]
        return found
    found = answer()
    if len(_kept) >= MAX_KEPT:
        _kept.clear()
    _kept[key] = found
    return found
