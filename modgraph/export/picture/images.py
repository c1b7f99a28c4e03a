"""DOT -> SVG, PNG, PDF, by the newest Graphviz that is there: `dot` on the PATH, or the one inside pygraphviz.

Layout engines can run for hours or eat all memory on a graph that is too large, so both run in a child process under
limits. Where those are reached, the picture is drawn one level of containers coarser, and says so in its title. The
child is given fonts that come with modgraph, so that the text is the same on a machine that has none.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape

from modgraph.doors import reading, temporary, writing
from modgraph.doors.keeping import usable
from modgraph.doors.processes import running
from modgraph.doors.programs import find
from modgraph.errors import ExportError, ExportWarning, ResourceError
from modgraph.export.look.labels import cut_end
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Frame, Picture
from modgraph.export.look.style import DETAIL_SIZE, PAPER_SIZE
from modgraph.export.picture.choosing import NEARLY, count_rows, picture_of, pictures_of, room_of
from modgraph.export.picture.dot import write_dot
from modgraph.export.picture.placing import at_the_foot, crossed_titles, moved, moves_of
from modgraph.graph.model import Graph
from modgraph.source.cache_home import font_home, places

ImageFormat = Literal["svg", "png", "pdf"]

MOST_CROSSINGS = 8_000_000
"""Nodes times arrows of a picture that is laid out: what Graphviz takes grows with it, and is some ten seconds here.
What has more is drawn coarser at once, so that the picture is the same on a busy machine."""
TIME_LIMIT = 300.0
"""Seconds that one picture may take, tries of coarser ones included: a last resort."""
LATE = "Graphviz had no time for a finer picture; on a machine with less to do there may be one"
"""In the title, as the same graph may look otherwise then."""
FEWEST_STEPS = (12, 4)
"""Where not even the closed model can be laid out: so many things side by side."""
MEMORY_LIMIT = 2 * 1024**3
"""Bytes of data that the layout engine may allocate."""
MANY_NODES = 500
"""From here on the engine's network simplex is bounded: without that, some graphs never end."""
DPI = 110
FIRST_WORD = 20.0
"""Seconds in which a Graphviz has to say which one it is."""
OLD = (3,)
"""Versions before it place text and arrows less well."""
FIGURE_DPI = 300
"""Of a figure that is printed."""
LONGEST_SIDE = 16_000
"""Pixels of a PNG; longer ones are opened by few programs."""

MOST_TOLD = 3
"""So often a picture is laid out anew, as the line that tells of shapes without room may move others."""
MOST_SMALLER = 8
"""Pictures of less that are tried where one is larger than was thought."""
MUCH_LESS = 0.67
"""Of the rows of one picture: so few are not worth the last points of width."""
AS_PLACED = "-Knop2"
"""Of Graphviz: everything stands where the text says."""

LONGEST_REASON = 400
"""Characters of Graphviz's own words in an error."""

FONTS = Path(__file__).parents[1] / "look" / "fonts"


class RendererMissingError(ExportError):
    """There is no Graphviz on this machine."""


class LayoutLimitError(ExportError):
    """The layout engine reached its time or memory limit."""


class LayoutTimeError(LayoutLimitError):
    """It was the time on the clock, so that a machine with less to do may draw more."""


def render(graph: Graph, options: PictureOptions | None = None, format: ImageFormat = "svg") -> bytes:
    """`graph` as an image; where it cannot be laid out in time, with fewer containers open.

    Raises:
        RendererMissingError: there is no Graphviz.
        ExportError: Graphviz failed, or not even the closed model could be laid out.
    """
    options = options or PictureOptions()
    engine = find_engine()
    end = time.monotonic() + TIME_LIMIT
    last: LayoutLimitError | None = None
    late = False
    pictures = pictures_of(graph, options)
    for picture in _coarser(graph, options, next(pictures)):
        # Half of the time that is left, so that there is some for a coarser picture.
        seconds = max((end - time.monotonic()) / 2, TIME_LIMIT / 10)
        nodes, arrows = count_nodes(picture), len(picture.arrows)
        if nodes * arrows > MOST_CROSSINGS:
            last = LayoutLimitError(f"Graphviz would take too long for {nodes} nodes and {arrows} arrows")
            continue
        try:
            many = nodes > MANY_NODES or last is not None
            told = replace(picture, notes=(*picture.notes, LATE)) if late else picture
            laid = _with_left_out(told, engine=engine, many=many, seconds=seconds)
            if last is None:
                laid = _smaller(pictures, options, (told, laid), engine, end)
            _tell_of_old(drawn_by(laid.svg))
            if options.is_paper:
                laid = replace(laid, paper=picture.paper)
                _tell_of_small_text(laid.scale * DETAIL_SIZE)
            return laid.image(format)
        except LayoutLimitError as error:
            last, late = error, late or isinstance(error, LayoutTimeError)
    assert last is not None
    raise last


