r"""The picture for LaTeX: what Graphviz drew as SVG, in TikZ, its texts set by LaTeX.

Places, sizes and colours are those of the SVG. Fonts are LaTeX's own, and may be wider or narrower than those the
layout reckoned with: a line of text stands where it stood (at its left, its middle or its right), and one that would be
wider than its room is set narrower. Nothing but numbers, colours and what `latex` made of a text gets into the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from modgraph.errors import ExportError
from modgraph.export.look.metrics import text_width
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.widths import BAR
from modgraph.export.picture.images import render as draw
from modgraph.export.picture.images import svg_size
from modgraph.export.picture.latex_text import MARKS, latex
from modgraph.export.picture.svg_shapes import (
    SVG,
    Point,
    bounds_of,
    ellipse_of,
    line_of,
    numbers_in,
    points_in,
    points_of,
)
from modgraph.graph.model import Graph

LONGEST_SIDE = 14_000.0
"""Points that a picture is wide or high at most: TeX knows no length of 16,384, PDF no page of 14,400."""
_FONT_SIZE = 10 * 72 / 72.27
"""Points of the font that every text is set in before it is scaled: of that size there are all fonts."""
_ADJACENT = 2.5
"""Points between two texts of one line, at most: widths are rounded."""
_PADDING = 4.5
"""Points between a text and the border that it is set against, at most."""
_EDGE = 1.5
"""Points that are left between a text and the border where there is little room."""
Side = Literal["l", "c", "r"]


def render(graph: Graph, options: PictureOptions | None = None) -> str:
    """`graph` as a LaTeX file, which stands alone or is put into a paper.

    Raises:
        RendererMissingError: there is no Graphviz.
        ExportError: Graphviz failed, or not even the closed model could be laid out.
    """
    return write_tikz(draw(graph, options, "svg"))


def write_tikz(svg: bytes) -> str:
    """What Graphviz drew, as a LaTeX file; the same SVG gives the same text.

    Raises:
        ExportError: it is no SVG of Graphviz.
    """
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ExportError("Graphviz wrote an SVG that cannot be read") from error
    size = svg_size(svg)
    shrunk = min(1.0, LONGEST_SIDE / max(size))
    width, height = (side * shrunk for side in size)
    scale = width / numbers_in(root.attrib["viewBox"])[2]
    page = _Page(scale, _shift(root))
    body = [line for element in root for line in page.written(element) if element.tag == f"{SVG}g"]
    macros = [f"\\def\\{name}{{{drawn}}}%" for name, drawn in MARKS.values() if f"\\{name}{{}}" in page.said]
    colors = [f"\\definecolor{{mg{color}}}{{HTML}}{{{color.upper()}}}%" for color in sorted(page.colors)]
    sides = f"{_number(width)}", f"{_number(height)}"
    lines = [
        _HEAD.replace("@WIDTH", sides[0]).replace("@HEIGHT", sides[1]),
        *macros,
        *colors,
        "\\begin{tikzpicture}[x=1bp,y=-1bp]",
        f"\\useasboundingbox (0,0) rectangle ({sides[0]},{sides[1]});",
        *body,
        _FOOT,
    ]
    return "\n".join(lines)


_HEAD = r"""% The picture of a model, for LaTeX, written by modgraph.
% Alone: pdflatex makes a page of its size of this file.
% In a paper: the preamble has \usepackage{tikz}, and \input with the name of this file sets the picture, in the fonts
% of the paper. \resizebox{\linewidth}{!}{\input{...}} makes it as wide as the text.
\expandafter\ifx\csname @classoptionslist\endcsname\relax % no class is loaded: it is alone
  \documentclass{article}
  \usepackage{tikz}
  \usepackage[paperwidth=@WIDTHbp,paperheight=@HEIGHTbp,margin=0bp]{geometry}
  \IfFileExists{lmodern.sty}{\usepackage[T1]{fontenc}\usepackage{lmodern}}{}
  \pagestyle{empty}\parindent=0pt \topskip=0pt
  \begin{document}%
  \def\modgraphend{\hss\egroup\vss\egroup\end{document}}%
  \vbox to0pt\bgroup\hbox to0pt\bgroup
