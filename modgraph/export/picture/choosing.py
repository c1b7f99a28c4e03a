"""Graph -> `Picture`: what is shown, at what depth, folded how. The writers turn it into text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from modgraph.export.look.folding import Cut, arrange, deepest_level
from modgraph.export.look.options import Measure, PictureOptions
from modgraph.export.look.parts import Card, Frame, Item, Picture
from modgraph.export.picture.composition import Style, compose
from modgraph.export.picture.costs import Costs
from modgraph.export.picture.extent import length_of
from modgraph.graph.assumed import as_assumed
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
    run = Run(as_assumed(graph), views=options.views, said=options.said)
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
