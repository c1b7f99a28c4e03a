"""`Finding` alone, what is amiss: a check that finds nothing need not know it. Named through `findings.py`."""

from __future__ import annotations

from dataclasses import dataclass

from modgraph.findings import Fix, Related, Severity


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
