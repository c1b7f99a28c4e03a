"""What is said of packages that the model's code imports and that are not installed."""

from __future__ import annotations

from collections.abc import Sequence


def packages_line(absent: Sequence[str]) -> str:
    """ "seaborn, wandb: not installed; imported, but nothing of them was needed"; "" where none is absent."""
    if not absent:
        return ""
    of_them = "it" if len(absent) == 1 else "them"
    return f"{', '.join(absent)}: not installed; imported, but nothing of {of_them} was needed"
