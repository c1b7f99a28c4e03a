"""How wide a text will be, before any layout engine has seen it.

Advance widths of Arial (and Liberation Sans, its metric equal) in thousandths of the size, for the printable ASCII
characters from the space on; Courier New has 600 for all.
"""

from __future__ import annotations

import unicodedata

_REGULAR = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
)  # fmt: skip
_BOLD = (
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611,
    556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389,
    280, 389, 584,
)  # fmt: skip
_OTHER = {"×": 584, "·": 333, "→": 1000, "…": 1000, "–": 556, "−": 584}


def text_width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """Width of `text` in points at `size` points; characters that are not known count as an average letter."""
    if mono:
        return sum(1.0 if _is_wide(char) else 0.6 for char in text) * size
    table = _BOLD if bold else _REGULAR
    total = 0
    for char in text:
        number = ord(char) - 32
        if 0 <= number < len(table):
            total += table[number]
        else:
            total += _OTHER.get(char, 1000 if _is_wide(char) else 620)
    return total * size / 1000


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in ("W", "F")
