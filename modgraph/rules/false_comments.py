"""Comments that a fix may make false: who applies it is told where they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from modgraph.findings import Fix

_COMMENT = re.compile(r"(?:^|\s)#\s*(.*)$")
_ABOUT = re.compile(
    r"\b(?:lists?|tuples?|dicts?|sets?|plain|(?:un|not )?regist\w*|hid(?:e|den)|buffers?|param\w*|tensors?|shar\w+|"
    r"tied?|same|modules?|always|train\w*|eval\w*|state.?dict|super)\b",
    re.IGNORECASE,
)
"""What fixes change."""
_NAMING = "; what the comment"
"""What stands in a description before the places of such comments."""
_OURS = re.compile(r"modgraph:|noqa|fmt:|pylint:|pragma", re.IGNORECASE)


def named(fix: Fix, lines: Sequence[str]) -> Fix:
    """The fix, its description naming such comments on the lines that it changes, or right above them."""
    places = {line for edit in fix.edits for line in range(_first(edit.line, lines), edit.end_line + 1)}
    found = sorted(line for line in places if 0 < line <= len(lines) and _is_about_it(lines[line - 1]))
    if not found:
        return fix
    where = f"line {found[0]}" if len(found) == 1 else f"lines {', '.join(map(str, found))}"
    return fix._replace(description=f"{fix.description}{_NAMING} in {where} says may then be false")


def said_of(fix: Fix) -> str:
    """What the description of a fix says of such comments; "" where it names none."""
    _, naming, said = fix.description.partition(_NAMING)
    return f"{naming.removeprefix('; ')}{said}"


def _first(line: int, lines: Sequence[str]) -> int:
    """The first line of the comment right above a line."""
    while 1 < line <= len(lines) + 1 and lines[line - 2].lstrip().startswith("#"):
        line -= 1
    return line


def _is_about_it(line: str) -> bool:
    comment = _COMMENT.search(line)
    return comment is not None and not _OURS.match(comment[1]) and _ABOUT.search(comment[1]) is not None
