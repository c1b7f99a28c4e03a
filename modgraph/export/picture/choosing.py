"""Graph -> `Picture`: what is shown, at what depth, folded how. The writers turn it into text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from modgraph.export.look.aliases import take_aliases_in
from modgraph.export.look.folding import Cut, Unit, arrange, deepest_level
from modgraph.export.look.idioms import name_idioms
from modgraph.export.look.lent_weights import take_lenders_in
from modgraph.export.look.options import PAGE_HEIGHT, PAGE_WIDTH, PictureOptions
from modgraph.export.look.parts import Card, Frame, Item, Picture
from modgraph.export.look.style import DETAIL_SIZE, FIGURE_SCALE
from modgraph.export.picture.composition import Style, compose
from modgraph.export.picture.costs import Costs
from modgraph.export.picture.extent import across_of, length_of
from modgraph.export.picture.idle import leave_out_idle
from modgraph.export.picture.own_tensors import leave_out_own_tensors
from modgraph.graph.assumed import as_assumed
from modgraph.graph.focus import focus_on
from modgraph.graph.model import Graph
from modgraph.graph.occurrences import Occurrence, Run
from modgraph.graph.repeats import Likeness
from modgraph.graph.shared import fold
from modgraph.options import Measure

MOST_CARDS = 150
MOST_EDGES = 300
LONGEST = {"TB": 3_000, "LR": 3_000}
"""Points along the way of the data: some three screens, or four pages."""
READABLE = 6.0
"""Points that the smallest text has at least where a picture is as wide as the text of a page."""
NEARLY = 1.05
"""So many times too large is tried: sizes are estimated."""
FEWEST_ROWS = 4
"""A picture with fewer shows too little to be chosen because it is small."""
ON_PAGE = 1_300
"""Points of height up to which further containers are opened."""
MOST_OPENED = 16
"""So many are tried."""
MOST_LEAVES = 1_500
"""Steps of a run: each try composes a picture of them."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Points that a picture may take."""

    width: float
    height: float = LONGEST["TB"]

    def excess(self, picture: Picture) -> float:
        """How many times too large a picture will be; 1 and less where it fits."""
        along, across = length_of(picture), across_of(picture)
        width, height = (along, across) if picture.direction == "LR" else (across, along)
        return max(width / self.width, height / self.height)