def _with_left_out(picture: Picture, *, engine: Engine, seconds: float, many: bool = False) -> Layout:
    """`picture` laid out; where there is no room for shapes, its title says for how many."""
    laid, told = lay_out(write_dot(picture), engine=engine, many=many, seconds=seconds), 0
    for _ in range(MOST_TOLD):
        if laid.left_out == told:
            break
        told = laid.left_out
        words = "1 label has" if told == 1 else f"{told} labels have"
        # An empty line leaves everything where there was room for all.
        note = f"{words} no room beside the arrow (in the SVG: its tooltip)" if told else "\u00a0"
        noted = replace(picture, notes=(*picture.notes, note))
        laid = lay_out(write_dot(noted), engine=engine, many=many, seconds=seconds)
    return laid


def _smaller(
    pictures: Iterator[Picture], options: PictureOptions, first: tuple[Picture, Layout], engine: Engine, end: float
) -> Layout:
    """The first picture, or one of less that fits on a page as it was thought to: how large one is, is known now.

    One that is a little too large stays where the one that fits shows much less.
    """
    if options.said is not None or _excess(first[1], options) <= 1:
        return first[1]
    found = [first]
    for picture in itertools.islice(pictures, MOST_SMALLER):
        if time.monotonic() > end:
            break
        laid = _with_left_out(picture, engine=engine, seconds=max((end - time.monotonic()) / 2, 1))
        found.append((picture, laid))
        if _excess(laid, options) <= 1:
            break
    least, best = min(found, key=lambda each: _excess(each[1], options))
    if not options.is_paper:
        rows = count_rows(least.items) / MUCH_LESS
        fuller = (laid for each, laid in found if _excess(laid, options) <= NEARLY and count_rows(each.items) > rows)
        best = next(fuller, best)
    return best


@cache
def _tell_of_old(version: tuple[int, ...]) -> None:
    """Once for a process."""
    if () < version < OLD:
        warnings.warn(
            f"drawn by Graphviz {'.'.join(map(str, version))}, which is old: "
            'pip install "modgraph[render]" brings one that places text and arrows better',
            ExportWarning,
            stacklevel=2,
        )


def _tell_of_small_text(points: float) -> None:
    if points < PAPER_SIZE - 0.05:
        warnings.warn(
            f"the smallest text of this figure has {points:.1f} pt, not {PAPER_SIZE}: "
            "a wider --width, a smaller --depth or one module (--focus) leaves it more room",
            ExportWarning,
            stacklevel=2,
        )


def _excess(laid: Layout, options: PictureOptions) -> float:
    """How many times too large a picture is; 1 where it fits."""
    room = room_of(options)
    try:
        width, height = laid.size
    except ExportError:  # there is none: drawn by what only passes for Graphviz
        return 1.0
    return max(1.0, width / room.width, height / room.height)


def _coarser(graph: Graph, options: PictureOptions, picture: Picture) -> Iterator[Picture]:
    """The picture that is wanted, and others with less and less in them, down to a few closed containers."""
    yield picture
    deepest = picture.depth if options.depth is not None else picture.depth - 1
    options = replace(options, depth=None)
    while deepest >= 0:
        picture = picture_of(graph, options, deepest=deepest)
        yield picture
        # Two levels at once: there is time for a few tries only.
        deepest = picture.depth - (2 if picture.depth > 2 else 1)
    for most in FEWEST_STEPS:
        yield picture_of(graph, options, deepest=0, most=most)


