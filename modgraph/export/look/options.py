"""How a graph is shown: what a user may choose of a picture, a page or a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from modgraph.errors import ExportError
from modgraph.export.look.parts import Mark

Measure = Literal["kind", "parameters", "flops", "time", "memory"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureOptions:
    """How a graph is drawn."""

    depth: int | None = None
    """Levels of containers that are opened; None chooses so that the picture can be read."""
    fold: bool = True
    """Blocks that are alike are drawn once; containers that are alike but for sizes are opened once."""
    direction: Literal["TB", "LR"] = "TB"
    views: bool = False
    """Draw views and shape bookkeeping too."""
    focus: str = ""
    """Path of a module: draw it alone, with its neighbours as inputs and outputs."""
    color: Measure = "kind"
    """What the colour of a row says: what kind of layer it is, or what it costs."""
    columns: tuple[str, ...] = ()
    """Of the table that the format `text` is; empty for the usual ones."""
    said: Mapping[str, tuple[Mark, ...]] | None = None
    """By path, what is said of modules beside what their graph says: what became of them in a diff."""

    def __post_init__(self) -> None:
        """Raises ExportError for a colour or direction that there is not."""
        for option, value, known in (("color", self.color, MEASURES), ("direction", self.direction, ("TB", "LR"))):
            if value not in known:
                raise ExportError(f"{option} cannot be {value!r}", hint=f"it is one of {', '.join(known)}")
