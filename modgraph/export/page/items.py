"""Graph -> what the interactive page draws: every container with its content and the data that passes in it.

Where a picture is cut to what can be read at once, a page holds everything and opens it on demand. Cards, rows, folds
and words are those of the pictures: the arrangement is the one with every container open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from modgraph.errors import ExportError
from modgraph.export.look.aliases import take_aliases_in
from modgraph.export.look.folding import Block, Cut, Unit, arrange
from modgraph.export.look.idioms import name_idioms
from modgraph.export.look.labels import cut, cut_end
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Card, Frame, Join, Mark, Pill, Row
from modgraph.export.picture.composition import Composer
from modgraph.export.picture.costs import Costs
from modgraph.export.picture.framing import merged
from modgraph.export.picture.own_tensors import leave_out_own_tensors
from modgraph.export.picture.rows import TOOLTIP_LENGTH, fold_text
from modgraph.export.picture.spots import Spot, spot_name
from modgraph.export.picture.wiring import Wire
from modgraph.graph.dataflow import operation_word
from modgraph.graph.model import Graph, TensorInfo
from modgraph.graph.occurrences import Link, Occurrence, Run
from modgraph.graph.repeats import Likeness
from modgraph.graph.shared import fold
from modgraph.names import last_name
from modgraph.options import MEASURES, Measure

EVERYTHING = Cut(depth=10**9, fold=True, like_once=False)
UNFOLDED = Cut(depth=10**9, fold=False, like_once=False)
_ON_CONDITION = 4
_CERTAIN_TOGETHER = 8
PORT = -1
"""In place of an item in a container's edges: the border, through which the data of that net comes or goes."""


