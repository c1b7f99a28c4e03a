"""Text in an encoding that lacks some of its characters: signs of ours become ASCII, what else is not there is written
out, as `\\xe9`."""

from __future__ import annotations

import codecs

ERRORS = "modgraph.ascii"
"""Name of the handler, for a stream: none that has it fails on a character."""
_SIGNS = {
    "├": "|",
    "└": "`",
    "─": "-",
    "│": "|",
    "×": "x",
    "…": "~",
    "–": "-",
    "−": "-",
    "—": "-",
    "·": "-",
    "→": ">",
    "≥": ">=",
    "≤": "<=",
    "µ": "u",
    "▸": ">",
    "◂": "<",
    "▲": "!",
    "●": "*",
    "◌": "o",
    "◇": "o",
    "✕": "x",
    "✖": "X",
    "⚑": "!",
    "↺": "=",
    "‖": "|",
    "÷": "/",
    "’": "'",
    "“": '"',
    "”": '"',
}


def in_encoding(text: str, encoding: str) -> str:
    """`text` with characters alone that `encoding` has; an encoding that is not known has those of ASCII."""
    if text.isascii():
        return text
    try:
        return text.encode(encoding, ERRORS).decode(encoding)
    except (LookupError, UnicodeError):
        return text.encode("ascii", ERRORS).decode("ascii")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_SIGNS.get(char) or _written_out(char) for char in lacking), error.end


def _written_out(char: str) -> str:
    return char.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error(ERRORS, _replaced)