def draw(
    text: str,
    format: ImageFormat,
    *,
    engine: Engine | None = None,
    many: bool = False,
    seconds: float | None = None,
) -> bytes:
    """The DOT text as an image; the same text gives the same bytes with one Graphviz.

    Args:
        engine: by default the one that is found.
        many: bound the engine's search, which some graphs never end.
        seconds: how long it may take; by default `TIME_LIMIT`.

    Raises:
        RendererMissingError: there is no Graphviz.
        LayoutLimitError: it took longer than `TIME_LIMIT`, or more than `MEMORY_LIMIT`.
        ExportError: Graphviz refused the text.
    """
    engine = engine or find_engine()
    seconds = TIME_LIMIT if seconds is None else seconds
    return lay_out(text, engine=engine, many=many, seconds=seconds).image(format)


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture whose parts have their places."""

    text: str
    """As DOT."""
    svg: bytes
    engine: Engine
    options: tuple[str, ...]
    """With which Graphviz draws the text."""
    seconds: float

    left_out: int = 0
    """Shapes for which there is no room beside their arrows."""
    paper: tuple[float, float] | None = None
    """Points that a figure may be wide and high."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in points, at full size."""
        return svg_size(self.svg)

    @property
    def scale(self) -> float:
        """How many times smaller a figure is printed, so that it is no larger than it may be; else 1."""
        if self.paper is None:
            return 1.0
        (width, height), (most_width, most_height) = self.size, self.paper
        return min(1.0, most_width / width, most_height / height)

    def image(self, format: ImageFormat) -> bytes:
        """It as an image."""
        if format == "svg":
            return tidy_svg(self.svg if self.paper is None else shrunk(self.svg, self.scale))
        if format == "pdf":
            fitted: list[str] = []
            if self.paper is not None:
                sides = ",".join(f"{side / 72:.4f}" for side in self.paper)
                fitted = ["-Gmargin=0", f"-Gsize={sides}"]
            return undated_pdf(self._drawn("pdf", *fitted))
        image = self._drawn("png", f"-Gdpi={DPI if self.paper is None else FIGURE_DPI * self.scale:.6g}")
        if max(png_size(image)) <= LONGEST_SIDE:
            return image
        dpi = 72 * LONGEST_SIDE / max(self.size) * 0.998
        return self._drawn("png", f"-Gdpi={dpi:.3f}")

    def _drawn(self, format: str, *more: str) -> bytes:
        return _run(self.engine, self.text, format, [*self.options, *more], self.seconds)


def lay_out(text: str, *, engine: Engine | None = None, many: bool = False, seconds: float | None = None) -> Layout:
    """The DOT text with a place for everything, no text of it on an edge, a card or another text.

    Raises:
        LayoutLimitError: it took longer than `TIME_LIMIT`, or more than `MEMORY_LIMIT`.
        ExportError: Graphviz refused the text.
    """
    engine = engine or find_engine()
    seconds = TIME_LIMIT if seconds is None else seconds
    options = ["-Gnslimit=2", "-Gnslimit1=2"] if many else []
    laid = _placed(text, engine, options, seconds)
    crossed = crossed_titles(laid.svg)
    if not crossed:
        return laid
    other = _placed(at_the_foot(text, crossed), engine, options, seconds)
    return other if len(crossed_titles(other.svg)) < len(crossed) else laid


def _placed(text: str, engine: Engine, options: list[str], seconds: float) -> Layout:
    """The DOT text laid out, and then each text moved off what it lies on, where there is a place for it."""
    svg = _run(engine, text, "svg", options, seconds)
    moves = moves_of(svg)
    if moves:
        text = moved(_run(engine, text, "dot", options, seconds).decode("utf-8"), moves)
        options = [AS_PLACED]
        svg = _run(engine, text, "svg", options, seconds)
    return Layout(text, svg, engine, tuple(options), seconds, sum(move is None for move in moves.values()))


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to run Graphviz; `dot` is its program, or None for the library inside pygraphviz."""

    dot: str | None


def find_engine() -> Engine:
    """The Graphviz of this machine: `MODGRAPH_DOT`, else the newer of `dot` on the PATH and what is inside pygraphviz.

    Raises:
        RendererMissingError: there is none.
    """
    named = os.environ.get("MODGRAPH_DOT")
    if named:
        found = shutil.which(named)
        if found is None:
            raise RendererMissingError(f"MODGRAPH_DOT names {named!r}, which is no program that can be run")
        return Engine(found)
    program = find("dot")
    held = importlib.util.find_spec("pygraphviz") is not None
    if program is not None:
        ours, theirs = Engine(program), Engine(None)
        newer = held and () < version_of(ours) < version_of(theirs)
        return theirs if newer else ours
    if held:
        return Engine(None)
    raise RendererMissingError("no Graphviz found", hint='pip install "modgraph[render]"')


@cache
def version_of(engine: Engine) -> tuple[int, ...]:
    """(14, 1, 2); () of one that does not say it. Asked once for a process."""
    try:
        return drawn_by(_run(engine, "digraph { a }", "svg", [], FIRST_WORD))
    except ExportError:
        return ()


def drawn_by(svg: bytes) -> tuple[int, ...]:
    """The version of Graphviz that an SVG names, which is not tidied yet."""
    found = _VERSION.search(svg)
    return tuple(map(int, found[1].split(b"."))) if found is not None else ()


_VERSION = re.compile(rb"Generated by graphviz version (\d+(?:\.\d+)*)")


def count_nodes(picture: Picture) -> int:
    """Nodes that the layout engine has to place."""
    total = 0
    pending = list(picture.items)
    while pending:
        item = pending.pop()
        if isinstance(item, Frame):
            pending.extend(item.items)
        else:
            total += 1
    return total


_CHILD = """
import os, sys
format, program, limit, options = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
os.dup2(os.open("graph.dot", os.O_RDONLY | getattr(os, "O_BINARY", 0)), 0)
os.dup2(os.open("image", os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), 1)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
if program and os.name == "nt":
    import subprocess
    sys.exit(subprocess.call([program, "-T" + format, *options]))
