"""How a graph is shown: what a user may choose of a picture, a page or a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from modgraph.errors import ExportError
from modgraph.export.look.parts import Mark
from modgraph.options import DIRECTIONS, LOOKS, MEASURES, Direction, Look, Measure

PAGE_WIDTH, PAGE_HEIGHT = 6.5 * 72, 9.0 * 72
"""Points of the text of a page."""
_UNITS = {"in": 72.0, "mm": 72 / 25.4, "cm": 72 / 2.54, "pt": 1.0}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(in|mm|cm|pt)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureOptions:
    """How a graph is drawn."""

    depth: int | None = None
    """Levels of containers that are opened; None chooses so that the picture can be read."""
    idioms: bool = True
    """Modules are called by the names that readers know, where it is proven that they are it."""
    fold: bool = True
    """Blocks that are alike are drawn once; containers that are alike but for sizes are opened once."""
    direction: Direction = "TB"
    views: bool = False
    """Draw views and shape bookkeeping too."""
    focus: str = ""
    """Path of a module: draw it alone, with its neighbours as inputs and outputs."""
    color: Measure = "kind"
    """What the colour of a row says: what kind of layer it is, or what it costs."""
    style: Look = "screen"
    """`paper` for a figure: text that can be read at its width, no colour needed, nothing that nobody misses. `dark`
    for a dark ground: the same picture in other colours."""
    width: float | str | None = None
    """Of a figure: points, or a text such as "3.25in" or "180mm"; None for the text of a page, 6.5 inches."""
    columns: tuple[str, ...] = ()
    """Of the table that the format `text` is; empty for the usual ones."""
    said: Mapping[str, tuple[Mark, ...]] | None = None
    """By path, what is said of modules beside what their graph says: what became of them in a diff."""

    def __post_init__(self) -> None:
        """Raises ExportError for a colour, direction, style or width that there is not."""
        asked = (
            ("color", self.color, MEASURES),
            ("direction", self.direction, DIRECTIONS),
            ("style", self.style, LOOKS),
        )
        for option, value, known in asked:
            if value not in known:
                raise ExportError(f"{option} cannot be {value!r}", hint=f"it is one of {', '.join(known)}")
        if self.width is not None:
            points_of(self.width)
            if not self.is_paper:
                raise ExportError("a width is that of a figure", hint="ask for one: --style paper, or style='paper'")

    @property
    def is_paper(self) -> bool:
        """Whether it is a figure."""
        return self.style == "paper"

    @property
    def points(self) -> float:
        """Width of a figure."""
        return PAGE_WIDTH if self.width is None else points_of(self.width)


LEAST_WIDTH, MOST_WIDTH = 72.0, 72.0 * 100
"""Points that a figure may be wide."""


def points_of(width: float | str) -> float:
    """ "3.25in", "180mm", "17cm", "468pt" or a number of points, in points.

    Raises:
        ExportError: it is no length, or none that a figure has.
    """
    found = _LENGTH.fullmatch(width.strip()) if isinstance(width, str) else None
    if isinstance(width, str) and found is None:
        raise ExportError(f"width cannot be {width!r}", hint="it is a length with its unit: 3.25in, 180mm, 17cm, 468pt")
    points = float(found[1]) * _UNITS[found[2]] if found else float(width)
    if not LEAST_WIDTH <= points <= MOST_WIDTH:
        raise ExportError(f"a figure cannot be {points:.0f} points wide", hint="from 1in to 100in")
    return points