\else
  \def\modgraphend{}%
\fi
\expandafter\ifx\csname tikzpicture\endcsname\relax
  \errmessage{The preamble needs \string\usepackage{tikz}}\expandafter\endinput\fi
\begingroup
% What babel may have made active is plain here.
\def\mgplain#1{\ifx\mgplain#1\else\catcode#1 12 \expandafter\mgplain\fi}%
\mgplain{33}{34}{39}{40}{41}{42}{43}{44}{45}{46}{47}{58}{59}{60}{61}{62}{63}{64}{91}{93}{96}{124}\mgplain
% Looks of a text: sans, bold, typewriter; their size in tenths, colour, text.
\def\mgpart#1#2#3#4{\scalebox{#2}{\normalfont\fontsize{10}{12}#1\selectfont\color{mg#3}#4}}%
\def\mgs{\mgpart\sffamily}%
\def\mgb{\mgpart{\sffamily\bfseries\boldmath}}%
\def\mgt{\mgpart\ttfamily}%
% A line of text: where its left (l), middle (c) or right (r) stands; its room, into which it is pressed; its parts.
\def\mgline#1#2#3#4#5{\pgftext[base,left,at=\pgfpointxy{#1}{#2}]{%
  \setbox0=\hbox{#5}%
  \ifdim\wd0>#4bp \pgfmathsetmacro\mgpressed{#4bp/\the\wd0}\setbox0=\hbox{\scalebox{\mgpressed}[1]{\box0}}\fi
  \hbox to0pt{\if l#3\else\hss\fi\box0\if r#3\else\hss\fi}}}%
% Signs: a sign of mathematics with less room at its sides, a drawn one, and what stands for a character LaTeX has not.
\def\mgclose#1{\kern-.1em\ensuremath{#1}\kern-.1em}%
\def\mgmark#1{\tikz[x=.1em,y=.1em,baseline=0pt]{#1}}%
\def\mgother{{\fboxsep=.6pt\fboxrule=.3pt\fbox{\scalebox{.7}{?}}}}%"""
_FOOT = r"""\end{tikzpicture}%
\endgroup
\modgraphend
"""


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float
    is_round: bool = False


@dataclass(slots=True)
class _Text:
    """A text with one look."""

    x: float
    y: float
    width: float
    anchor: str
    size: float
    look: str
    color: str
    said: str


class _Page:
    """Writes what is drawn; keeps which colours and texts there were."""

    def __init__(self, scale: float, shift: Point) -> None:
        self.scale = scale
        self.shift = shift
        self.colors: set[str] = set()
        self.said: set[str] = set()
        self.is_begun = False

    def written(self, group: ElementTree.Element, around: str = "") -> Iterator[str]:
        """What stands in a group, in the order in which it is drawn; `around`: what kind of thing it is a part of."""
        kind = _KINDS.get(group.attrib.get("class", ""))
        if kind:
            yield f"% {kind} {_COMMENTED.sub('_', group.attrib.get('id', ''))}"
        together: list[ElementTree.Element] = []
        for element in _linked(group):
            if element.tag == f"{SVG}g":
                yield from self._together(together, kind or around)
                yield from self.written(element, kind or around)
                together = []
            else:
                together.append(element)
        yield from self._together(together, kind or around)

    def _together(self, elements: Sequence[ElementTree.Element], kind: str) -> Iterator[str]:
        """Shapes, and lines of text in front of them."""
        boxes: list[_Box] = []
        line: list[_Text] = []
        for element in elements:
            if element.tag == f"{SVG}text":
                text = self._text(element)
                if line and not _continues(line, text):
                    yield from self._line(line, boxes)
                    line = []
                line.append(text)
            elif element.tag in _SHAPES:
                yield from self._line(line, boxes)
                line = []
                # A frame's border and the page are none: what stands there has the room that was left for it.
                boxes.append(_bounds(element) if boxes or kind not in ("frame", "picture") else _NOWHERE)
                yield from self._shape(element)
        yield from self._line(line, boxes)

    def _place(self, x: float, y: float) -> str:
        right, down = self.shift
        return f"({_number((x + right) * self.scale)},{_number((y + down) * self.scale)})"

    def _color(self, name: str | None) -> str:
        """ "0072b2"; "" for none."""
        found = _HEX.fullmatch(name or "")
        color = found[1].lower() if found else _NAMED.get(name or "", "")
        if color:
            self.colors.add(color)
        return color

    def _shape(self, element: ElementTree.Element) -> Iterator[str]:
        attributes = element.attrib
        first, self.is_begun = not self.is_begun, True
        if first and attributes.get("fill") == "white":
            return  # the page itself
        fill = "" if attributes.get("fill-opacity") == "0" else self._color(attributes.get("fill"))
        stroke = "" if attributes.get("stroke-opacity") == "0" else self._color(attributes.get("stroke"))
        if not fill and not stroke:
            return
        options = [f"fill=mg{fill}"] if fill else []
        if stroke:
            width = float(attributes.get("stroke-width", "1")) * self.scale
            options += [f"draw=mg{stroke}", f"line width={_number(width)}bp"]
            dashes = numbers_in(attributes.get("stroke-dasharray", ""))
            if len(dashes) == 2:
                on, off = (_number(each * self.scale) for each in dashes)
                options.append(f"dash pattern=on {on}bp off {off}bp")
        yield f"\\path[{','.join(options)}] {self._outline(element)};"

    def _outline(self, element: ElementTree.Element) -> str:
        if element.tag == f"{SVG}ellipse":
            x, y, across, down = ellipse_of(element)
            radii = f"{_number(across * self.scale)}bp and {_number(down * self.scale)}bp"
            return f"{self._place(x, y)} ellipse ({radii})"
        if element.tag == f"{SVG}path":
            return self._curve(element.attrib["d"])
        points = points_of(element)
        if element.tag == f"{SVG}polyline":
            return "--".join(self._place(*point) for point in points)
        if points[0] == points[-1]:
            points = points[:-1]
        xs, ys = {x for x, _ in points}, {y for _, y in points}
        if len(points) == 4 and len(xs) == len(ys) == 2:
            return f"{self._place(min(xs), min(ys))} rectangle {self._place(max(xs), max(ys))}"
        return "--".join(self._place(*point) for point in points) + "--cycle"

    def _curve(self, written: str) -> str:
        """Of the commands of a path, Graphviz writes M, C and L, with places from the page's corner."""
        parts: list[str] = []
        for letter, numbers in _COMMAND.findall(written):
            places = [self._place(*point) for point in points_in(numbers)]
            if letter == "C":
                triples = zip(places[::3], places[1::3], places[2::3], strict=False)
                parts += [f"..controls {a} and {b}..{c}" for a, b, c in triples]
            else:
                parts += [place if letter == "M" else f"--{place}" for place in places]
        return "".join(parts) + ("--cycle" if written.rstrip().upper().endswith("Z") else "")

    def _text(self, element: ElementTree.Element) -> _Text:
        said = "".join(element.itertext()).replace("\u00a0", " ")
        line = line_of(element, said)
        look = "t" if line.mono else "b" if line.bold else "s"
        color = self._color(element.attrib.get("fill", "black")) or "000000"
        return _Text(line.left, line.y, line.width, line.anchor, line.size, look, color, said)

    def _line(self, texts: list[_Text], boxes: Sequence[_Box]) -> Iterator[str]:
        """Texts that follow each other, as one; spaces at its ends are room around it."""
        first, last = _inked(texts)
        if first is None or last is None:
            return
        left, right = first.x + _lead(first), last.x + last.width - _lead(last, at_end=True)
        side, room = _setting(first, left, right, boxes)
        x = {"l": left, "c": (left + right) / 2, "r": right}[side]
        inside = texts[texts.index(first) : texts.index(last) + 1]
        parts = []
        for text in inside:
            said = text.said.lstrip() if text is first else text.said
            said = latex(said.rstrip() if text is last else said)
            self.said.update(_MACRO.findall(said))
            factor = _number(text.size * self.scale / _FONT_SIZE, 3)
            parts.append(f"\\mg{text.look}{{{factor}}}{{{text.color}}}{{{said}}}")
        place = self._place(x, first.y)[1:-1].split(",")
        yield f"\\mgline{{{place[0]}}}{{{place[1]}}}{side}{{{_number(room * self.scale)}}}{{{''.join(parts)}}}"


_NOWHERE = _Box(0, 0, 0, 0)
_KINDS = {"graph": "picture", "cluster": "frame", "node": "node", "edge": "arrow"}
_HEX = re.compile(r"#([0-9A-Fa-f]{6})")
_NAMED = {"white": "ffffff", "black": "000000"}
_COMMAND = re.compile(r"([MCL])([^MCLZz]*)")
_COMMENTED = re.compile(r"[^A-Za-z0-9._:\[\]~-]")
_MACRO = re.compile(r"\\mg[a-z]+\{\}")
_TRANSLATE = re.compile(r"translate\((-?[\d.]+)[ ,]+(-?[\d.]+)\)")


def _number(value: float, digits: int = 2) -> str:
    """ "12.5": no more digits than are seen."""
    written = f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"
    return "0" if written in ("-0", "") else written


def _shift(root: ElementTree.Element) -> Point:
    """How far what is drawn is moved, from its own corner to that of the page."""
    group = root.find(f"{SVG}g")
    found = _TRANSLATE.search(group.attrib.get("transform", "")) if group is not None else None
    return (float(found[1]), float(found[2])) if found else (0.0, 0.0)


def _linked(group: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """What stands in a group, and in links there."""
    for element in group:
        if element.tag == f"{SVG}a":
            yield from _linked(element)
        else:
            yield element


_SHAPES = frozenset(f"{SVG}{name}" for name in ("polygon", "polyline", "path", "ellipse"))


def _bounds(element: ElementTree.Element) -> _Box:
    is_round = element.tag in (f"{SVG}ellipse", f"{SVG}path")
    return _Box(*bounds_of(points_of(element)), is_round=is_round)


def _continues(line: Sequence[_Text], text: _Text) -> bool:
    last = line[-1]
    gap = text.x - (last.x + last.width)
    return text.y == last.y and text.anchor == last.anchor == "start" and abs(gap) <= _ADJACENT


def _inked(texts: Iterable[_Text]) -> tuple[_Text | None, _Text | None]:
    """The first and the last text in which anything is seen."""
    seen = [text for text in texts if text.said.strip()]
    return (seen[0], seen[-1]) if seen else (None, None)


def _lead(text: _Text, *, at_end: bool = False) -> float:
    """How wide the spaces at the begin of a text are, or at its end."""
    stripped = text.said.rstrip() if at_end else text.said.lstrip()
    return (len(text.said) - len(stripped)) * text_width(" ", text.size, mono=text.look == "t")


def _setting(text: _Text, left: float, right: float, boxes: Sequence[_Box]) -> tuple[Side, float]:
    """Where a line that begins with `text` stays when it is not as wide as it was thought, and how wide it may be."""
    around = [box for box in boxes if box.left <= left < box.right and box.top < text.y <= box.bottom]
    around = [box for box in around if right <= box.right + _ADJACENT]
    if not around:
        return _SIDES[text.anchor], right - left
    box = min(around, key=lambda each: (each.right - each.left) * (each.bottom - each.top))
    before, after = left - box.left, max(0.0, box.right - right)
    if text.anchor == "middle" or (box.is_round and abs(before - after) <= _PADDING):
        return "c", max(right - left, box.right - box.left - 2 * _EDGE)
    outer = max(around, key=lambda each: (each.right - each.left) * (each.bottom - each.top))
    is_number = text.look == "s" and (before > after + 1.5 or box.left > outer.left + 2 * BAR)
    if after <= _PADDING and is_number:
        return "r", max(right - left, right - box.left - _EDGE)
    return "l", max(right - left, box.right - left - _EDGE)


_SIDES: dict[str, Side] = {"start": "l", "middle": "c", "end": "r"}
