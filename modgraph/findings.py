"""What is amiss in the user's code: one `Finding` each, the same in a graph, in the check and in every format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]
"""`error`: Python or torch raises; `warning`: the model is silently not what it seems; `info`: worth knowing."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement in a file: lines are 1-based, columns 0-based and counted in characters; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of the file that mends what was found."""

    description: str
    edits: tuple[Edit, ...]
    safe: bool = False
    """It changes nothing but the mistake: neither keys of the state dict nor what else the code does."""


@dataclass(frozen=True, slots=True)
class Related:
    """A further place that belongs to a finding."""

    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A likely mistake in the model, that does not make the graph partial."""

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    """1-based, as `end_line`."""
    module: str | None = None
    """Path of the module it is about, in a graph."""
    name: str = ""
    """Of the rule, as people read it: "unregistered-module-container"."""
    severity: Severity = "warning"
    column: int | None = None
    """1-based, in characters, as `end_column`, which is exclusive."""
    end_line: int | None = None
    end_column: int | None = None
    class_name: str | None = None
    attribute: str | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None

    @property
    def key(self) -> tuple[str, int, int, str]:
        """Where it stands among others of its run."""
        return (self.file or "", self.line or 0, self.column or 0, self.code)
