"""A cause in words that a user can act on: the call in the source of which the result is unknown, or the line where
something became so, and not what the interpretation lacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.names import last_name
from modgraph.source.modules import SourceError

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_OURS = re.compile(
    r"(?<!which )(is|are) not (modelled|interpreted|followed)$|^[\w.]+ of something not known$"
    r"|^it may be a (module|parameter)$|^[\w.]+ has no Python source$"
)
"""Reasons that say what the interpretation lacks."""
_NAMING = re.compile(r"([\w.]+)(?= is not (?:modelled|interpreted)$| of something not known$| has no Python source$)")
"""The function, by its name, that such a reason is about."""
_MAX_TEXT = 70
_MAX_LINE = 1_000
_PART = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\w+|.")
"""A text, a word, or another sign."""


def worded(machine: Machine, cause: str, where: SourceLocation | None) -> str:
    """A cause as it is told, where several places or one depend on it.

    Args:
        where: the place where it became unknown.
    """
    if _OURS.search(cause) is None:
        return cause
    line = None if where is None else _text_of(machine, where)
    if line is None:
        return cause
    named = _NAMING.match(cause)
    call = None if named is None else _call_in(line, last_name(named[1]))
    return f"what `{_shortened(call or line)}` gives is not known without running it"


def line_of(machine: Machine, where: SourceLocation) -> str | None:
    """The text of a line of source, shortened; None of a file that was not read."""
    text = _text_of(machine, where)
    return None if text is None else _shortened(text)


def _text_of(machine: Machine, where: SourceLocation) -> str | None:
    source = machine.finder.module_of(where.file)
    if source is None:
        return None
    try:
        return source.lines[where.line - 1].strip()
    except (SourceError, IndexError):
        return None


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 3]}..."


def _call_in(line: str, name: str) -> str | None:
    """The call of a function in a line, with what is asked of its result; None where it is not one alone."""
    found = re.findall(rf"(?<![\w.])(?:\w+\.)*{re.escape(name)}(?=\()", line[:_MAX_LINE])
    if len(found) != 1:
        return None
    start = line.index(f"{found[0]}(")
    depth = 0
    for part in _PART.finditer(line, start, _MAX_LINE):
        depth += (part[0] in "([{") - (part[0] in ")]}")
        if depth < 0 or (depth == 0 and not (part[0] in ")]}." or part[0].isidentifier())):
            return line[start : part.start()].rstrip()
    return line[start:] if depth == 0 and len(line) < _MAX_LINE else None
