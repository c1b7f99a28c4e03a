"""Text that acts where it is printed as it is, and what may come out in its place."""

from __future__ import annotations

import re
import unicodedata

NASTY = (
    "a\x1b[31mb\x1b[8mc\x1b]0;title\x07d\x08\x7f\r\n::error file=x,line=1::pwned\n##[add-mask]pwned ##vso[x]y\n"
    "\x85::stop-commands::x\u2028::add-mask::y\u2029\x0b\x0c\x1c\u202e\u2066\u200b\u200f\ufeff\x9b31m\U000e0041\udc9b"
)
"""In a string, or the name of an attribute."""
NASTY_FILE = NASTY.replace("/", "") + ".py"
"""A file system takes it: 255 bytes, no slash."""
COLORS = re.compile(r"\x1b\[[0-9;]*m")


def acting(text: str) -> list[str]:
    """The characters that a terminal obeys, or that hide or turn others, besides tabs and line ends."""
    return [
        char
        for char in text
        if char not in "\n\t"
        and (
            unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co")
            or "\ufe00" <= char <= "\ufe0d"
            or "\U000e0000" <= char <= "\U000e0fff"
        )
    ]


def commands(text: str) -> list[str]:
    """The lines that GitHub's runner, Azure's agent or TeamCity takes for commands."""
    return [
        line
        for line in re.split(r"\r\n|\r|\n", text)
        if line.lstrip().startswith("::") or re.search(r"##(\[|vso\[|teamcity\[)", line)
    ]


def assert_inert(text: str) -> None:
    """Nothing in it acts."""
    assert acting(text) == [], sorted({ascii(char) for char in acting(text)})
    assert commands(text) == []
