"""A table for a terminal: aligned columns within a width, long names cut in the middle, colour, an ASCII form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from modgraph.doors.encoding import in_encoding
from modgraph.doors.printing import painted, printable

GAP = "  "


@dataclass(frozen=True, slots=True)
class Pen:
    """How text is put on a terminal."""

    color: bool = False
    unicode: bool = True
    """False where the encoding does not have every sign."""
    encoding: str = "ascii"
    """What there is then."""

    def plain(self, text: str) -> str:
        """`text` with nothing in it that a terminal would obey, and nothing that the encoding lacks."""
        text = printable(text)
        return text if self.unicode else in_encoding(text, self.encoding)

    def paint(self, text: str, style: str) -> str:
        """`text` in a style such as "bold red"; as it is without colour."""
        if not (self.color and style and text.strip()):
            return text
        return painted(text, style)


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of a table."""

    text: str
    lead: str = ""
    """Stands before the text and is never cut: the branches of a tree."""
    style: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    title: str
    right: bool = False
    shortest: int | None = None
    """How narrow it may become; None for one that is never cut, such as a number."""
    dropped: int | None = None
    """In which turn it is left out as a whole where the width does not take it; None for never."""
    kept: bool = False
    """It is there also where it holds no text."""
    fair: int | None = None
    """How narrow it may become while others can be left out instead; as narrow as ever, where that is None."""
    ample: int = 0
    """How wide it is when nobody misses anything: what is wider than that gives way first."""
    at_end: bool = False
    """It is cut at its end: what comes first matters most."""
    sizes: bool = False
    """It holds shapes: of the longest sizes in them only is said what they are made of."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int, pen: Pen) -> list[str]:
    """Lines of a table with a title line; a column without any text is left out, unless it is to be kept."""
    used = [
        position
        for position in range(len(columns))
        if columns[position].kept or any(row[position].text for row in rows)
    ]
    lines = [[Cell(column.title, style="dim") for column in columns], *rows]
    plain = [[Cell(pen.plain(cell.text), pen.plain(cell.lead), cell.style) for cell in line] for line in lines]
    while True:
        shown = [columns[position] for position in used]
        cells = [[line[position] for position in used] for line in plain]
        turns = {columns[position].dropped or 0: position for position in used if columns[position].dropped}
        widths = _widths(shown, cells, width, fairly=bool(turns))
        if not turns or sum(widths) + len(GAP) * (len(widths) - 1) <= width:
            return [_line(shown, line, widths, pen) for line in cells]
        used.remove(turns[min(turns)])


def _widths(columns: Sequence[Column], lines: Sequence[Sequence[Cell]], width: int, *, fairly: bool) -> list[int]:
    widths = [max(text_width(line[i].lead + line[i].text) for line in lines) for i in range(len(columns))]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - width
    while excess > 0:
        least = {
            i: ((fairly and column.fair) or column.shortest)
            for i, column in enumerate(columns)
            if column.shortest is not None
        }
        cuttable = [i for i, shortest in least.items() if widths[i] > shortest]
        if not cuttable:
            break
        # The widest gives way until another is as wide, and not one by one: a text may be as long as a file.
        over = sorted((widths[i] - columns[i].ample for i in cuttable), reverse=True)
        widest = max(cuttable, key=lambda i: widths[i] - columns[i].ample)
        taken = max(1, min(excess, widths[widest] - least[widest], over[0] - over[1] if len(over) > 1 else excess))
        widths[widest] -= taken
        excess -= taken
    return widths


def _line(columns: Sequence[Column], cells: Sequence[Cell], widths: Sequence[int], pen: Pen) -> str:
    parts = []
    for column, cell, width in zip(columns, cells, widths, strict=True):
        room = width - text_width(cell.lead)
        text = _shorter_sizes(cell.text, room, pen) if column.sizes else cell.text
        text = shortened(text, room, pen, at_end=column.at_end)
        padding = " " * (width - text_width(cell.lead + text))
        painted = pen.paint(cell.lead, "dim") + pen.paint(text, cell.style)
        parts.append(padding + painted if column.right else painted + padding)
    return GAP.join(parts).rstrip()


def shortened(text: str, width: int, pen: Pen, *, at_end: bool = False) -> str:
    """`text` within `width` columns, cut in the middle, where names of modules are least telling, or at its end."""
    if text_width(text) <= width:
        return text
    mark = pen.plain("…")
    keep = max(0, width - 1)
    units = _UNIT.findall(text)
    if at_end:
        return "".join(_first(units, keep)).rstrip() + mark
    head, tail = _first(units, (keep + 1) // 2), _first(units[::-1], keep // 2)[::-1]
    return "".join([*head, mark, *tail])


def _shorter_sizes(text: str, width: int, pen: Pen) -> str:
    """A shape within `width` columns, if that is to be had by "(h…)" in place of "((h+1)//2-1)"."""
    mark, times = pen.plain("…"), pen.plain("×")
    sizes = text.split(times)
    for place in sorted(range(len(sizes)), key=lambda place: -len(sizes[place])):
        names = dict.fromkeys(re.findall(r"[^\W\d]\w*", sizes[place]))
        short = f"({', '.join(names)}{mark})"
        if text_width(times.join(sizes)) > width and sizes[place].endswith(")") and len(short) < len(sizes[place]):
            sizes[place] = short
    return times.join(sizes)


_UNIT = re.compile(r"(?:\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|.)[\u0300-\u036f]*", re.DOTALL)
"""What is not cut in two: a character that is written as an escape, a letter with its accents."""


def _first(units: Sequence[str], width: int) -> Sequence[str]:
    taken = 0
    for position, unit in enumerate(units):
        taken += text_width(unit)
        if taken > width:
            return units[:position]
    return units


def text_width(text: str) -> int:
    """Columns that `text` takes on a terminal: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
