"""Puts a picture together: runs of units become cards, blocks become frames, bundles become arrows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from modgraph.export.look.covering import Covering
from modgraph.export.look.folding import (
    Arrangement,
    Block,
    Cut,
    Unit,
    arrange,
    blocks_of,
    comes_again,
)
from modgraph.export.look.held_tensors import is_unnamed, module_title
from modgraph.export.look.idioms import brief, idiom_of
from modgraph.export.look.kinds import ELEMENTWISE, PLAIN_CONTAINERS, SIGNS
from modgraph.export.look.labels import class_title, cut, cut_end, drawn_shape, usual_dtype
from modgraph.export.look.parts import Arrow, ArrowKind, Card, Frame, Item, Join, Mark, Picture, Pill, Row, Tag
from modgraph.export.look.states import frame_state, marks_of
from modgraph.export.look.style import FIGURE_SCALE
from modgraph.export.look.widths import roomy
from modgraph.export.picture.branches import WIDEST, beside, laid_beside
from modgraph.export.picture.costs import Costs
from modgraph.export.picture.framing import leveled, merged, short_name
from modgraph.export.picture.heading import figure_subtitle, heading
from modgraph.export.picture.rows import (
    TOOLTIP_LENGTH,
    fold_text,
    joined_rows,
    parameters_text,
    range_text,
    row_of,
    said_once,
    sign_of,
)
from modgraph.export.picture.runs import runs_of
from modgraph.export.picture.signs import PLAIN, signs_of
from modgraph.export.picture.spots import Ids, Spot, end_name, gathered_name, id_text, name_from, spot_name
from modgraph.export.picture.turns import called_mark, calls_of_all, turns_around, turns_frame
from modgraph.export.picture.wiring import NEAR, NodeFacts, Wire, Wiring
from modgraph.graph.batch import batch_size
from modgraph.graph.focus import Focus
from modgraph.graph.model import Condition, ModuleNode, TensorInfo
from modgraph.graph.occurrences import Link, Occurrence, Run
from modgraph.graph.outputs import output_end, unknown_outputs
from modgraph.graph.repeats import Likeness
from modgraph.options import Direction

CONDITION_LENGTH = 32
"""Letters of what an arrow depends on."""
MOST_BELOW = 48
"""So many things that tags alone feed are placed below what the tags name."""
FAR = 8
"""Things between two users of a parameter from which on it is drawn for each of them."""
MOST_BESIDE = 3
"""Cards in a row that no data reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a picture is drawn, apart from what is left out."""

    direction: Direction = "TB"
    focus: Focus | None = None
    """The one module that is drawn."""
    costs: Costs | None = None
    """What the colours say; None for kinds of layers."""
    narrow: bool = False
    """Rows are written in two lines."""
    paper: tuple[float, float] | None = None
    """Of a figure: how many points it may be wide and high."""
    dark: bool = False
    joined: bool = False
    """Norms and activations stand in the row of the layer before them; closed containers that follow each other share a
    card, as layers do."""
    bare: bool = False
    """Rows have neither path nor parameters."""
    grid: bool = False
    """Cards beside each other that are alike, fed by the same and feeding the same, are one card."""


def compose(run: Run, likeness: Likeness, cut_at: Cut, levels: int, how: Style) -> Picture:
    """The picture of `run` under one cut."""
    arrangement = arrange(run, likeness, cut_at)
    if how.costs is not None:
        how.costs.scale(arrangement.units)
    composer = Composer(run, arrangement, how)
    items, arrows = composer.items_and_arrows()
    if how.direction == "TB":
        items = roomy(items, arrows)
    name, subtitle, notes, legend = heading(run, items, cut_at, levels, arrangement, how.focus)
    is_open = any(arrow.kind == "open" for arrow in arrows)
    is_conditional = any(arrow.kind == "conditional" for arrow in arrows)
    signs = signs_of(items, arrows)
    legend = replace(legend, feedback=bool(arrangement.feedback), open=is_open, conditional=is_conditional, signs=signs)
    if how.paper is not None:
        signs = tuple(sign for sign in signs if sign not in PLAIN)
        legend = replace(legend, repeated=False, signs=signs, kinds=legend.kinds if len(legend.kinds) > 1 else ())
        subtitle = figure_subtitle(run, how.focus)
        notes += ("paths and parameters left out",) if how.bare else ()
    if how.costs is not None:
        legend = replace(legend, kinds=(), ramp=how.costs.legend())
    return Picture(
        name=name,
        subtitle=subtitle,
        notes=notes,
        legend=legend,
        items=items,
        arrows=arrows,
        direction=how.direction,
        depth=cut_at.depth,
        paper=how.paper,
        dark=how.dark,
    )


@dataclass(eq=False)
class Composer:
    run: Run
    arrangement: Arrangement
    how: Style = field(default_factory=Style)
    ids: Ids = field(default_factory=Ids)

    def __post_init__(self) -> None:
        self.batch = batch_size(self.run.index)
        self.covering = Covering(self.run.graph)
        self.dtype = usual_dtype(self.run.graph)
        self.spots: list[Spot] = []
        self.spot_of: dict[Unit, Spot] = {}
        self.contents: dict[Block, list[Spot | Block]] = {}
        self.tags: dict[Block, list[tuple[Spot, Tag]]] = {}
        self._same: dict[Unit, Unit] = {}
        """Parameters that several steps near each other use, by what stands for them."""
        self._said_at: set[tuple[Condition, int]] = set()
        """By node that arrows lead to: what is written on one of them that it depends on."""
        self._outermost: dict[tuple[Block, int], Spot | None] = {}

    def items_and_arrows(self) -> tuple[tuple[Item, ...], tuple[Arrow, ...]]:
        self.gather()
        wiring = self.wire()
        arrows = self._arrows(wiring)
        items = self._items()
        return items, tuple(arrows + self._feedback_arrows() + self._order_arrows() + self._below_what_ran())

    # --- nodes ---------------------------------------------------------------------------------------------------

    def gather(self) -> None:
        """Units to spots; a plain container that is one card alone gets no frame."""
        blocks = blocks_of(self.arrangement.root)
        runs = {units[0]: units for units in runs_of(self.run, self.arrangement, stacked=self.how.joined)}
        for block in reversed(blocks):
            content: list[Spot | Block] = []
            held: dict[str, int] = {}
            for item in block.items:
                if isinstance(item, Block):
                    inner = self.contents[item]
                    if self._needs_no_frame(item, inner):
                        spot = inner[0]
                        assert isinstance(spot, Spot)
                        spot.block = block
                        spot.marks += self._block_marks(item)
                        content.append(spot)
                        del self.contents[item]
                    else:
                        content.append(item)
                elif item in runs and not self._is_held(runs[item], content, held):
                    content.append(Spot(runs[item], block))
            self.contents[block] = content
        self._number()
        if self.how.grid and beside(self):
            self._number()

    def _is_held(self, units: list[Unit], content: list[Spot | Block], held: dict[str, int]) -> bool:
        """Whether the unit is a parameter that stands in the block already, for a user near by.

        Args:
            held: where the block has parameters, which is kept.
        """
        end = units[0].occurrence.end or ""
        if not end.startswith("param:") or len(units) > 1 or len(units[0].members) > 1:
            return False
        place = held.get(end)
        if place is None or len(content) - place > FAR:
            held[end] = len(content)
            return False
        spot = content[place]
        assert isinstance(spot, Spot)
        self._same[units[0]] = spot.units[0]
        return True

    def _needs_no_frame(self, block: Block, content: list[Spot | Block]) -> bool:
        node = self.run.index.modules[block.occurrence.path]
        return (
            len(content) == 1
            and isinstance(content[0], Spot)
            and (len(block.members) == 1 or block.shared)
            and class_title(node.class_name) in PLAIN_CONTAINERS
            and (node.class_name or "").startswith("torch.")
            and not self.is_pill(content[0].units[0])
            and all(mark.state in ("also", "again", "shared") for mark in marks_of(self.run, block.occurrence))
        )

    def _number(self) -> None:
        """Spots in the order of the run, with their ids."""
        self.spots, self.ids = [], Ids()
        for content in self.contents.values():
            self.spots.extend(item for item in content if isinstance(item, Spot))
        self.spots.sort(
            key=lambda spot: (spot.order, spot.units[0].occurrence.end is None, spot.units[0].occurrence.path)
        )
        for number, spot in enumerate(self.spots):
            spot.number = number
            spot.id = self.ids.make(id_text(spot.units[0]))
            for unit in spot.units:
                self.spot_of[unit] = spot
        self.spot_of.update({unit: self.spot_of[other] for unit, other in self._same.items()})

    @staticmethod
    def is_pill(unit: Unit) -> bool:
        return (unit.occurrence.end or "").partition(":")[0] in ("input", "output")

    @staticmethod
    def _says_its_shape(unit: Unit) -> bool:
        """Whether the node itself shows the shape of its data: inputs, outputs, parameters and constants do."""
        return not (unit.middle or unit.occurrence.turn or unit.occurrence.operation or unit.occurrence.is_module)

    # --- arrows --------------------------------------------------------------------------------------------------

    def wire(self) -> Wiring:
        bundles: dict[tuple[int, int], list[tuple[Unit, Unit]]] = {}
        for tail, head in self.arrangement.bundles:
            ends = (self.spot_of[tail].number, self.spot_of[head].number)
            if ends[0] != ends[1]:
                bundles.setdefault(ends, []).append((tail, head))
        wires = [self._wire(ends, pairs) for ends, pairs in sorted(bundles.items())]
        wiring = Wiring([self._facts(spot) for spot in self.spots], wires)
        wiring.settle()
        return wiring

    def _wire(self, ends: tuple[int, int], pairs: list[tuple[Unit, Unit]]) -> Wire:
        """What goes from one spot to another: by pairs of their units."""
        times = sum(self.arrangement.times.get(pair, 0) for pair in pairs)
        links = [link for pair in pairs for link in self.arrangement.bundles[pair]]
        groups = [[link.tensor for link in self.arrangement.bundles[pair]] for pair in pairs]
        if times > 1 or self._is_several(pairs[0][0]):
            groups = [[tensor] for tensor in _alike([link.tensor for link in links])]
        texts = list(dict.fromkeys(text for group in groups for text in self._tensor_texts(group)))
        return Wire(
            tail=ends[0],
            head=ends[1],
            label=texts[0] + (f" +{len(texts) - 1}" if len(texts) > 1 else ""),
            certain=self.covering.is_certain(links),
            links=links,
            is_taken=any(link.is_taken for link in links),
            in_doubt=any(link.in_doubt for link in links),
            times=max(1, times),
            condition=self._condition_of(links, ends[1]),
        )

    def _condition_of(self, links: list[Link], head: int) -> str:
        """What all of them depend on, where what they join does not say it: once for each condition at a head."""
        conditions = {link.condition for link in links}
        condition = conditions.pop() if len(conditions) == 1 else None
        if condition is None or any(link.certain for link in links) or (condition, head) in self._said_at:
            return ""
        if any(_depends_on(condition, end) for link in links for end in (link.source, link.target)):
            return ""
        self._said_at.add((condition, head))
        text = condition.text
        words = text if text.startswith("depends on ") else f"only if {text}"
        return cut_end(words, CONDITION_LENGTH)

    def _facts(self, spot: Spot) -> NodeFacts:
        block, outermost = spot.block, -1
        numbers = self._block_numbers
        while block.parent is not None:
            outermost = numbers[block]
            block = block.parent
        end = spot.units[0].occurrence.end or ""
        return NodeFacts(
            weight=sum(len(unit.members) for unit in spot.units),
            # A collapsed container is one of its own: its users stand inside it.
            container=len(numbers) + spot.number if spot.units[0].collapsed else numbers[spot.block],
            outermost=outermost,
            source=end.startswith("input:"),
            sink=end.startswith("output:"),
            shape=self._pill_shape(spot) if self._says_its_shape(spot.units[0]) else "",
            joins=sign_of(self.run, spot.units[0]) is not None,
            elementwise=sign_of(self.run, spot.units[0]) in ELEMENTWISE,
        )

    @cached_property
    def _block_numbers(self) -> dict[Block, int]:
        return {block: number for number, block in enumerate(self.contents)}

    @staticmethod
    def _is_several(unit: Unit) -> bool:
        """Whether a unit stands for calls of one module, by itself or in what is around it."""
        block: Block | None = unit.block
        while not unit.shared and block is not None and not block.shared:
            block = block.parent
        return block is not None

    def _tensor_texts(self, tensors: list[TensorInfo]) -> list[str]:
        """What is written for several tensors; "…×16" once where they differ in their first size alone."""
        sizes = {(tensor.shape, tensor.dtype) for tensor in tensors}
        rest = {(shape[1:], dtype) for shape, dtype in sizes if shape}
        if len(sizes) > 1 and len(rest) == 1 and all(shape for shape, _ in sizes):
            ((inner, _),) = rest
            return [self.tensor_text(replace(tensors[0], shape=("…", *inner)))]
        return [self.tensor_text(tensor) for tensor in tensors]

    def tensor_text(self, tensor: TensorInfo) -> str:
        text = drawn_shape(tensor.shape, self.batch)
        if tensor.dtype is not None and self.dtype is not None and tensor.dtype != self.dtype:
            text += f" · {tensor.dtype}"
        return text

    def _arrows(self, wiring: Wiring) -> list[Arrow]:
        arrows = []
        tags: dict[tuple[int, int], tuple[str, int]] = {}
        ranks = wiring.ranks()
        for wire in wiring.wires:
            tail, head = self.spots[wire.tail], self.spots[wire.head]
            start = tail.id
            or_before = ", or before it," if wire.in_doubt else ""
            if wire.tagged:
                key = (wire.tail, wiring.nodes[wire.head].container)
                if key not in tags or ranks[wire.head] - tags[key][1] > NEAR:
                    tags[key] = self._add_tag(tail, head), ranks[wire.head]
                start = tags[key][0]
            arrows.append(
                Arrow(
                    id=self.ids.make(f"{start}:to:{head.id}"),
                    tail=start,
                    head=head.id,
                    label=wire.text,
                    main=wire.main,
                    kind="conditional"
                    if not wire.certain
                    else "open"
                    if wire.in_doubt
                    else self._arrow_kind(tail, head),
                    tooltip=cut_end(
                        f"{spot_name(tail)}{or_before} → {spot_name(head)} · {wire.label}"
                        + (f" · {wire.condition}" if wire.condition else ""),
                        TOOLTIP_LENGTH,
                    ),
                )
            )
        return [*arrows, *self._below_sources(wiring)]

    def _below_sources(self, wiring: Wiring) -> Iterator[Arrow]:
        """Places what tags alone feed right below what they name, where the others stand that it feeds; but for what
        stands further down by itself, as what it feeds does."""
        ranks = wiring.ranks()
        lone = [wires for wires in wiring.into if wires and all(wire.tagged for wire in wires)]
        for wires in lone[:MOST_BELOW]:
            source, user = max(wire.tail for wire in wires), wires[0].head
            if min((ranks[wire.head] for wire in wiring.out[user]), default=0) <= ranks[source] + 1:
                tail, head = self.spots[source], self.spots[user]
                yield Arrow(id=self.ids.make(f"{tail.id}:above:{head.id}"), tail=tail.id, head=head.id, kind="order")

    def _feedback_arrows(self) -> list[Arrow]:
        """What a turn of a loop gives to the next."""
        texts: dict[tuple[Spot, Spot], list[str]] = {}
        for (tail, head), links in self.arrangement.feedback.items():
            known = texts.setdefault((self.spot_of[tail], self.spot_of[head]), [])
            known.extend(self._tensor_texts([link.tensor for link in links]))
        return [
            Arrow(
                id=self.ids.make(f"{tail.id}:next:{head.id}"),
                tail=tail.id,
                head=head.id,
                kind="feedback",
                tooltip=cut_end(
                    f"to the next turn: {spot_name(tail)} → {spot_name(head)} · {', '.join(dict.fromkeys(said))}",
                    TOOLTIP_LENGTH,
                ),
            )
            for (tail, head), said in texts.items()
        ]

    def _add_tag(self, source: Spot, user: Spot) -> str:
        tag = Tag(
            id=self.ids.make(f"tag:{source.id}:at:{user.id}"),
            text=cut(name_from(source, user)),
            tooltip=cut_end(f"from {spot_name(source)}", 200),
        )
        self.tags.setdefault(user.block, []).append((user, tag))
        return tag.id

    def _arrow_kind(self, tail: Spot, head: Spot) -> ArrowKind:
        states = {
            mark.state for unit in (tail.units[-1], head.units[0]) for mark in marks_of(self.run, unit.occurrence)
        }
        if "static only" in states:
            return "static"
        arriving = {mark.state for mark in marks_of(self.run, head.units[0].occurrence)}
        return "runtime" if "runtime only" in arriving else "data"

    def _order_arrows(self) -> list[Arrow]:
        """Places what no data reaches: beside the sibling before it, a few in a row; below it where nothing ran."""
        linked = {self.spot_of[unit] for ends in self.arrangement.bundles for unit in ends}
        feeders: dict[Spot, Spot] = {}
        for tail, head in self.arrangement.bundles:
            feeders.setdefault(self.spot_of[head], self.spot_of[tail])
        arrows = []
        for block in blocks_of(self.arrangement.root):
            previous: Spot | None = None
            above: Spot | None = None
            beside = 0
            for spot in self._spots_in_order(block):
                if spot in linked:
                    above, beside = feeders.get(spot, spot), 0
                elif previous is not None:
                    if above is None or beside == MOST_BESIDE:
                        above, beside = previous, 0
                    if not linked:
                        above = previous
                    beside += 1
                    if above is not spot:
                        name = self.ids.make(f"{above.id}:before:{spot.id}")
                        arrows.append(Arrow(id=name, tail=above.id, head=spot.id, kind="order"))
                previous = spot
        return arrows

    def _below_what_ran(self) -> list[Arrow]:
        """Places what is joined with others but with no input, as what a failed run did not come to, below what stands
        before it."""
        beside: dict[Spot, list[Spot]] = {}
        for ends in self.arrangement.bundles:
            tail, head = (self.spot_of[unit] for unit in ends)
            beside.setdefault(tail, []).append(head)
            beside.setdefault(head, []).append(tail)
        arrows, met = [], set[Spot]()
        starts = [spot for spot in self.spots if (spot.units[0].occurrence.end or "").startswith("input:")]
        for first in (*starts, *self.spots):
            if first in met or first not in beside:
                continue
            pending = [first]
            while pending:
                if (spot := pending.pop()) not in met:
                    met.add(spot)
                    pending.extend(beside[spot])
            if first.number and first.units[0].occurrence.is_module and starts:
                above = self.spots[first.number - 1]
                name = self.ids.make(f"{above.id}:before:{first.id}")
                arrows.append(Arrow(id=name, tail=above.id, head=first.id, kind="order"))
        return arrows

    def _spots_in_order(self, block: Block) -> list[Spot]:
        """The spots of a block, and of each inner block the last one, so that frames stand below each other."""
        found: list[Spot] = []
        for item in self.contents.get(block, []):
            if isinstance(item, Spot):
                found.append(item)
            else:
                found.extend(self._edge_spots(item))
        return found

    def _edge_spots(self, block: Block) -> list[Spot]:
        ends: list[Spot] = []
        for side in (0, -1):
            end = self._end(block, side)
            if end is not None and end not in ends:
                ends.append(end)
        return ends

    def _end(self, block: Block, side: int) -> Spot | None:
        """The first or last spot of a block, in whichever block within it; looked for once, as each block around asks
        for the same."""
        way: list[Block] = []
        end: Spot | Block | None = block
        while isinstance(end, Block) and (end, side) not in self._outermost:
            way.append(end)
            inner = self.contents.get(end, [])
            end = inner[side] if inner else None
        found = self._outermost[end, side] if isinstance(end, Block) else end
        self._outermost.update(dict.fromkeys(((each, side) for each in way), found))
        return found

    # --- items ---------------------------------------------------------------------------------------------------

    def _items(self) -> tuple[Item, ...]:
        made: dict[Block, Item | tuple[Item, ...]] = {}
        for block in reversed(blocks_of(self.arrangement.root)):
            if block not in self.contents:
                continue
            items: list[Item] = []
            for item in self.contents[block]:
                if isinstance(item, Block):
                    items.append(made[item])  # type: ignore[arg-type]
                    continue
                items.extend(tag for user, tag in self.tags.get(block, ()) if user is item)
                items.append(self.node(item))
            made[block] = tuple(items) if block.parent is None else self.frame(block, tuple(items))
        outer = made[self.arrangement.root]
        assert isinstance(outer, tuple)
        return tuple(leveled(item, 0) for item in outer)

    def node(self, spot: Spot) -> Item:
        unit = spot.units[0]
        if self.is_pill(unit):
            return self._pill(spot)
        sign = sign_of(self.run, unit)
        if sign is not None and unit.occurrence.operation is not None:
            return Join(
                id=spot.id, sign=sign, tooltip=cut_end(f"{SIGNS[sign]} · {unit.occurrence.operation.name}", 200)
            )
        below = spot.block.occurrence.path
        rows = self._rows(spot, below)
        striped = self.how.paper is not None and self.how.costs is None
        if spot.branches:
            rows, columns = laid_beside(rows, spot.branches, narrow=self.how.narrow, widest=self._widest)
            return Card(
                id=spot.id,
                rows=rows,
                narrow=self.how.narrow,
                head=f"{spot.branches} in parallel",
                columns=columns,
                steps=max(1, len(rows) // spot.branches),
                striped=striped,
            )
        rows, marks = said_once(rows)
        marks += spot.marks
        everything = marks + tuple(mark for row in rows for mark in row.marks)
        state = frame_state(everything)
        return Card(id=spot.id, rows=rows, state=state, marks=marks, narrow=self.how.narrow, striped=striped)

    @property
    def _widest(self) -> float:
        """Points that the columns of a card may take."""
        return WIDEST if self.how.paper is None else min(WIDEST, self.how.paper[0] * FIGURE_SCALE - 60)

    def _rows(self, spot: Spot, below: str) -> tuple[Row, ...]:
        rows = [self.row(each, below) for each in spot.units]
        if self.how.joined and not spot.branches:
            rows = joined_rows(self.run, rows, spot.units)
        if self.how.bare:
            rows = [replace(row, path="", count="") for row in rows]
        return tuple(rows)

    def row(self, unit: Unit, below: str) -> Row:
        """The row of `unit`, coloured and counted as the picture measures."""
        row, costs = row_of(self.run, unit, below, plain=self.how.paper is not None), self.how.costs
        row = replace(row, marks=calls_of_all(row.marks, turns_around(unit)))
        if unit.shared:
            row = replace(row, copies=1, marks=self._with_calls(row.marks, unit.members))
        if costs is None:
            return row
        cost = costs.of(unit)
        return replace(row, kind="other", count=costs.text(cost), heat=costs.heat(cost))

    def _pill(self, spot: Spot) -> Pill:
        unit = spot.units[0]
        kind, _, name = (unit.occurrence.end or "").partition(":")
        if unit.middle:
            return Pill(id=spot.id, title=f"… {len(unit.members)} more {kind}s", tooltip=f"{kind}s that are left out")
        if unit.gathered:
            shape, names = self._pill_shape(spot), cut_end(_gathered_names(unit), 200)
            return Pill(id=spot.id, title=f"{gathered_name(unit)} ×{len(unit.members)}", detail=shape, tooltip=names)
        unnamed = self._ends[kind] == 1 and (kind == "input" or name.isdecimal()) and self.how.focus is None
        title = kind if unnamed else cut(_end_title(kind, name))
        why = self._unknown.get(unit.occurrence.end or "")
        tooltip = f"{kind} {name}" + (f", which is not known: {why}" if why else "")
        return Pill(id=spot.id, title=title or kind, detail=self._pill_shape(spot), tooltip=cut_end(tooltip, 200))

    @cached_property
    def _unknown(self) -> dict[str, str]:
        """By output of which nothing is known: why."""
        return {output_end(each.name): each.unknown or "" for each in unknown_outputs(self.run.index.graph)}

    def _tensors(self, unit: Unit) -> list[TensorInfo]:
        """Of several inputs or outputs."""
        leaves = (member.first for member in unit.members)
        links = [(self.run.outgoing[leaf] or self.run.incoming[leaf])[:1] for leaf in leaves]
        return [link.tensor for each in links for link in each]

    @cached_property
    def _ends(self) -> Counter[str]:
        """How many spots there are of each kind: "input", "output", "call"."""
        return Counter((spot.units[0].occurrence.end or "").partition(":")[0] for spot in self.spots)

    def _pill_shape(self, spot: Spot) -> str:
        """Of the input, output, parameter or constant itself, not of a view of it that its users get."""
        if spot.units[0].gathered:
            texts = {self.tensor_text(tensor) for tensor in self._tensors(spot.units[0])}
            return texts.pop() if len(texts) == 1 else ""
        end, leaf = spot.units[0].occurrence.end or "", spot.units[0].occurrence.first
        if self.how.focus is None:
            edges = self.run.index.outgoing.get(end) or self.run.index.incoming.get(end)
            if edges:
                return self.tensor_text(edges[0].tensor)
        links = self.run.outgoing[leaf] or self.run.incoming[leaf]
        return self.tensor_text(links[0].tensor) if links else "?" if end in self._unknown else ""

    def _count(self, block: Block, node: ModuleNode) -> str:
        """What stands beside the class in a frame's title."""
        costs = self.how.costs
        return parameters_text(self.run, node) if costs is None else costs.text(costs.of_all(block.members))

    def _block_marks(self, block: Block) -> tuple[Mark, ...]:
        marks = marks_of(self.run, block.occurrence)
        if block.shared:
            return self._with_calls(marks, block.members)
        again = len(block.members) > 1 and comes_again(block.members)
        return calls_of_all(marks, len(block.members)) if again else marks

    def _with_calls(self, marks: tuple[Mark, ...], members: list[Occurrence]) -> tuple[Mark, ...]:
        """With how many calls are drawn once, in place of which call it is."""
        if not (members[0].is_module or members[0].operation is not None):
            return marks
        return (*(mark for mark in marks if mark.state != "again"), called_mark(self.run, members))

    def frame(self, block: Block, items: tuple[Item, ...]) -> Frame:
        if block.occurrence.turn:
            counts = self.how.costs
            costs = None if counts is None else counts.text(counts.of_all(block.members))
            return turns_frame(self.run, block, items, self.ids.make(f"loop:{block.occurrence.path}"), costs)
        node = self.run.index.modules[block.occurrence.path]
        marks = self._block_marks(block)
        title = module_title(node)
        # A title has half of its frame, as the arrow enters in the middle: a narrow one says no more than the class.
        count = "" if self.how.narrow and self.how.costs is None else self._count(block, node)
        parts = [cut(title), count, "in parallel" if block.parallel else ""]
        inner = items[0] if len(items) == 1 else None
        name = range_text(block.members)
        if block.parent is not None:
            name = short_name(name, block.parent.occurrence.path)
        kind = node.class_name or ("" if is_unnamed(node) else "unknown class")
        idiom = idiom_of(self.run, block.members)
        known = idiom.title if idiom is not None else ""
        said = (range_text(block.members), kind, known, fold_text(self.run, block.members))
        frame = Frame(
            id=self.ids.make(f"frame:{block.occurrence.path}"),
            title=cut(name),
            detail=" · ".join(part for part in parts if part),
            name=range_text(block.members),
            items=items,
            level=0,
            copies=1 if block.shared else len(block.members),
            plain=bool(self.run.said),
            state=frame_state(marks),
            marks=marks,
            tooltip=cut_end(" · ".join(each for each in said if each), TOOLTIP_LENGTH // 2),
            idiom="" if idiom is None else idiom.kind if self.how.narrow else brief(idiom),
        )
        if not isinstance(inner, Frame) or inner.loop:
            return frame
        below = block.parent.occurrence.path if block.parent is not None else ""
        return merged(frame, inner, below)


def _depends_on(condition: Condition, end: Occurrence) -> bool:
    """Whether what stands there, or is around it, says that it depends on this."""
    at: Occurrence | None = end
    while at is not None:
        part = at.call if at.is_module else at.operation
        if part is not None and part.depends_on == condition:
            return True
        at = at.parent
    return False


def _alike(tensors: list[TensorInfo]) -> list[TensorInfo]:
    """One for those that have a number of sizes and a type, "…" for each size in which they differ."""
    kinds: dict[tuple[int | None, str | None], list[TensorInfo]] = {}
    for tensor in tensors:
        kinds.setdefault((None if tensor.shape is None else len(tensor.shape), tensor.dtype), []).append(tensor)
    found = []
    for alike in kinds.values():
        columns = zip(*(tensor.shape or () for tensor in alike), strict=True)
        sizes = tuple(column[0] if len(set(column)) == 1 else "…" for column in columns)
        found.append(alike[0] if alike[0].shape is None else replace(alike[0], shape=sizes))
    return found


def _gathered_names(unit: Unit) -> str:
    return ", ".join((member.end or "").partition(":")[2] for member in unit.members)


def _end_title(kind: str, name: str) -> str:
    """What a pill is called: "output 1[0]" of what has no name but its place, "aux.loss" for "aux['loss']"."""
    shown = end_name(name)
    return f"{kind} {shown}" if shown[:1].isdecimal() else shown
