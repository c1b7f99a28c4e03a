"""Pictures of models in a Markdown file: a comment says of what, and the picture below it is kept fresh.

    <!-- modgraph: model.py:Net --depth 1 -->
    <picture> ... </picture>
    <!-- /modgraph 3f9c01d2a7be -->

Whether a picture is fresh is told by what is drawn, in the closing comment, and not by the bytes of the image: these
differ from one version of Graphviz to another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from urllib.parse import quote

from modgraph.doors.printing import clean, control_in
from modgraph.doors.reading import SOURCE_BYTES, lies_in, read, real_path
from modgraph.errors import ConfigError, ModgraphError
from modgraph.export.files import file_stem, write_file
from modgraph.export.formats import render
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Picture
from modgraph.export.picture.choosing import picture_of
from modgraph.export.picture.dot import write_dot
from modgraph.graph.model import Graph
from modgraph.options import Look

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})")
_OPENING = re.compile(r" {0,3}<!--\s*modgraph:\s*(?P<words>.*?)\s*-->\s*")
_CLOSING = re.compile(r" {0,3}<!--\s*/modgraph(?:\s+(?P<mark>[0-9a-f]+)(?P<run>\s+of a run)?)?\s*-->\s*")
_MARK_LENGTH = 12
_STYLES: tuple[Look, Look] = ("screen", "dark")
_FOLDER = "images"
"""Beside the file, where the comment names no image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A picture that a file asks for."""

    line: int
    """1-based; of its comment."""
    end: int
    """The line behind what is there of it already."""
    words: str
    """What the comment says."""
    mark: str | None = None
    """Of what was drawn when it was written last."""
    of_run: bool = False
    """The model was run for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a comment asks for."""

    target: str
    inputs: tuple[str, ...]
    options: PictureOptions
    image: Path | None
    """Relative to the folder of the file; None for one named by the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """What became of one picture."""

    line: int
    target: str
    fresh: bool = False
    """It was drawn already as it would be now."""
    passed_over: bool = False
    """It was drawn of a run, and now nothing is run: it stays as it is."""
    images: tuple[Path, ...] = ()
    lines: tuple[str, ...] = ()
    """What is to stand below its comment; () where that stays."""
    error: ModgraphError | None = None


def places_in(text: str) -> tuple[Place, ...]:
    """The pictures that a Markdown text asks for; comments in code are none."""
    places: list[Place] = []
    fence: str | None = None
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        found = _FENCE.match(line)
        if fence is not None:
            closes = found is not None and found["fence"].startswith(fence) and not line[found.end() :].strip()
            fence = None if closes else fence
        elif found is not None:
            fence = found["fence"]
        elif (opening := _OPENING.fullmatch(line)) is not None:
            places.append(Place(line=number, end=number, words=opening["words"]))
        elif (closing := _CLOSING.fullmatch(line)) is not None and places and places[-1].end == places[-1].line:
            mark, of_run = closing["mark"] or "", closing["run"] is not None
            places[-1] = replace(places[-1], end=number, mark=mark, of_run=of_run)
    return tuple(places)


def embed(
    file: Path,
    wish_of: Callable[[str], Wish],
    graph_of: Callable[[Wish, Path], Graph],
    *,
    only_look: bool = False,
    runs: bool = False,
) -> tuple[Embedded, ...]:
    """Draw what `file` asks for, and write what there is to show into it.

    A picture that fails keeps no other from being drawn, and stays as it was.

    Args:
        wish_of: what the words of a comment ask for; a ModgraphError that it raises is told of at the comment.
        graph_of: the graph of what is wished for; targets are seen from the folder, which is that of `file`.
        only_look: nothing is written.
        runs: these are graphs of runs. Without, pictures that were drawn of a run are left as they are.

    Returns:
        What became of each picture, with the line of its comment in the file as it is then.

    Raises:
        ConfigError: the file cannot be read, or asks for nothing.
        ExportError: it cannot be written.
    """
    text = _text(file)
    places = places_in(text)
    if not places:
        raise ConfigError(
            f"{file} asks for no picture", hint="write <!-- modgraph: model.py:Net --> on a line of its own, and again"
        )
    page = _Page(file, wish_of, graph_of, only_look=only_look, runs=runs)
    results = [page.tried(place) for place in places]
    ending = "\r" if "\r\n" in text else ""
    lines = text.split("\n")
    for place, result in zip(reversed(places), reversed(results), strict=True):
        if result.lines:
            lines[place.line : place.end] = [line + ending for line in result.lines]
    written = "\n".join(lines)
    if written != text and not only_look:
        write_file(file, written)
    return tuple(_moved(file, places, results))