if program:
    os.execv(program, [program, "-T" + format, *options])
import pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode("utf-8"))
places = [option for option in options if option.startswith("-K")]
image = graph.draw(format=format, prog=places[0][2:] if places else "dot", args=" ".join(options[len(places):]))
sys.stdout.buffer.write(image)
"""
"""Limits itself, then becomes `dot` or draws with pygraphviz. Windows has no `resource`: there only the time counts."""


def _run(engine: Engine, text: str, format: str, options: list[str], seconds: float) -> bytes:
    command = [sys.executable, "-c", _CHILD, format, engine.dot or "", str(MEMORY_LIMIT), *options]
    try:
        with temporary.folder() as folder:
            writing.put(folder / "graph.dot", text.encode("utf-8"), below=folder)
            with running(command, env=_environment(folder), cwd=folder) as process:
                in_time = process.ended_within(seconds)
            if not in_time:
                raise LayoutTimeError(f"Graphviz did not finish the {format.upper()} in {seconds:.3g} s")
            drawn = _drawn(folder / "image")
    except ResourceError as error:
        raise ExportError(f"Graphviz could not be started: {error.message}", hint=error.hint) from error
    except OSError as error:
        raise ExportError(f"Graphviz could not be started: {error.strerror}") from error
    if process.status == 0 and drawn:
        return drawn
    said = process.output.strip()
    if (process.status or 0) < 0 or "memory" in said.lower() or "MemoryError" in said:
        raise LayoutLimitError(f"Graphviz ran out of memory or crashed while drawing the {format.upper()}")
    raise ExportError(f"Graphviz could not draw the {format.upper()}: {_reason(said)}")


def _drawn(image: Path) -> bytes:
    try:
        return reading.read(image, reading.OWN_BYTES)
    except FileNotFoundError:
        return b""


def _reason(said: str) -> str:
    """What Graphviz said of its failure: its errors, else all; it warns before and after."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and "ontconfig" not in line]
    errors = [line for line in lines if "error" in line.lower()] or lines
    return cut_end("; ".join(dict.fromkeys(errors)), LONGEST_REASON) or "no reason given"


def _environment(folder: Path) -> dict[str, str]:
    """The child's: fonts of ours, no time zone or server mode that would change the output."""
    environment = {key: value for key, value in os.environ.items() if key not in ("SERVER_NAME", "GV_FILE_PATH")}
    configuration = folder / "fonts.conf"
    writing.put(configuration, font_configuration(_font_cache(folder)).encode("utf-8"), below=folder)
    environment["FONTCONFIG_FILE"] = str(configuration)
    environment["TZ"] = "UTC"
    return environment


_FONT_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "WINDOWSFONTDIR",
)
_FACES = {"Arial": ("Modgraph Sans", "Modgraph Marks"), "Courier New": ("Modgraph Mono", "Modgraph Marks")}


def _font_cache(folder: Path) -> Path:
    """Where modgraph's faces lie for fontconfig, which writes into font folders, so not in the package itself.

    The user's cache, so that the system's fonts are read only once; `folder` where there is none, or where what lies in
    it may have come with what is analysed: fontconfig reads, and writes, whatever is there.
    """
    caches = [Path(each.folder) for each in places(font_home()) if not each.is_foreign and usable(each)]
    return next((cache for cache in (*caches, folder) if _holds_fonts(cache)), FONTS.parent)


