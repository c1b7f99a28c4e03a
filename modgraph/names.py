"""Dotted names and conditions, as texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def last_name(name: str) -> str:
    """What stands behind the last dot: "Conv2d" of "torch.nn.modules.conv.Conv2d", and "Net" of "Net"."""
    return name.rpartition(".")[2]


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """The one of these that a misspelt name is likely to mean, if there is one."""
    import difflib  # here, as few ask for it

    return difflib.get_close_matches(name, list(names), 1)


def is_in_parentheses(text: str) -> bool:
    """All of it, in one pair: "(a or b)", and not "(a) or (b)"."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return letter == ")" and place == len(text) - 1
    return False


def listed(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def natural(path: str) -> tuple[tuple[int, str], ...]:
    """Sorts paths so that "layers.10" follows "layers.9"."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path))


def plural(count: int, noun: str) -> str:
    """ "1 module", "2 modules"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
