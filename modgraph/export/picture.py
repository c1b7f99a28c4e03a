"""Graph -> `Picture`: what is shown, at what depth, folded how. The writers turn it into text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from modgraph.errors import ExportError
from modgraph.export.composition import Style, compose
from modgraph.export.costs import MEASURES, Costs, Measure
from modgraph.export.extent import length_of
from modgraph.export.folding import Cut, arrange, deepest_level
from modgraph.export.parts import Card, Frame, Item, Mark, Picture
from modgraph.graph.focus import focus_on
from modgraph.graph.loops import fold_loops
from modgraph.graph.model import Graph
from modgraph.graph.occurrences import Run
from modgraph.graph.repeats import Likeness

MOST_CARDS = 150
MOST_EDGES = 300
LONGEST = {"TB": 3_000, "LR": 6_000}
"""Points along the way of the data: some three screens, or four pages."""
MOST_LEVELS = 24
"""Frames in frames; the innermost would be a few points wide, and layout engines recurse."""
MOST_ROWS = 8 * MOST_CARDS
"""More cannot stand on so many cards."""
FEWER = (100, 50, 25, 12, 6, 4)
"""Where even closed containers are too many: how many things side by side are shown, the middle being one row."""
FEW_CARDS = 15
"""A picture with so few shows everything: nothing is won by opening like containers only once."""


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


def is_readable(picture: Picture) -> bool:
    """At most 150 cards and 300 arrows, and not too long."""
    drawn = [arrow for arrow in picture.arrows if arrow.kind != "order"]
    few = count_cards(picture.items) <= MOST_CARDS and len(drawn) <= MOST_EDGES
    return few and length_of(picture) <= LONGEST[picture.direction]


def picture_of(
    graph: Graph,
    options: PictureOptions | None = None,
    *,
    deepest: int = MOST_LEVELS,
    most: int | None = None,
    is_readable: Callable[[Picture], bool] = is_readable,
) -> Picture:
    """What is shown of `graph`, as deep as it stays readable, unless `options.depth` says how deep to go.

    Args:
        deepest: levels of containers that are opened at most.
        most: so many things side by side at most; None for as many as are readable.
        is_readable: whether a picture is small enough for the medium.
    """
    options = options or PictureOptions()
    run = Run(graph, views=options.views, said=options.said)
    focus = focus_on(run, options.focus) if options.focus else None
    how = Style(direction=options.direction, focus=focus, costs=_costs(run, options.color))
    top = -1 if focus else 0
    likeness = fold_loops(run) if options.fold else Likeness(run)
    levels = deepest_level(run, top)
    depth = min(levels, MOST_LEVELS, deepest)
    if options.depth is not None:
        depth = min(max(options.depth, 0), depth)
        cut = Cut(depth=depth, fold=options.fold, like_once=False, top=top)
        return compose(run, likeness, cut, levels, how)
    if most is not None:
        cut = Cut(depth=depth, fold=options.fold, like_once=options.fold, most=most, top=top)
        return compose(run, likeness, cut, levels, how)
    picture: Picture | None = None
    for cut in _cuts(run, depth, options.fold, top):
        if len(arrange(run, likeness, cut).units) > MOST_ROWS:
            continue
        picture = compose(run, likeness, cut, levels, how)
        plain = not cut.like_once and cut.most is None and options.fold
        if is_readable(picture) and (not plain or count_cards(picture.items) <= FEW_CARDS):
            return picture
    return picture or compose(run, likeness, cut, levels, how)


def _costs(run: Run, color: Measure) -> Costs | None:
    return None if color == "kind" else Costs(run, color)


def _cuts(run: Run, depth: int, fold: bool, top: int) -> Iterator[Cut]:
    """What to try, from everything to next to nothing."""
    if fold and len(run.leaves) <= MOST_CARDS:
        yield Cut(depth=depth, fold=fold, like_once=False, top=top)
    for level in range(depth, -1, -1):
        yield Cut(depth=level, fold=fold, like_once=fold, top=top)
    for most in FEWER:
        yield Cut(depth=0, fold=fold, like_once=fold, most=most, top=top)


def count_cards(items: tuple[Item, ...]) -> int:
    """Number of cards in `items`, those in frames included."""
    total = 0
    pending = list(items)
    while pending:
        item = pending.pop()
        if isinstance(item, Frame):
            pending.extend(item.items)
        elif isinstance(item, Card):
            total += 1
    return total