def room_of(options: PictureOptions) -> Room:
    """What there is for a picture, so that its text can be read on a page."""
    if options.is_paper:
        return Room(width=options.points * FIGURE_SCALE, height=PAGE_HEIGHT * FIGURE_SCALE)
    if options.direction == "LR":
        return Room(width=LONGEST["LR"])  # for a wide page, as it was asked for
    return Room(width=PAGE_WIDTH * DETAIL_SIZE / READABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What is done to save room, beside opening fewer containers; in `_SAVINGS`, what carries least first."""

    together: bool = False
    """What is alike and stands beside each other is one card; inputs, and outputs, of one kind are one pill."""
    narrow: bool = False
    """Rows are written in two lines."""
    turned: bool = False
    """It runs from left to right."""
    operations: bool = False
    """Operations that follow each other are one row."""
    joined: bool = False
    """Norms and activations stand in the row of the layer before them; closed containers in a row share a card."""
    bare: bool = False
    """Rows have neither path nor parameters."""


_SAVINGS = (
    Saving(),
    Saving(together=True),
    Saving(together=True, narrow=True),
    Saving(together=True, turned=True),
    Saving(together=True, narrow=True, operations=True),
    Saving(together=True, turned=True, operations=True),
)
_FIGURE_SAVINGS = (
    Saving(),
    Saving(together=True, joined=True),
    Saving(together=True, joined=True, narrow=True),
    Saving(together=True, joined=True, operations=True),
    Saving(together=True, joined=True, narrow=True, operations=True),
    Saving(together=True, joined=True, turned=True, operations=True),
    Saving(together=True, joined=True, bare=True, operations=True),
)
"""Of a figure."""


def picture_of(
    graph: Graph,
    options: PictureOptions | None = None,
    *,
    deepest: int = MOST_LEVELS,
    most: int | None = None,
    is_readable: Callable[[Picture], bool] | None = None,
) -> Picture:
    """What is shown of `graph`, as deep as it stays readable, unless `options.depth` says how deep to go.

    Args:
        deepest: levels of containers that are opened at most.
        most: so many things side by side at most; None for as many as are readable.
        is_readable: whether a picture is small enough for the medium, where that is no page.
    """
    options = options or PictureOptions()
    choice = _Choice(graph, options, is_readable)
    if most is not None:
        depth = min(choice.levels, MOST_LEVELS, deepest)
        return choice.made(Cut(depth=depth, fold=options.fold, like_once=options.fold, most=most, top=choice.top))
    return next(choice.pictures(deepest))


def pictures_of(graph: Graph, options: PictureOptions) -> Iterator[Picture]:
    """The picture that is wanted; then others, each with less in it or as narrow as it, that may be smaller."""
    return _Choice(graph, options, None).pictures(MOST_LEVELS)


class _Choice:
    """Of all pictures of a graph, the one with most in it that can be read."""

    def __init__(
        self,
        graph: Graph,
        options: PictureOptions,
        readable: Callable[[Picture], bool] | None,
    ) -> None:
        self.options = options
        self.run = run = Run(as_assumed(graph), views=options.views, said=options.said)
        if options.idioms:
            name_idioms(run)
        take_aliases_in(run)
        take_lenders_in(run)
        leave_out_own_tensors(run)
        if options.is_paper:
            leave_out_idle(run)
        focus = focus_on(run, options.focus) if options.focus else None
        paper = (options.points, PAGE_HEIGHT) if options.is_paper else None
        self.how = Style(
            direction=options.direction,
            focus=focus,
            costs=_costs(run, options.color),
            paper=paper,
            dark=options.style == "dark",
        )
        self.top = -1 if focus else 0
        self.likeness = fold(run) if options.fold else Likeness(run)
        self.levels = deepest_level(run, self.top)
        self.is_readable = readable or is_readable
        self.room = room_of(options)
        # A diff says what became of each module, and Mermaid is no page.
        savings = _FIGURE_SAVINGS if options.is_paper else _SAVINGS
        self.savings: tuple[Saving, ...] = savings if readable is None and options.said is None else savings[:1]
        if not options.fold:
            self.savings = tuple(each for each in self.savings if not each.together)
        if options.direction == "LR":
            self.savings = tuple(each for each in self.savings if not each.turned)

    def made(self, cut: Cut, saving: Saving = _SAVINGS[0]) -> Picture:
        cut = replace(cut, gather=saving.together, operations=cut.operations or saving.operations)
        direction = "LR" if saving.turned else self.how.direction
        how = replace(
            self.how,
            direction=direction,
            narrow=saving.narrow,
            grid=saving.together,
            joined=saving.joined,
            bare=saving.bare,
        )
        return compose(self.run, self.likeness, cut, self.levels, how)

    def pictures(self, deepest: int) -> Iterator[Picture]:
        """From the one with most in it that should fit: at least one."""
        depth = min(self.levels, MOST_LEVELS, deepest)
        if self.options.depth is not None:
            yield from self._at(min(max(self.options.depth, 0), depth))
            return
        fitting = False
        large: list[tuple[float, Picture]] = []
        picture: Picture | None = None
        for cut in _cuts(self.run, depth, self.options.fold, self.top):
            if cut.most is not None and (fitting or large):
                break  # room alone is no reason to leave steps out
            if len(arrange(self.run, self.likeness, cut).units) > MOST_ROWS:
                continue
            for picture, saving, excess in self._under(cut):
                if excess <= NEARLY:
                    fitting = True
                    fuller = self._opened(cut, saving) if excess <= 1 else None
                    yield from (picture,) if fuller is None else (fuller, picture)
                else:
                    large.append((excess, picture))
            if fitting and len(self.savings) == 1:
                return
        yield from (each for _, each in sorted(large, key=lambda pair: pair[0]))
        if not large and not fitting:
            yield picture or self.made(cut)

    def _opened(self, cut: Cut, saving: Saving) -> Picture | None:
        """A picture under this cut with further containers open, each as deep as there is room for on a page; None
        where there is none for any, or it would be tried for long."""
        if cut.depth >= self.levels or len(self.savings) == 1 or len(self.run.leaves) > MOST_LEAVES:
            return None
        best: Picture | None = None
        for occurrence in self._closed(cut)[:MOST_OPENED]:
            for level in sorted({self.levels, cut.depth + 1}, reverse=True):
                wider = replace(cut, deeper=(*cut.deeper, (occurrence, level)))
                if found := self._on_page(wider, saving):
                    (best, saving), cut = found, wider
                    break
        return best

    def _closed(self, cut: Cut) -> list[Occurrence]:
        """The containers that are one row and may be opened: none of several branches, which would stand apart then."""
        arrangement = arrange(self.run, self.likeness, cut)
        closed = [unit for unit in arrangement.units if unit.collapsed and not (unit.like or unit.series)]
        alike: dict[tuple[int, str | None], list[Unit]] = {}
        for unit in closed:
            node = self.run.index.modules[unit.occurrence.path]
            alike.setdefault((id(unit.block), node.class_name), []).append(unit)
        row_of = {unit: row for row in alike.values() for unit in row}
        behind = {id(row_of.get(tail)) for tail, head in arrangement.bundles if head in row_of.get(tail, ())}
        return [unit.occurrence for unit in closed if len(row_of[unit]) == 1 or id(row_of[unit]) in behind]

    def _on_page(self, cut: Cut, saving: Saving) -> tuple[Picture, Saving] | None:
        """The picture under a cut that fits on a page, saving no less than `saving`; None where none does."""
        for each in self.savings[self.savings.index(saving) :]:
            if each.turned != saving.turned:
                continue
            picture = self.made(cut, each)
            high = across_of(picture) if picture.direction == "LR" else length_of(picture)
            if high > ON_PAGE or not self.is_readable(picture):
                return None  # what saves width makes it no shorter
            if self.room.excess(picture) <= 1:
                return picture, each
        return None

    def _under(self, cut: Cut) -> Iterator[tuple[Picture, Saving, float]]:
        """Readable pictures under one cut, what each saves, and how many times too large it will be."""
        plain = not cut.like_once and cut.most is None and self.options.fold
        before = math.inf
        for saving in self.savings:
            picture = self.made(cut, saving)
            if plain and count_cards(picture.items) > FEW_CARDS:
                return
            if not self.is_readable(picture):
                continue
            excess = self.room.excess(picture) if len(self.savings) > 1 else 0
            if cut.depth < self.levels and excess <= NEARLY and count_rows(picture.items) < FEWEST_ROWS:
                excess = NEARLY + 0.01  # so little is worth less than a picture that is larger
            if excess < 0.97 * before:
                yield picture, saving, excess
            before = min(before, excess)

    def _at(self, depth: int) -> Iterator[Picture]:
        """At a depth that the user chose: as narrow as can be without changing what is open."""
        folds = depth < self.levels and len(self.savings) > 1 and self.options.fold
        cut = Cut(depth=depth, fold=self.options.fold, like_once=False, top=self.top, operations=folds)
        found = []
        for saving in self.savings:
            if saving.turned or saving.operations:
                continue
            found.append(self.made(cut, saving))
            if self.room.excess(found[-1]) <= 1:
                break
        yield min(found, key=lambda picture: max(1, self.room.excess(picture)))


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
    return sum(1 for _ in _cards(items))


def count_rows(items: tuple[Item, ...]) -> int:
    """Number of rows in their cards."""
    return sum(len(card.rows) for card in _cards(items))


def _cards(items: tuple[Item, ...]) -> Iterator[Card]:
    pending = list(items)
    while pending:
        item = pending.pop()
        if isinstance(item, Frame):
            pending.extend(item.items)
        elif isinstance(item, Card):
            yield item
