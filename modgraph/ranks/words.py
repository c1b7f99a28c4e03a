"""Ranks in sentences: "on rank 0", "[4, 8] on rank 0, [3, 8] on ranks 1 and 2"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def on_ranks(ranks: Iterable[int]) -> str:
    """ "on rank 0", "on ranks 0, 1 and 3"."""
    known = [str(rank) for rank in sorted(ranks)]
    if len(known) == 1:
        return f"on rank {known[0]}"
    return f"on ranks {', '.join(known[:-1])} and {known[-1]}"


def spoken(values: Mapping[int, str]) -> str:
    """What each rank has, those that have the same together."""
    together: dict[str, list[int]] = {}
    for rank, value in sorted(values.items()):
        together.setdefault(value, []).append(rank)
    return ", ".join(f"{value} {on_ranks(ranks)}" for value, ranks in together.items())
