"""What is amiss in the user's code: one `Finding` each, the same in a graph, in the check and in every format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from modgraph.finding import Finding as Finding

Severity = Literal["error", "warning", "info"]
"""`error`: Python or torch raises; `warning`: the model is silently not what it seems; `info`: worth knowing."""


class Edit(NamedTuple):
    """One replacement in a file: lines are 1-based, columns 0-based and counted in characters; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Fix(NamedTuple):
    """A change of the file that fixes what was found."""

    description: str
    edits: tuple[Edit, ...]
    safe: bool = False
    """It changes nothing but the mistake: neither keys of the state dict nor what else the code does."""


class Related(NamedTuple):
    """A further place that belongs to a finding."""

    line: int
    column: int
    message: str


def __getattr__(name: str) -> Any:
    if name != "Finding":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from modgraph.finding import Finding

    return Finding
