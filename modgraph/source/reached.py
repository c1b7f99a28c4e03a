"""Reasons that say that a limit was reached, not that something is not there to be known.

What a text says cannot tell them: the source that is analysed may say "more than 3 heads" too.
"""

from __future__ import annotations


class Reached(str):
    """Such a reason; it stays one wherever it is handed on."""

    __slots__ = ()


def telling(text: str, *reasons: str) -> str:
    """A text that gives these reasons, of which one may be such."""
    return Reached(text) if any(isinstance(each, Reached) for each in reasons) else text
