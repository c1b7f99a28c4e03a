"""What is said of packages that the model's code imports and that are not installed."""

from __future__ import annotations

from collections.abc import Sequence


def packages_line(absent: Sequence[str]) -> str:
    """ "seaborn, wandb: not installed; placeholders stand for them"; "" where none is absent."""
    if not absent:
        return ""
    stand = "a placeholder stands for it" if len(absent) == 1 else "placeholders stand for them"
    return f"{', '.join(absent)}: not installed; {stand}"
