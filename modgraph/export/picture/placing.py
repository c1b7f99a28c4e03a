"""Where texts go once a picture is laid out: off the edges, cards and other texts that they would lie on.

The layout engine gives labels and titles a place before it draws the edges, so that an edge may go through them. What
it drew is read here; each text that is crossed gets the nearest free place beside its own edge, or along the head of
its own frame, and the picture is drawn again with nothing else moved. A label that has no such place is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree

from modgraph.export.picture.dot import quoted
from modgraph.export.picture.svg_shapes import SVG, Point, bounds_of, line_of, points_of

_ASCENT, _DESCENT = 0.72, 0.2
"""Of a text, in its size."""
_STEP = 2.0
"""Points between two places of an edge that are looked at."""
_CELL = 16
"""Points of a square in which edges are looked up."""
_BESIDE = 4.0
"""Points between an edge and its label."""
_AROUND = 1.0
"""Points around a text in which nothing else may be."""
_LARGEST = 8_000_000
"""Bytes of an SVG that is read; what is larger stays as it is."""
Move = tuple[float, float]
"""To the right and down, in points."""


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def moved(self, x: float, y: float) -> _Box:
        return _Box(self.left + x, self.top + y, self.right + x, self.bottom + y)

    def meets(self, other: _Box, room: float = _AROUND) -> bool:
        return (
            self.left - room < other.right
            and other.left < self.right + room
            and self.top - room < other.bottom
            and other.top < self.bottom + room
        )


@dataclass(eq=False, slots=True)
class _Part:
    """A node, a frame or an edge."""

    id: str
    kind: str
    box: _Box
    texts: list[_Box]
    path: list[tuple[float, float]]
    badges: list[_Box] = field(default_factory=list)
    """Coloured boxes in a frame's title."""


