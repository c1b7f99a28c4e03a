"""A number of which a part may not be known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Count:
    """A number of elements, or of operations."""

    known: int = 0
    partial: bool = False
    """There are more, whose number is not known."""

    def __add__(self, other: Count) -> Count:
        return Count(self.known + other.known, self.partial or other.partial)

    @property
    def text(self) -> str:
        """ "9,408", "≥ 9,408", "?", or "" for none."""
        if self.partial:
            return f"≥ {self.known:,}" if self.known else "?"
        return f"{self.known:,}" if self.known else ""
