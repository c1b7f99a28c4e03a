"""A text without what is long and says nothing: what is read costs by its length, and a comment must not cost a class
its turn."""

from __future__ import annotations

import io
import tokenize

MAX_COMMENT = 200
"""Characters of a comment that stay."""
MAX_LINE = 500
"""A line that is shorter is left as it is."""


def without_long_comments(text: str) -> str:
    """The text, long comments cut off; everything else stands where it stood."""
    if "#" not in text or not any(len(line) > MAX_LINE and "#" in line for line in text.split("\n")):
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    text = "\n".join(lines)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and len(token.string) > MAX_COMMENT:
                row, column = token.start
                if lines[row - 1][column:] == token.string:
                    lines[row - 1] = lines[row - 1][: column + MAX_COMMENT]
    except (tokenize.TokenError, SyntaxError, IndexError):
        return text
    return "\n".join(lines)