def _moved(file: Path, places: Sequence[Place], results: Sequence[Embedded]) -> Iterator[Embedded]:
    """The results with the lines that their comments have when what stands above them is written."""
    more = 0
    for place, result in zip(places, results, strict=True):
        if result.error is not None and (result.error.file, result.error.line) == (str(file), place.line):
            result.error.line = place.line + more
        yield replace(result, line=place.line + more)
        more += len(result.lines) - (place.end - place.line) if result.lines else 0


class _Page:
    """One file whose pictures are drawn."""

    def __init__(
        self,
        file: Path,
        wish_of: Callable[[str], Wish],
        graph_of: Callable[[Wish, Path], Graph],
        *,
        only_look: bool,
        runs: bool,
    ) -> None:
        self.file = file
        self.folder = file.parent
        self.border = _border(file)
        self.wish_of = wish_of
        self.graph_of = graph_of
        self.only_look = only_look
        self.runs = runs
        self.taken: dict[Path, int] = {}
        """The line of the comment that an image is of."""

    def tried(self, place: Place) -> Embedded:
        try:
            return self._one(place)
        except ModgraphError as error:
            if error.line is None:
                error.file, error.line = str(self.file), place.line
            return Embedded(line=place.line, target=place.words, error=error)

    def _one(self, place: Place) -> Embedded:
        wish = self.wish_of(place.words)
        if place.of_run and not self.runs:
            return Embedded(line=place.line, target=wish.target, passed_over=True)
        graph = self.graph_of(wish, self.folder)
        images = self._images(wish, graph)
        other = self.taken.setdefault(images[0], place.line)
        if other != place.line:
            raise ConfigError(f"{images[0]} is the image of line {other} already", hint="name another: -o NAME.svg")
        picture = picture_of(graph, wish.options)
        shown = _shown(picture, images)
        mark = _mark(write_dot(picture), shown)
        fresh = (mark, self.runs) == (place.mark, place.of_run) and all(
            (self.folder / image).is_file() for image in images
        )
        result = Embedded(line=place.line, target=wish.target, fresh=fresh, images=images)
        if fresh or self.only_look:
            return result
        for image, style in zip(images, _STYLES, strict=True):
            drawn = render(graph, "svg", replace(wish.options, style=style))
            write_file(self._place(image), drawn, below=self.border)
        return replace(result, lines=(*shown, f"<!-- /modgraph {mark}{' of a run' if self.runs else ''} -->"))

    def _images(self, wish: Wish, graph: Graph) -> tuple[Path, Path]:
        """For a light ground, and for a dark one; relative to the folder of the file.

        Raises:
            ConfigError: the comment names what is no SVG, or lies elsewhere.
        """
        image = wish.image if wish.image is not None else Path(_FOLDER) / f"{file_stem(graph.model.name)}.svg"
        if image.suffix != ".svg" or image.is_absolute() or control_in(str(image)) is not None:
            raise ConfigError(
                f"the image of {wish.target} cannot be {image}",
                hint="it is a path that ends in .svg, seen from the file",
            )
        if not lies_in(str(self._place(image)), str(self.border)):
            raise ConfigError(f"the image of {wish.target} would lie outside of {self.border}: {image}")
        return image, image.with_name(f"{image.stem}-dark.svg")

    def _place(self, image: Path) -> Path:
        """Where an image lies, with no link on the way to it."""
        place = self.folder / image
        return Path(real_path(place.parent)) / place.name


def _text(file: Path) -> str:
    try:
        return read(file, SOURCE_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise ConfigError(f"cannot read {file}: {why}") from None


def _border(file: Path) -> Path:
    """The folder beyond which no image is written: the one in which the user stands, where the file is below it."""
    folder, here = real_path(file.parent), real_path(Path.cwd())
    return Path(here if lies_in(folder, here) else folder)


def _mark(drawn: str, shown: Sequence[str]) -> str:
    """Of what is drawn and how it is shown."""
    said = "\n".join((drawn, *shown))
    return hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()[:_MARK_LENGTH]


def _shown(picture: Picture, images: Sequence[Path]) -> list[str]:
    """The lines of HTML that show it, as forges and site builders have it in Markdown."""
    light, dark = (quote(image.as_posix()) for image in images)
    return [
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{dark}">',
        f'  <img alt="{escape(clean(f"{picture.name}: {picture.subtitle}"))}" src="{light}">',
        "</picture>",
    ]