@dataclass(slots=True)
class Drawn:
    """The items of a page, by number; the first is the model."""

    items: list[dict[str, Any]] = field(default_factory=list)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Path of a module -> the item that shows it, and the row of that item."""
    labels: list[str] = field(default_factory=list)
    """What stands on edges."""
    measures: list[tuple[Measure, str]] = field(default_factory=list)
    """What colours can tell beside the kind, and the cost of the strongest.

    What a row costs by each stands in it in this order: the words, and the step of the ramp."""
    has_turns: bool = False
    """Something goes from one turn of a loop to the next."""
    is_open: bool = False
    """Of an edge it is not known whether it comes from its tail or from before it."""
    is_conditional: bool = False
    """Of an edge it depends on what is not decided whether data goes there."""


def drawn_items(graph: Graph, options: PictureOptions) -> tuple[Run, Drawn]:
    """Everything of `graph` that can be drawn, and the run that it was made from."""
    run = Run(graph, views=options.views)
    if options.idioms:
        name_idioms(run)
    take_aliases_in(run)
    leave_out_own_tensors(run)
    likeness = fold(run) if options.fold else Likeness(run)
    arrangement = arrange(run, likeness, EVERYTHING if options.fold else UNFOLDED)
    measured = list(_measured(run, arrangement.units, options.color))
    writer = _ItemWriter(run, Composer(run, arrangement), measured)
    writer.write(arrangement.root)
    writer.drawn.measures = [(costs.measure, costs.legend()[1]) for costs in measured]
    return run, writer.drawn


def _measured(run: Run, units: list[Unit], asked: Measure) -> Iterator[Costs]:
    """Costs by each measure that the graph has figures of.

    Raises:
        ExportError: it has none of the one that is asked for.
    """
    for measure in MEASURES[1:]:
        try:
            costs = Costs(run, measure)
        except ExportError:
            if measure == asked:
                raise
            continue
        costs.scale(units)
        if costs.top or measure == asked:
            yield costs


class _ItemWriter:
    def __init__(self, run: Run, composer: Composer, measured: list[Costs]) -> None:
        self.run = run
        self.composer = composer
        self.measured = measured
        self.drawn = Drawn()
        self.items = self.drawn.items
        self.item_of: dict[Spot, int] = {}
        self.twins: dict[str, str] = {}
        """Path of a module in a folded turn -> path of the one that is drawn."""

    def write(self, root: Block) -> None:
        self.composer.gather()
        numbers = {root: self._add(None, {"type": "container", "of": ""})}
        self.drawn.places[""] = (0, 0)
        pending = [root]
        while pending:
            block = pending.pop()
            number = numbers[block]
            inner: list[Block] = []
            for item in self.composer.contents[block]:
                if isinstance(item, Block):
                    held, frame = self._with_only_child(item)
                    numbers[held] = self._container(item, number, held, frame)
                    inner.append(held)
                else:
                    self._spot(item, number)
            pending.extend(reversed(inner))
        self._edges()
        self._feed_back()
        self._place_the_rest()

    def _add(self, parent: int | None, item: dict[str, Any]) -> int:
        number = len(self.items)
        if item["type"] == "container":
            item["items"] = []
            item["edges"] = []
        if parent is not None:
            item["in"] = parent
            self.items[parent]["items"].append(number)
        self.items.append(item)
        return number

    # --- items ---------------------------------------------------------------------------------------------------

    def _with_only_child(self, block: Block) -> tuple[Block, Frame]:
        """The block whose content stands in the frame of `block`, and that frame: as in pictures, a container that
        holds nothing but a container shares its frame."""
        frame, held = self.composer.frame(block, ()), block
        below = self._below(block.parent)
        while not frame.loop and len(self.composer.contents[held]) == 1:
            (only,) = self.composer.contents[held]
            if not isinstance(only, Block):
                break
            inner = self.composer.frame(only, ())
            if inner.loop or inner.copies > 1 or inner.marks:
                break
            frame, held = merged(frame, inner, below), only
        return held, frame

    def _container(self, block: Block, parent: int, held: Block | None = None, frame: Frame | None = None) -> int:
        """`held`: the block whose content is drawn in the frame, where that is not `block` itself."""
        frame = frame or self.composer.frame(block, ())
        said = " · ".join(each for each in (frame.detail, frame.idiom) if each)
        item: dict[str, Any] = {"type": "container", "frame": [frame.title, said]}
        if frame.copies > 1:
            item["copies"] = frame.copies
        if frame.loop:
            item.update(loop=True, frame=[frame.title, frame.detail])
            row = Row(kind="other", title=f"▸ {frame.title}", detail=frame.detail, collapsed=True)
        else:
            unit = Unit(occurrence=block.occurrence, block=block, members=block.members, collapsed=True)
            row = self.composer.row(unit, self._below(block.parent))
            item["of"] = (block if frame.copies > 1 or held is None else held).occurrence.path
        item["row"] = _row(row)
        self._write_costs(item["row"], block.members)
        if self.measured:
            item["details"] = self._details(block)
        if frame.marks:
            item["marks"] = _marks(frame.marks)
        if frame.state:
            item["state"] = frame.state
        number = self._add(parent, item)
        if not frame.loop:
            self._place(block.members, number, 0)
            self._members(item, block.members)
            while held is not None and held is not block:
                self._place(held.members, number, 0)
                held = held.parent
        else:
            first, *others = ([step.path for step in turn.children if step.is_module] for turn in block.members)
            for paths in others:
                self.twins.update((own, drawn) for own, drawn in zip(paths, first, strict=True) if own != drawn)
        return number

    @staticmethod
    def _below(block: Block | None) -> str:
        return block.occurrence.path if block is not None else ""

    def _spot(self, spot: Spot, parent: int) -> None:
        """A card; what was not called and holds modules is a container of its own, which can be opened as well."""
        if not any(self._is_hollow(unit.occurrence) for unit in spot.units):
            self.item_of[spot] = self._node(spot, parent)
            return
        for unit in spot.units:
            if self._is_hollow(unit.occurrence):
                self.item_of[spot] = self._hollow(unit.occurrence, spot.block, parent)
            else:
                self.item_of[spot] = self._node(Spot([unit], spot.block), parent)

    def _is_hollow(self, occurrence: Occurrence) -> bool:
        return occurrence.is_module and occurrence.end is None and bool(self.run.index.children[occurrence.path])

    def _hollow(self, occurrence: Occurrence, around: Block, parent: int) -> int:
        """A container without calls and all that is registered in it."""
        outermost = Block(occurrence=occurrence, parent=around, members=[occurrence])
        first = self._container(outermost, parent)
        pending = [(outermost, first)]
        while pending:
            block, number = pending.pop()
            inner = []
            for node in self.run.index.children[block.occurrence.path]:
                child = Occurrence(path=node.path, parent=block.occurrence)
                if self._is_hollow(child):
                    within = Block(occurrence=child, parent=block, members=[child])
                    inner.append((within, self._container(within, number)))
                elif node.class_name != "NoneType":
                    unit = Unit(occurrence=child, block=block, members=[child])
                    self._node(Spot([unit], block), number)
            pending.extend(reversed(inner))
        return first

    def _node(self, spot: Spot, parent: int) -> int:
        shown = self.composer.node(spot)
        if isinstance(shown, Pill):
            return self._add(
                parent, {"type": "pill", "title": shown.title, "detail": shown.detail, "tip": shown.tooltip}
            )
        if isinstance(shown, Join):
            return self._add(parent, {"type": "join", "sign": shown.sign, "step": self._step(spot.units[0])})
        assert isinstance(shown, Card)
        rows = []
        for unit, row in zip(spot.units, shown.rows, strict=True):
            written = _row(row)
            self._write_costs(written, unit.members, together=unit.series)
            if unit.occurrence.is_module:
                written["of"] = unit.occurrence.path
                if unit.occurrence.call is not None and unit.occurrence.call.observed is not False:
                    written["call"] = unit.occurrence.call.index
                self._members(written, unit.members)
            else:
                written["step"] = self._step(unit)
            rows.append(written)
        item: dict[str, Any] = {"type": "card", "rows": rows}
        if shown.marks:
            item["marks"] = _marks(shown.marks)
        if shown.state:
            item["state"] = shown.state
        number = self._add(parent, item)
        for position, unit in enumerate(spot.units):
            if unit.occurrence.is_module:
                self._place(unit.members, number, position)
        return number

    def _write_costs(self, row: dict[str, Any], members: list[Occurrence], *, together: bool = False) -> None:
        """What a row costs, by each measure; None where it has no costs."""
        found = [(costs, costs.of_all(members, together=together)) for costs in self.measured]
        if any(cost is not None for _, cost in found):
            row["costs"] = [None if cost is None else [by.text(cost), by.heat(cost)] for by, cost in found]

    def _details(self, block: Block) -> list[str]:
        """What stands in the frame below its title, by each measure."""
        how, details = self.composer.how, []
        for costs in self.measured:
            self.composer.how = replace(how, costs=costs)
            is_open = block in self.composer.contents
            frame = self._with_only_child(block)[1] if is_open else self.composer.frame(block, ())
            details.append(frame.detail)
        self.composer.how = how
        return details

    def _members(self, item: dict[str, Any], members: list[Occurrence]) -> None:
        paths = list(dict.fromkeys(member.path for member in members))
        if len(paths) > 1:
            item["members"] = paths
            differing = fold_text(self.run, members)
            if differing:
                item["differ"] = cut_end(differing, TOOLTIP_LENGTH)

    def _step(self, unit: Unit) -> dict[str, Any]:
        """An operation, a parameter or a constant, as the side panel tells of it."""
        occurrence = unit.occurrence
        leaf = occurrence.first
        operation = occurrence.operation
        step: dict[str, Any] = {"name": cut_end(operation.name if operation else occurrence.end or "", TOOLTIP_LENGTH)}
        if operation is not None:
            step["word"] = cut(operation_word(operation.name))
        if operation is not None and operation.source is not None:
            step["at"] = f"{operation.source.file}:{operation.source.line}"
        if unit.occurrence.parent is not None and operation is not None:
            step["inside"] = occurrence.path
        inputs = [self._tensor(link.tensor) for link in self.run.incoming[leaf]]
        outputs = list(dict.fromkeys(self._tensor(link.tensor) for link in self.run.outgoing[leaf]))
        step.update({key: texts for key, texts in (("inputs", inputs), ("outputs", outputs)) if texts})
        return step

    def _tensor(self, tensor: TensorInfo) -> str:
        return self.composer.tensor_text(tensor)

    def _place(self, members: list[Occurrence], number: int, row: int) -> None:
        for member in members:
            self.drawn.places.setdefault(member.path, (number, row))

    def _place_the_rest(self) -> None:
        """Modules without a row: in a folded copy, in a leaf that stands for them, in a frame that was left out."""
        places, index = self.drawn.places, self.run.index
        copies = self._copies()
        for node in self.run.graph.modules:
            path, above = node.path, index.parents[node.path]
            if path in places or above is None:
                continue
            stand_in = copies.get(above)
            twin = copies.get(path) if stand_in is None else stand_in + path[len(above) :]
            if twin is not None and twin in places:
                copies[path] = twin
                places[path] = places[twin]
            else:
                inner = next((each.path for each in index.below(path) if each.path in places), None)
                places[path] = places[inner] if inner is not None else places[above]

    def _copies(self) -> dict[str, str]:
        """Path of a folded copy -> path of the one that is drawn."""
        found = dict(self.twins)
        modules = self.run.graph.modules
        found.update((node.path, node.alias_of) for node in modules if node.alias_of and node.alias_of in self.run.also)
        for item in self.items:
            for holder in (item, *item.get("rows", ())):
                first, *copies = holder.get("members", ("",))
                found.update(dict.fromkeys(copies, first))
        return found

    # --- edges ---------------------------------------------------------------------------------------------------

    def _edges(self) -> None:
        """For each container the edges in it, five numbers each: tail, head, net, label, and 1 on the main path, 2 more
        where it may come from before the tail, and 4 more where it depends on a condition whether data goes there;
        then 8 more, where data goes along one of those with these ends in any case.

        A net is what one item gives; its number is that of the item. Data that comes from outside or goes there has
        the border, -1, for tail or head, so that each container can be laid out without looking into any other.
        """
        wiring = self.composer.wire()
        labels: dict[str, int] = {}
        seen: dict[tuple[int, int, int, int], list[int]] = {}
        links: dict[tuple[int, int, int, int], list[Link]] = {}

        def pass_on(container: int, tail: int, head: int, net: int, label: int, wire: Wire) -> None:
            at = (container, tail, head, net)
            known = seen.get(at)
            if known is None:
                known = seen[at] = [tail, head, net, label, 0]
                self.items[container]["edges"].append(known)
            known[4] |= int(wire.main) + 2 * wire.in_doubt
            links.setdefault(at, []).extend(wire.links)

        for wire in wiring.wires:
            tail, head = (self.item_of[self.composer.spots[number]] for number in (wire.tail, wire.head))
            if tail == head:
                continue
            label = labels.setdefault(wire.text_of(wire.label), len(labels))
            ups, downs = self._way_up(tail), self._way_up(head)
            shared = 0
            while shared < min(len(ups), len(downs)) - 1 and ups[shared] == downs[shared]:
                shared += 1
            # Both ways begin at the model; where they part, the containers before them are around both ends.
            pass_on(ups[shared - 1], ups[shared], downs[shared], tail, label, wire)
            for outer, inner in zip(ups[shared:], ups[shared + 1 :], strict=False):
                pass_on(outer, inner, PORT, tail, label, wire)
            for outer, inner in zip(downs[shared:], downs[shared + 1 :], strict=False):
                pass_on(outer, PORT, inner, tail, label, wire)
        self._mark_conditions(seen, links)
        self.drawn.labels = list(labels)
        self.drawn.is_open = any(wire.in_doubt for wire in wiring.wires)
        self.drawn.is_conditional = not all(wire.certain for wire in wiring.wires)
        for item in self.items:
            if item["type"] == "container":
                item["edges"] = [number for edge in item["edges"] for number in edge]

    def _mark_conditions(
        self,
        edges: Mapping[tuple[int, int, int, int], list[int]],
        links: Mapping[tuple[int, int, int, int], list[Link]],
    ) -> None:
        """What data goes along on a condition; by container, ends and net."""
        covering = self.composer.covering
        conditional = [at for at in edges if not covering.is_certain(links[at])]
        between: dict[tuple[int, int, int], list[tuple[int, int, int, int]]] = {}
        for at in conditional:
            edges[at][4] |= _ON_CONDITION
            between.setdefault(at[:3], []).append(at)
        for nets in between.values():
            if len(nets) > 1 and covering.is_certain([link for at in nets for link in links[at]]):
                for at in nets:
                    edges[at][4] |= _CERTAIN_TOGETHER

    def _feed_back(self) -> None:
        """What one turn of a loop gives to the next: in the container around both ends, its two items and words."""
        for tail, head in self.composer.arrangement.feedback:
            spots = self.composer.spot_of[tail], self.composer.spot_of[head]
            ups, downs = (self._way_up(self.item_of[spot]) for spot in spots)
            at = 1
            while at < min(len(ups), len(downs)) - 1 and ups[at] == downs[at]:
                at += 1
            words = " → ".join(last_name(spot_name(spot)) for spot in spots)
            back = self.items[ups[at - 1]].setdefault("back", [])
            if [ups[at], downs[at]] not in [pair[:2] for pair in back]:
                back.append([ups[at], downs[at], cut_end(f"to the next turn: {words}", TOOLTIP_LENGTH)])
                self.drawn.has_turns = True

    def _way_up(self, number: int) -> list[int]:
        way = [number]
        while "in" in self.items[way[-1]]:
            way.append(self.items[way[-1]]["in"])
        return way[::-1]


def _row(row: Row) -> dict[str, Any]:
    words = {"detail": row.detail, "path": row.path, "count": row.count, "tip": row.tooltip}
    written: dict[str, Any] = {"kind": row.kind, "title": row.title.removeprefix("▸ "), **_without_empty(words)}
    if row.copies > 1:
        written["copies"] = row.copies
    if row.muted:
        written["muted"] = True
    if row.marks:
        written["marks"] = _marks(row.marks)
    return written


def _without_empty(words: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in words.items() if value}


def _marks(marks: tuple[Mark, ...]) -> list[list[str]]:
    return [[mark.state, mark.note] for mark in marks]
