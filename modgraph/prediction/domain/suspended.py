"""What suspended code gives: items one by one, and at the end why there may be further ones."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias

from modgraph.prediction.domain.values import Unknown, Value


@dataclass(frozen=True, slots=True)
class Lost:
    """Given by suspended code in place of an item: which items come from here on is not known."""

    why: Unknown


Steps: TypeAlias = Generator["Value | Lost", None, "Unknown | None"]
"""Suspended code; what it returns is why there may be further items."""

Walk: TypeAlias = Generator[Value, None, "Unknown | None"]
"""The same, of what is always followed."""
