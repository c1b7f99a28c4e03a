"""Graph -> `Picture`: what is shown, at what depth, folded how. The writers turn it into text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from modgraph.export.composition import compose
from modgraph.export.folding import Cut, deepest_level
from modgraph.export.parts import Card, Frame, Item, Picture
from modgraph.graph.model import Graph
from modgraph.graph.occurrences import Run
from modgraph.graph.repeats import Likeness

MOST_CARDS = 150
MOST_EDGES = 300
MOST_LEVELS = 24
"""Frames in frames; the innermost would be a few points wide, and layout engines recurse."""
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


def picture_of(graph: Graph, options: PictureOptions | None = None) -> Picture:
    """What is shown of `graph`: at most 150 cards and 300 arrows, unless `options.depth` says how deep to go."""
    options = options or PictureOptions()
    run = Run(graph, views=options.views)
    likeness = Likeness(run)
    levels = deepest_level(run)
    cut = Cut(depth=min(levels, MOST_LEVELS), fold=options.fold, like_once=options.fold and options.depth is None)
    if options.depth is not None:
        cut = replace(cut, depth=min(max(options.depth, 0), cut.depth))
        return compose(run, likeness, cut, levels, options.direction)
    if len(run.leaves) <= MOST_CARDS:
        picture = compose(run, likeness, replace(cut, like_once=False), levels, options.direction)
        if count_cards(picture.items) <= FEW_CARDS and _is_readable(picture):
            return picture
    picture = compose(run, likeness, cut, levels, options.direction)
    while cut.depth > 0 and not _is_readable(picture):
        cut = replace(cut, depth=cut.depth - 1)
        picture = compose(run, likeness, cut, levels, options.direction)
    return picture


def _is_readable(picture: Picture) -> bool:
    drawn = [arrow for arrow in picture.arrows if arrow.kind != "order"]
    return count_cards(picture.items) <= MOST_CARDS and len(drawn) <= MOST_EDGES


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
