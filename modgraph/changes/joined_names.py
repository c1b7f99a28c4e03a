"""Whether the name of one thing says that it is several others joined: q_proj, k_proj and v_proj in qkv_proj."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations, takewhile

_MOST_TURNED = 4
"""Parts of which other orders than their own are looked for."""


def joined(parts: Sequence[str], whole: str) -> tuple[int, ...] | None:
    """In which order the parts stand in `whole`, as places in `parts`; None where it does not say, or not in one way.

    Looked for is what the parts have not in common ("gate", "up" of "gate_up_proj"), or the first letters of it ("qkv"
    of query, key and value) as a word of their own.
    """
    own = _without_common([part.lower() for part in parts])
    if not all(own) or len(set(own)) < len(own):
        return None
    places = tuple(range(len(own)))
    orders = list(permutations(places)) if len(own) <= _MOST_TURNED and not all(map(str.isdecimal, own)) else [places]
    found = [order for order in orders if _says([own[place] for place in order], whole.lower())]
    return found[0] if len(found) == 1 else None


def _says(parts: Sequence[str], whole: str) -> bool:
    text = "".join(re.sub(r"[^a-z0-9]", "", part) for part in parts)
    if text in re.sub(r"[^a-z0-9]", "", whole):
        return True
    initials = "".join(part[0] for part in parts)
    return len(set(initials)) == len(parts) and initials in re.split(r"[^a-z0-9]+", whole)


def _without_common(parts: Sequence[str]) -> list[str]:
    """Without what all begin with, and all end with."""
    first = _length_in_common(parts)
    rest = [part[first:] for part in parts]
    last = _length_in_common([part[::-1] for part in rest])
    return [part[: len(part) - last].strip("_") for part in rest]


def _length_in_common(texts: Sequence[str]) -> int:
    columns = zip(*texts, strict=False)
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, columns))
