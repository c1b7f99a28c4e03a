"""How many calls and operations there are, in words."""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.graph.model import Call, Operation


def calls_text(parts: Sequence[Call] | Sequence[Operation], word: str) -> str:
    """ "3 calls", "3 calls + 2 conditional": of what depends on a condition, one may exclude another, so both are not
    one number."""
    n_certain = sum(each.certain for each in parts)
    n_others = len(parts) - n_certain
    told = f"{n_certain:,} {word}{'s' * (n_certain != 1)}"
    return f"{told} + {n_others:,} conditional" if n_others else told
