"""A cause in words that a user can act on: the line of the source where something became unknown, and not what the
interpretation lacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.source.modules import SourceError

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_OURS = re.compile(
    r"(?<!which )(is|are) not (modelled|interpreted|followed)$|^[\w.]+ of something not known$"
    r"|^it may be a (module|parameter)$"
)
"""Reasons that say what the interpretation lacks."""
_MAX_TEXT = 70


def worded(machine: Machine, cause: str, where: SourceLocation | None) -> str:
    """A cause as it is told, where several places or one depend on it.

    Args:
        where: the place where it became unknown.
    """
    if _OURS.search(cause) is None:
        return cause
    line = None if where is None else line_of(machine, where)
    return cause if line is None else f"what `{line}` gives is not known without running it"


def line_of(machine: Machine, where: SourceLocation) -> str | None:
    """The text of a line of source, shortened; None of a file that was not read."""
    source = machine.finder.module_of(where.file)
    if source is None:
        return None
    try:
        text = source.lines[where.line - 1].strip()
    except (SourceError, IndexError):
        return None
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 3]}..."
