"""What is wrong with the geometry of a picture, found in its SVG: texts that overlap, are cut off, or are crossed.

    python tests/export/svg_geometry.py FILE.svg...

Widths of texts are those of the font's metrics (`modgraph.export.look.metrics`), as no browser is asked.
"""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from modgraph.export.look.metrics import text_width

SLACK = 1.5
"""Points by which a text may pass a border: the metrics round, and so does Graphviz."""
ASCENT, DESCENT = 0.70, 0.12
"""Of a text, in its size: capitals above the line, what hangs below it."""
_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Box:
    """A rectangle, y downwards."""

    name: str
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box, slack: float = SLACK) -> bool:
        return (
            min(self.right, other.right) - max(self.left, other.left) > slack
            and min(self.bottom, other.bottom) - max(self.top, other.top) > slack
        )

    def holds(self, other: Box, slack: float = SLACK) -> bool:
        return (
            self.left - slack <= other.left
            and self.top - slack <= other.top
            and other.right <= self.right + slack
            and other.bottom <= self.bottom + slack
        )

    def has(self, x: float, y: float) -> bool:
        return self.left < x < self.right and self.top < y < self.bottom


@dataclass
class Part:
    """A node, a frame or an edge, with its texts."""

    kind: str
    box: Box
    texts: list[Box]
    path: list[tuple[float, float]]


def problems(svg: str) -> list[str]:
    """What is wrong, in words; nothing where all is well."""
    root = ElementTree.fromstring(svg.encode("utf-8"))
    parts = [part for group in root.iter(f"{_SVG}g") if (part := _part(group)) is not None]
    nodes = [part for part in parts if part.kind == "node"]
    frames = [part for part in parts if part.kind == "cluster"]
    edges = [part for part in parts if part.kind == "edge"]
    loose = Part("loose", Box("picture", 0, 0, 0, 0), _loose(root), [])
    return [
        *_spaced(root),
        *_cut_off(root, nodes, frames, edges),
        *_overlapping([*parts, loose]),
        *_on_each_other(nodes, frames, edges),
        *_crossed(nodes, frames, edges),
    ]


def ink(svg: str) -> float:
    """The share of the picture that its nodes take."""
    root = ElementTree.fromstring(svg.encode("utf-8"))
    parts = [part for group in root.iter(f"{_SVG}g") if (part := _part(group)) is not None]
    page = _page(root)
    return sum(_area(part.box) for part in parts if part.kind == "node") / _area(page)


def _area(box: Box) -> float:
    return (box.right - box.left) * (box.bottom - box.top)


def _loose(root: ElementTree.Element) -> list[Box]:
    """Texts of no part: the picture's title, and those on coloured bars at the head of frames, which are drawn last."""
    outer = root.find(f"{_SVG}g")
    inner = [outer, *(each for each in outer if each.tag == f"{_SVG}g" and not each.attrib.get("class"))]
    return [
        _text(element)
        for group in inner
        for element in group
        if element.tag == f"{_SVG}text" and (element.text or "").strip()
    ]


def _spaced(root: ElementTree.Element) -> Iterator[str]:
    """A space at the begin of a text is not drawn: what was apart in Graphviz touches in a browser."""
    for text in root.iter(f"{_SVG}text"):
        said = "".join(text.itertext())
        if said.startswith(" ") and said.strip():
            yield f"text {said!r} begins with a space"


def _cut_off(root: ElementTree.Element, nodes: list[Part], frames: list[Part], edges: list[Part]) -> Iterator[str]:
    page = _page(root)
    for part in (*nodes, *frames):
        if not page.holds(part.box):
            yield f"{part.box.name} passes the border of the page"
        for text in part.texts:
            if not part.box.holds(text):
                yield f"text {text.name!r} passes the border of {part.box.name}"
    for edge in edges:
        for text in edge.texts:
            if not page.holds(text):
                yield f"text {text.name!r} passes the border of the page"


def _overlapping(parts: list[Part]) -> Iterator[str]:
    texts = sorted((text for part in parts for text in part.texts), key=lambda text: text.top)
    for number, text in enumerate(texts):
        for other in texts[number + 1 :]:
            if other.top >= text.bottom:
                break
            if text.meets(other):
                yield f"texts {text.name!r} and {other.name!r} overlap"


