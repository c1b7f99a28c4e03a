"""What Graphviz draws as SVG, read: places of shapes, and how wide its texts were thought to be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from modgraph.export.look.metrics import text_width

SVG = "{http://www.w3.org/2000/svg}"
Point = tuple[float, float]
_NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
_BEFORE = {"start": 0.0, "middle": 0.5, "end": 1.0}
"""Which part of a text stands before the place that is written of it."""


class Element(Protocol):
    """One of a tree that others have read."""

    tag: str
    attrib: dict[str, str]


def numbers_in(text: str) -> list[float]:
    """All that are written in it."""
    return [float(each) for each in _NUMBER.findall(text)]


def points_in(text: str) -> list[Point]:
    """Numbers in pairs."""
    numbers = numbers_in(text)
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def ellipse_of(element: Element) -> tuple[float, float, float, float]:
    """Its middle, and half of its width and height."""
    x, y, across, down = (float(element.attrib[key]) for key in ("cx", "cy", "rx", "ry"))
    return x, y, across, down


def points_of(element: Element) -> list[Point]:
    """The points with which a shape is written, of an ellipse two corners around it; none of what is no shape."""
    if element.tag == f"{SVG}ellipse":
        x, y, across, down = ellipse_of(element)
        return [(x - across, y - down), (x + across, y + down)]
    if element.tag == f"{SVG}path":
        return points_in(element.attrib["d"])
    return points_in(element.attrib.get("points", ""))


def bounds_of(points: Sequence[Point]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


@dataclass(frozen=True, slots=True)
class Line:
    """A text as the layout reckoned with it."""

    left: float
    y: float
    """Of the line on which its letters stand."""
    width: float
    size: float
    bold: bool
    mono: bool
    anchor: str

    def space(self) -> float:
        """How wide a space is."""
        return text_width(" ", self.size, mono=self.mono)


def line_of(element: Element, said: str) -> Line:
    """Where a text stands, which says this."""
    attributes = element.attrib
    size, bold = float(attributes["font-size"]), attributes.get("font-weight") == "bold"
    mono = "Courier" in attributes.get("font-family", "")
    width = text_width(said, size, bold=bold, mono=mono)
    anchor = attributes.get("text-anchor", "start")
    left = float(attributes["x"]) - _BEFORE[anchor] * width
    return Line(left, float(attributes["y"]), width, size, bold, mono, anchor)