class _Page:
    """All that is drawn, and what lies where."""

    def __init__(self, root: ElementTree.Element) -> None:
        parts, self.paper = _parts(root), _paper(root)
        self.nodes = [part for part in parts if part.kind == "node"]
        self.frames = [part for part in parts if part.kind == "cluster"]
        self.edges = [part for part in parts if part.kind == "edge"]
        self.points: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for edge in self.edges:
            for x, y in edge.path:
                self.points.setdefault((int(x) // _CELL, int(y) // _CELL), []).append((x, y))

    def is_crossed(self, box: _Box) -> bool:
        """Whether an edge goes through `box`."""
        columns = range(int(box.left) // _CELL, int(box.right) // _CELL + 1)
        rows = range(int(box.top) // _CELL, int(box.bottom) // _CELL + 1)
        return any(
            box.left <= x <= box.right and box.top <= y <= box.bottom
            for column in columns
            for row in rows
            for x, y in self.points.get((column, row), ())
        )

    def is_cut(self, box: _Box) -> bool:
        """Whether `box` does not lie on the paper as a whole."""
        return self.paper is not None and (box.left < self.paper.left or box.right > self.paper.right)

    def others(self, part: _Part, *, borders: bool = True) -> list[_Box]:
        """What the texts of `part` may not lie on."""
        inside = [node.box for node in self.nodes]
        inside += [text for other in (*self.edges, *self.frames) if other is not part for text in other.texts]
        inside += [badge for other in self.frames if other is not part for badge in other.badges]
        if part.kind == "edge" and borders:
            inside += [border for frame in self.frames for border in _borders(frame.box)]
        if part.kind == "cluster":
            inside += [other.box for other in self.frames if other is not part and _holds(part.box, other.box)]
        return inside


def _borders(box: _Box) -> tuple[_Box, ...]:
    return (
        _Box(box.left, box.top, box.right, box.top),
        _Box(box.left, box.bottom, box.right, box.bottom),
        _Box(box.left, box.top, box.left, box.bottom),
        _Box(box.right, box.top, box.right, box.bottom),
    )


def _holds(outer: _Box, inner: _Box) -> bool:
    return outer.left <= inner.left and inner.right <= outer.right and outer.top <= inner.top <= outer.bottom


def moves_of(svg: bytes) -> dict[str, Move | None]:
    """By the id of an edge or a frame, how far its text is moved; None where there is no place for it."""
    if len(svg) > _LARGEST:
        return {}
    try:
        page = _Page(ElementTree.fromstring(svg))
    except ElementTree.ParseError:  # written by what only passes for Graphviz
        return {}
    found: dict[str, Move | None] = {}
    for part in (*page.frames, *page.edges):
        own = [*part.texts, *part.badges]
        blocked = page.others(part)
        if not part.texts or _is_free(page, own, blocked):
            continue
        places = _beside(part) if part.kind == "edge" else _along(part)
        ways = sorted(places, key=lambda place: math.hypot(*place))
        move = next((way for way in ways if _is_free(page, [box.moved(*way) for box in own], blocked)), None)
        if move is None and part.kind == "edge":  # on a border it can be read at least
            blocked = page.others(part, borders=False)
            move = next((way for way in ways if _is_free(page, [box.moved(*way) for box in own], blocked)), None)
        if move is None and part.kind == "cluster":
            continue
        found[part.id] = move
        part.texts = [box.moved(*move) for box in part.texts] if move else []
        part.badges = [box.moved(*move) for box in part.badges] if move else []
    return found


def crossed_titles(svg: bytes) -> set[str]:
    """Ids of the frames whose title lies on something."""
    if len(svg) > _LARGEST:
        return set()
    try:
        page = _Page(ElementTree.fromstring(svg))
    except ElementTree.ParseError:  # written by what only passes for Graphviz
        return set()
    return {
        frame.id
        for frame in page.frames
        if frame.texts and not _is_free(page, [*frame.texts, *frame.badges], page.others(frame))
    }


def at_the_foot(text: str, frames: set[str]) -> str:
    """The DOT text with the titles of some frames below what is in them."""
    ids = {f"id={quoted(frame)}" for frame in frames}
    return "\n".join(
        line.replace("graph [", 'graph [labelloc="b" ', 1)
        if line.lstrip().startswith("graph [") and any(f" {id} " in line for id in ids)
        else line
        for line in text.split("\n")
    )


def _is_free(page: _Page, boxes: list[_Box], blocked: list[_Box]) -> bool:
    return not any(
        page.is_cut(box) or page.is_crossed(box) or any(box.meets(other) for other in blocked) for box in boxes
    )


def _beside(edge: _Part) -> Iterator[Move]:
    """Places on both sides of an edge."""
    (text, *_) = edge.texts
    height, width = text.bottom - text.top, text.right - text.left
    for x, y in edge.path[::2]:
        down = y - height / 2 - text.top
        for away in (_BESIDE, 3 * _BESIDE):
            yield x + away - text.left, down
            yield x - away - width - text.left, down


def _along(frame: _Part) -> Iterator[Move]:
    """Places at the head of a frame."""
    own = [*frame.texts, *frame.badges]
    left, right = min(box.left for box in own), max(box.right for box in own)
    first, last = frame.box.left + 5 - left, frame.box.right - 5 - right
    for number in range(int((last - first) / 3) + 1):
        yield first + 3 * number, 0.0


def moved(positioned: str, moves: dict[str, Move | None]) -> str:
    """The DOT text of a layout with labels at other places; `positioned` is what the engine writes as DOT."""
    lines = positioned.replace("\\\n", "").split("\n")
    written: list[str] = []
    statement: list[str] = []
    for line in lines:
        statement.append(line)
        if line.rstrip().endswith(("];", "{", "}")):
            written.extend(_statement(statement, moves))
            statement = []
    return "\n".join(written + statement)


_ID = re.compile(r'^\s*(?:.*\[)?id="?([^",\]]+)"?,?(?:\];)?$')
_PLACE = re.compile(r'^(\s*(?:.*\[)?lp=")([-\d.e+]+),([-\d.e+]+)(".*)$')
_LABEL = re.compile(r"^(\s*(?:.*\[)?)label=.*$")


def _statement(lines: list[str], moves: dict[str, Move | None]) -> list[str]:
    id = next((found[1] for line in lines if (found := _ID.match(line))), "")
    if id not in moves:
        return lines
    move = moves[id]
    if move is None:
        return [_LABEL.sub(_unlabelled, line) for line in lines]
    x, y = move
    return [
        _PLACE.sub(lambda found: f"{found[1]}{float(found[2]) + x:.2f},{float(found[3]) - y:.2f}{found[4]}", line)
        for line in lines
    ]


def _unlabelled(found: re.Match[str]) -> str:
    return f'{found[1]}label="",'


# --- reading ---------------------------------------------------------------------------------------------------------


def _parts(root: ElementTree.Element) -> list[_Part]:
    return [part for group in root.iter(f"{SVG}g") if (part := _part(group)) is not None]


def _paper(root: ElementTree.Element) -> _Box | None:
    """What the whole drawing is painted on."""
    drawn = next((group for group in root.iter(f"{SVG}g") if group.attrib.get("class") == "graph"), None)
    ground = None if drawn is None else next((each for each in drawn.iter() if points_of(each)), None)
    return None if ground is None else _bounds([ground])


def _part(group: ElementTree.Element) -> _Part | None:
    kind = group.attrib.get("class", "")
    if kind not in ("node", "cluster", "edge"):
        return None
    shapes = [element for element in group.iter() if points_of(element)]
    if not shapes:
        return None
    texts = [_text(each) for each in group.iter(f"{SVG}text") if (each.text or "").strip()]
    outer = shapes[:1] if kind == "cluster" else shapes
    badges = [_bounds([shape]) for shape in shapes[1:]] if kind == "cluster" else []
    path = [at for shape in shapes for at in _line(shape)] if kind == "edge" else []
    return _Part(group.attrib.get("id", ""), kind, _bounds(outer), texts, path, badges)


def _bounds(shapes: Iterable[ElementTree.Element]) -> _Box:
    return _Box(*bounds_of([point for shape in shapes for point in points_of(shape)]))


def _line(shape: ElementTree.Element) -> Iterator[Point]:
    """Places of an edge, close to each other; of its arrowhead, the corners."""
    points = points_of(shape)
    if shape.tag != f"{SVG}path":
        yield from points
        return
    for start in range(0, len(points) - 3, 3):
        a, b, c, d = points[start : start + 4]
        steps = max(4, int((math.dist(a, b) + math.dist(b, c) + math.dist(c, d)) / _STEP))
        for step in range(steps + 1):
            t = step / steps
            u = 1 - t
            yield (
                u**3 * a[0] + 3 * u * u * t * b[0] + 3 * u * t * t * c[0] + t**3 * d[0],
                u**3 * a[1] + 3 * u * u * t * b[1] + 3 * u * t * t * c[1] + t**3 * d[1],
            )


def _text(element: ElementTree.Element) -> _Box:
    text = element.text or ""
    line = line_of(element, text)
    right = line.left + line.width - (len(text) - len(text.rstrip())) * line.space()
    left = line.left + (len(text) - len(text.lstrip())) * line.space()
    return _Box(left, line.y - _ASCENT * line.size, right, line.y + _DESCENT * line.size)