def _on_each_other(nodes: list[Part], frames: list[Part], edges: list[Part]) -> Iterator[str]:
    for one, other in itertools.combinations(nodes, 2):
        if one.box.meets(other.box):
            yield f"{one.box.name} and {other.box.name} overlap"
    for frame, node in itertools.product(frames, nodes):
        if frame.box.meets(node.box) and not frame.box.holds(node.box):
            yield f"{node.box.name} passes the border of {frame.box.name}"
    for edge, node in itertools.product(edges, nodes):
        for text in edge.texts:
            if text.meets(node.box):
                yield f"label {text.name!r} lies on {node.box.name}"


def _crossed(nodes: list[Part], frames: list[Part], edges: list[Part]) -> Iterator[str]:
    """Texts on cards, titles of frames and labels through which an edge goes; a bar is drawn over the edges."""
    titles = [("title", text) for frame in frames for text in frame.texts]
    titles += [("label", text) for edge in edges for text in edge.texts]
    titles += [("text", text) for node in nodes for text in node.texts]
    for edge in edges:
        around = _around(edge.path)
        for what, text in titles:
            if text.meets(around, 0) and any(text.has(x, y) for x, y in edge.path):
                yield f"{edge.box.name} crosses the {what} {text.name!r}"


def _around(path: list[tuple[float, float]]) -> Box:
    if not path:
        return Box("", 0, 0, 0, 0)
    xs, ys = [x for x, _ in path], [y for _, y in path]
    return Box("", min(xs) - 1, min(ys) - 1, max(xs) + 1, max(ys) + 1)


def _page(root: ElementTree.Element) -> Box:
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    shift = re.search(r"translate\(([-\d.]+)[ ,]([-\d.]+)\)", root.find(f"{_SVG}g").attrib["transform"])
    x, y = float(shift[1]), float(shift[2])
    scale = re.search(r"scale\(([\d.]+)", root.find(f"{_SVG}g").attrib["transform"])
    factor = float(scale[1]) if scale else 1.0
    return Box("page", -x, -y, width / factor - x, height / factor - y)


def _part(group: ElementTree.Element) -> Part | None:
    kind = group.attrib.get("class", "")
    if kind not in ("node", "cluster", "edge"):
        return None
    points = [point for element in group.iter() for point in _points(element)]
    texts = [_text(element) for element in group.iter(f"{_SVG}text") if (element.text or "").strip()]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    box = Box(group.attrib.get("id", ""), min(xs), min(ys), max(xs), max(ys))
    path = [at for element in group.iter(f"{_SVG}path") for at in _curve(_points(element))] if kind == "edge" else []
    return Part(kind, box, texts, path)


_NUMBER = re.compile(r"-?[\d.]+(?:e-?\d+)?")


def _points(element: ElementTree.Element) -> list[tuple[float, float]]:
    if element.tag == f"{_SVG}ellipse":
        cx, cy, rx, ry = (float(element.attrib[key]) for key in ("cx", "cy", "rx", "ry"))
        return [(cx - rx, cy - ry), (cx + rx, cy + ry)]
    text = element.attrib.get("points") or (element.attrib.get("d") if element.tag == f"{_SVG}path" else "")
    numbers = [float(number) for number in _NUMBER.findall(text or "")]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _curve(points: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Points on cubic Bézier curves, end to end."""
    for start in range(0, len(points) - 3, 3):
        a, b, c, d = points[start : start + 4]
        steps = max(8, int((math.dist(a, b) + math.dist(b, c) + math.dist(c, d)) / 2))
        for step in range(steps + 1):
            t = step / steps
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            yield tuple(  # type: ignore[misc]
                sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1)
            )


def _text(element: ElementTree.Element) -> Box:
    attributes, text = element.attrib, element.text or ""
    size = float(attributes["font-size"])
    mono = "Courier" in attributes["font-family"]
    width = text_width(text, size, bold=attributes.get("font-weight") == "bold", mono=mono)
    x, y = float(attributes["x"]), float(attributes["y"])
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[attributes.get("text-anchor", "start")] * width
    blank = len(text) - len(text.lstrip()), len(text) - len(text.rstrip())
    space = text_width(" ", size, mono=mono)
    left, right = left + blank[0] * space, left + width - blank[1] * space
    return Box(text.strip(), left, y - ASCENT * size, right, y + DESCENT * size)


def main() -> int:
    """Look at files."""
    found = 0
    for name in sys.argv[1:]:
        for problem in problems(Path(name).read_text(encoding="utf-8")):
            found += 1
            print(f"{Path(name).name}: {problem}")
    print(f"{len(sys.argv) - 1} pictures, {found} problems")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
