"""Reasons for what is not known that say more than their text: what stands behind them, and whether it is a limit.

What a text says cannot tell that: the source that is analysed may say "more than 3 heads" too.
"""

from __future__ import annotations

from modgraph.graph.model import SourceLocation


class Told(str):
    """A reason that gives another one, with which it ends."""

    __slots__ = ("root", "where")

    root: str
    """The reason behind it, which gives no other; itself where there is none."""
    where: SourceLocation | None
    """The place of that, where it is known."""

    def __new__(cls, text: object, root: str = "", where: SourceLocation | None = None) -> Told:
        """A reason; `root` is what it ends with."""
        made = super().__new__(cls, text)
        made.root = root or str(made)
        made.where = where
        return made


class Reached(Told):
    """A reason that says that a limit was reached, not that something is not there to be known; it stays one wherever
    it is handed on."""

    __slots__ = ()


def telling(text: str, *reasons: str, where: SourceLocation | None = None) -> str:
    """A text that gives these reasons, of which one may be a limit.

    Args:
        where: the place of what the first of them says.
    """
    kind = Reached if any(isinstance(each, Reached) for each in reasons) else Told
    if not reasons:
        return text
    root, place = root_of(reasons[0])
    return kind(text, root, place or where)


def root_of(reason: str) -> tuple[str, SourceLocation | None]:
    """What stands behind a reason, and its place where that is not the place of the reason."""
    return (reason.root, reason.where) if isinstance(reason, Told) else (reason, None)