def _own_fonts() -> list[str]:
    """Folders of the user's, as far as nothing in them came with what is analysed."""
    data = os.environ.get("XDG_DATA_HOME", "")
    found = [os.path.join(data if os.path.isabs(data) else os.path.expanduser("~/.local/share"), "fonts")]
    found.append(os.path.expanduser("~/.fonts"))
    return [each for each in found if not any(one._replace(folder=each).is_foreign for one in places(None))]


def _holds_fonts(cache: Path) -> bool:
    """Puts the faces there; False where that cannot be written."""
    try:
        for face in sorted(FONTS.glob("*.ttf")):
            _put_once(face, cache)
    except OSError:
        return False
    return True


def _put_once(source: Path, cache: Path) -> None:
    """Copies a file unless it is there; whole or not at all, as other processes may do the same."""
    content, target = source.read_bytes(), cache / "fonts" / source.name
    try:
        there = None if target.is_symlink() else reading.read(target, len(content))
    except OSError:
        there = None
    if there != content:
        writing.put(target, content, below=cache)


def font_configuration(cache: Path) -> str:
    """A fontconfig file: the faces in `cache` for Arial and Courier New, the system's for scripts they do not have."""
    folders = "\n".join(
        f"  <dir>{escape(folder)}</dir>" for folder in (str(cache / "fonts"), *_FONT_FOLDERS, *_own_fonts())
    )
    rules = []
    for family, faces in _FACES.items():
        names = "".join(f"<string>{face}</string>" for face in faces)
        rules.append(
            f'  <match target="pattern"><test name="family" qual="any"><string>{family}</string></test>'
            f'<edit name="family" mode="assign" binding="strong">{names}</edit></match>'
        )
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">\n<fontconfig>\n'
        f"{folders}\n  <cachedir>{escape(str(cache / 'fontconfig'))}</cachedir>\n"
        + "\n".join(rules)
        + "\n</fontconfig>\n"
    )


_COMMENT = re.compile(rb"<!--.*?-->\n?", re.DOTALL)
_FAMILIES = (
    (b'font-family="Arial"', b"font-family=\"Arial, 'Liberation Sans', Helvetica, sans-serif\""),
    (b'font-family="Courier New"', b"font-family=\"'Courier New', 'Liberation Mono', monospace\""),
)


def tidy_svg(svg: bytes) -> bytes:
    """`svg` without Graphviz's comments (one holds its version), its fonts followed by what may stand in for them."""
    svg = _COMMENT.sub(b"", svg)
    for family, families in _FAMILIES:
        svg = svg.replace(family, families)
    return _bars_in_front(svg)


_FRAME_LABEL = re.compile(
    rb'(<g id="[^"\n]*" class="cluster">\n<title>[^\n]*\n(?:<g id="a_[^\n]*\n)?'
    rb"<(?:polygon|path) [^\n]*\n(?:<text [^\n]*\n)*?)"
    rb"((?:<polygon [^\n]*\n(?:<text [^\n]*\n)+)+)"
)
"""A frame with its first lines of text, and the bars in its label that say what became of it."""


def _bars_in_front(svg: bytes) -> bytes:
    """With what stands on a coloured bar at the head of a frame drawn last: an arrow into the frame went through it."""
    bars: list[bytes] = []

    def taken(found: re.Match[bytes]) -> bytes:
        bars.append(found[2])
        return found[1]

    svg = _FRAME_LABEL.sub(taken, svg)
    end = svg.rfind(b"</g>\n</svg>")
    return svg if not bars or end < 0 else svg[:end] + b"".join(bars) + svg[end:]


def shrunk(svg: bytes, scale: float) -> bytes:
    """`svg` at another size; what is in it keeps its numbers."""
    width, height = (side * scale for side in svg_size(svg))
    return _SIZE.sub(f'<svg width="{width:.2f}pt" height="{height:.2f}pt"'.encode(), svg, count=1)


_DATE = re.compile(rb"(/CreationDate \(D:)(\d{14})")


def undated_pdf(pdf: bytes) -> bytes:
    """`pdf` with its date of creation overwritten by one of the same length."""
    return _DATE.sub(rb"\g<1>20000101000000", pdf)


def png_size(png: bytes) -> tuple[int, int]:
    """Width and height in pixels. Source: PNG specification, chunk IHDR."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


_SIZE = re.compile(rb'<svg width="([\d.]+)pt" height="([\d.]+)pt"')


def svg_size(svg: bytes) -> tuple[float, float]:
    """Width and height in points, as Graphviz writes them."""
    found = _SIZE.search(svg)
    if found is None:
        raise ExportError("Graphviz wrote an SVG without a size")
    return float(found[1]), float(found[2])
