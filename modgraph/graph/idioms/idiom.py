"""What a part of a model is, in the words of its field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Idiom:
    """A part of a run that is proven, by the way its data takes, to be what readers know by a name."""

    kind: str
    """ "multi-head attention", "gated MLP"."""
    detail: str = ""
    """What of it is said beside the name: "8 heads of 64"."""
    module: str
    """Path of the innermost module whose call holds all of it."""
    call: int | None = None
    """That call."""
    whole: bool = False
    """The module is nothing else; else it holds more beside it."""
    members: tuple[str, ...] = ()
    """Ends of edges that it is made of, in the order of the run: "call:3", "op:7"."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """ {"heads": 8, "head_size": 64}; JSON values."""

    @property
    def title(self) -> str:
        """ "multi-head attention · 8 heads of 64"."""
        return f"{self.kind} · {self.detail}" if self.detail else self.kind
