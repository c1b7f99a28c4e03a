"""What of a run is drawn: which containers are open, which are one row, which stand for several alike."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import groupby

from modgraph.export.look.gathering import Ways
from modgraph.export.look.states import marks_of
from modgraph.graph.loops import is_loop
from modgraph.graph.occurrences import Link, Occurrence, Run, preorder
from modgraph.graph.parallel import Parallel, merged
from modgraph.graph.repeats import Likeness

LONGEST_SERIES = 12
"""More collapsed containers in a row are drawn as one row."""
MOST_ENDS = 24
"""So many inputs, and outputs, are shown in any case."""
LEAST_GATHERED = 4
"""So many inputs or outputs of one kind may be one pill."""
SMALL = 4
"""A container with fewer leaves is always opened where its depth allows: one row would hide more than it saves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """How much is left out."""

    depth: int
    fold: bool
    like_once: bool
    """Of siblings that differ in sizes only, open the first."""
    top: int = 0
    """The level of the root: -1 where the frame of the one module that is drawn is open in any case."""
    most: int | None = None
    """Of more things than these side by side, the middle is one row."""
    gather: bool = False
    """Inputs, and outputs, whose names differ in numbers alone are one pill."""
    operations: bool = False
    """Operations that follow each other without a module between them are one row."""
    deeper: tuple[tuple[Occurrence, int], ...] = ()
    """Containers that are open beside this, and down to which level."""


@dataclass(eq=False, slots=True, kw_only=True)
class Unit:
    """Something that is drawn as one row, circle or pill."""

    occurrence: Occurrence
    block: Block
    members: list[Occurrence]
    """Those that it stands for: itself, and those like it."""
    collapsed: bool = False
    like: bool = False
    """It is one row because it is like one that is open."""
    series: bool = False
    """Its members are not alike: a long row of collapsed containers, drawn as one."""
    middle: bool = False
    """A series that stands for everything between the first and the last things of its container."""
    gathered: bool = False
    """A series of inputs or outputs, or of operations, that is one node."""
    shared: bool = False
    """Its members are calls of one module beside each other, or what is done once for each of those."""

    @property
    def order(self) -> int:
        return self.occurrence.first


@dataclass(eq=False, slots=True, kw_only=True)
class Block:
    """A container whose content is drawn."""

    occurrence: Occurrence
    parent: Block | None
    members: list[Occurrence]
    items: list[Unit | Block] = field(default_factory=list)
    parallel: bool = False
    """Its members stand beside each other, not one behind the other."""
    shared: bool = False
    """Its members are calls of one module beside each other."""


@dataclass(eq=False, slots=True, kw_only=True)
class Arrangement:
    root: Block
    units: list[Unit]
    bundles: dict[tuple[Unit, Unit], list[Link]]
    """What goes from one unit to another, apart from what goes round inside a fold."""
    feedback: dict[tuple[Unit, Unit], list[Link]]
    """What one turn of a loop gives to the next."""
    times: dict[tuple[Unit, Unit], int]
    """How many calls an arrow stands for, where some that are drawn once are at one of its ends."""
    like: int
    """Containers that are one row because they are like one that is open."""
    resized: int
    """Of these, those that have other sizes, or parts more often, than the open one."""

    @property
    def left_out(self) -> int:
        """Things that are one row because there are too many."""
        return sum(len(unit.members) for unit in self.units if unit.middle)

    @property
    def operations(self) -> int:
        """Operations that stand in rows of several."""
        return sum(len(unit.members) for unit in self.units if unit.gathered and unit.occurrence.operation is not None)


def blocks_of(root: Block) -> list[Block]:
    """`root` and every block in it, parents first."""
    found: list[Block] = []
    pending = [root]
    while pending:
        block = pending.pop()
        found.append(block)
        pending.extend(reversed([item for item in block.items if isinstance(item, Block)]))
    return found


def _with_series(items: list[Unit | Block]) -> list[Unit | Block]:
    """`items`, where many containers in a row, all like open ones, are one row."""
    kept: list[Unit | Block] = []
    for like, group in groupby(items, key=lambda item: isinstance(item, Unit) and item.like):
        row = list(group)
        first = row[0]
        if not like or len(row) <= LONGEST_SERIES or not isinstance(first, Unit):
            kept.extend(row)
            continue
        series = replace(first, members=[member for item in row for member in item.members], series=True)
        kept.append(series)
    return kept


def _with_gathered_ends(items: list[Unit | Block]) -> list[Unit | Block]:
    """`items`, where the inputs, and the outputs, of one kind are one pill."""
    of_kind: dict[str, list[Unit]] = {}
    for item in items:
        if isinstance(item, Unit) and (kind := kind_of_end(item.occurrence.end or "")):
            of_kind.setdefault(kind, []).append(item)
    for row in of_kind.values():
        if len(row) >= LEAST_GATHERED:
            # Outputs stand where the last of them is, so that no arrow goes back.
            at = row[0] if (row[0].occurrence.end or "").startswith("input") else row[-1]
            one = replace(at, members=[member for each in row for member in each.members], series=True, gathered=True)
            items = [one if item is at else item for item in items if item is at or item not in row]
    return items


_NUMBERS = re.compile(r"\[\d+\]|\d+")


def kind_of_end(end: str) -> str:
    """What the ends of one kind have in common: "output:past" of "output:past[3][0]"; "" of what is no end."""
    kind, _, name = end.partition(":")
    return f"{kind}:{_NUMBERS.sub('', name)}" if kind in ("input", "output") else ""


def _with_gathered_operations(items: list[Unit | Block], ways: Ways) -> list[Unit | Block]:
    """`items`, where operations that follow each other are one row, as far as all else goes the ways that it goes."""
    kept: list[Unit | Block] = []
    for gathers, group in groupby(items, key=_is_lone_operation):
        row = list(group)
        made = {each[0]: each for each in ways.rows_of([item.occurrence for item in row])} if gathers else {}
        hidden = {each for members in made.values() for each in members[1:]}
        for item in row:
            members = made.get(item.occurrence)
            if members is not None and isinstance(item, Unit):
                kept.append(replace(item, members=members, series=True, gathered=True, collapsed=True))
            elif item.occurrence not in hidden:
                kept.append(item)
    return kept


def _is_lone_operation(item: Unit | Block) -> bool:
    return isinstance(item, Unit) and item.occurrence.operation is not None and len(item.members) == 1


def _without_middle(items: list[Unit | Block], most: int) -> list[Unit | Block]:
    """`items`, where of more than `most` those in the middle are one row; so are dozens of inputs or outputs."""
    for kind, limit in (("step", most), ("input", max(most, MOST_ENDS)), ("output", max(most, MOST_ENDS))):
        items = _without_middle_of(kind, items, limit)
    return items


def _without_middle_of(kind: str, items: list[Unit | Block], most: int) -> list[Unit | Block]:
    steps = [item for item in items if _kind_of(item.occurrence.end or "") == kind]
    if len(steps) <= most:
        return items
    kept = most - 1
    middle = steps[kept - kept // 2 : len(steps) - kept // 2]
    hidden = set(map(id, middle))
    first = middle[0]
    row = Unit(
        occurrence=first.occurrence,
        block=first.block if isinstance(first, Unit) else first.parent or first,
        members=[member for item in middle for member in item.members],
        series=True,
        middle=True,
    )
    return [row if item is first else item for item in items if item is first or id(item) not in hidden]


def _kind_of(end: str) -> str:
    kind = end.partition(":")[0]
    return kind if kind in ("input", "output") else "step"


def levels_of(run: Run, top: int = 0) -> dict[Occurrence, int]:
    """How deep each container lies, the root at `top`; an only child as deep as its parent: they share a frame."""
    levels: dict[Occurrence, int] = {run.root: top}
    for occurrence in preorder(run.root):
        if occurrence.children and occurrence.parent is not None:
            parent = occurrence.parent
            alone = len(parent.children) == 1 and parent is not run.root
            levels[occurrence] = levels[parent] + (0 if alone or occurrence.turn else 1)
    return levels


def deepest_level(run: Run, top: int = 0) -> int:
    """Levels of containers below the model."""
    return max(0, *levels_of(run, top).values())


def arrange(run: Run, likeness: Likeness, cut: Cut) -> Arrangement:
    """The units and blocks that are drawn under `cut`, and what passes between them."""
    return _Arranger(run, likeness, cut).arrangement()


class _Arranger:
    def __init__(self, run: Run, likeness: Likeness, cut: Cut) -> None:
        self.run = run
        self.likeness = likeness
        self.cut = cut
        self.levels = levels_of(run, cut.top)
        self.units: list[Unit] = []
        self.unit_at: dict[int, Unit] = {}
        self.copy_at: dict[int, tuple[tuple[int, int], ...]] = {}
        self.folds: list[list[Occurrence]] = []
        self.shared: set[int] = set()
        """Numbers of the folds that stand for calls of one module."""
        self.like = 0
        self.resized = 0
        self.parallel = Parallel(run)
        self.ways = Ways(run)
        self.beside: set[Occurrence] = set()
        self.root = Block(occurrence=run.root, parent=None, members=[run.root])

    def arrangement(self) -> Arrangement:
        pending = [self.root]
        while pending:
            block = pending.pop()
            opened = self._fill(block)
            pending.extend(reversed(opened))
        self._map_copies()
        bundles, feedback = self._bundles()
        return Arrangement(
            root=self.root,
            units=self.units,
            bundles=bundles,
            feedback=feedback,
            times={ends: times for ends, links in bundles.items() if (times := self._times(links))},
            like=self.like,
            resized=self.resized,
        )

    def _fill(self, block: Block) -> list[Block]:
        """Puts the content of one block in place; returns the blocks in it."""
        folds: dict[Occurrence, list[Occurrence]] = {}
        seen: dict[int, Occurrence] = {}
        children = block.occurrence.children
        groups = [[child] for child in children]
        if self.cut.fold:
            beside = self.parallel.groups(block.occurrence)
            groups = merged(self.likeness.groups(block.occurrence), beside)
            self.beside.update(group[0] for group in beside)
        for group in groups:
            first = group[0]
            if len(group) > 1:
                folds[first] = group
            if first.children and self._is_open(first, seen):
                parallel = len(group) > 1 and first in self.beside
                shared = first in self.likeness.shared
                block.items.append(
                    Block(occurrence=first, parent=block, members=group, parallel=parallel, shared=shared)
                )
                continue
            like = bool(first.children) and self.levels[first] <= self._depth_at(first)
            if like and self._sizes(first) != self._sizes(seen[self.likeness.loose[first]]):
                self.resized += 1
            block.items.append(
                Unit(
                    occurrence=first,
                    block=block,
                    members=group,
                    collapsed=bool(first.children),
                    like=like,
                    shared=first in self.likeness.shared,
                )
            )
        if self.cut.like_once:
            block.items[:] = _with_series(block.items)
        if self.cut.gather and block.parent is None:
            block.items[:] = _with_gathered_ends(block.items)
        if self.cut.operations:
            block.items[:] = _with_gathered_operations(block.items, self.ways)
        if self.cut.most is not None:
            block.items[:] = _without_middle(block.items, self.cut.most)
        for item in block.items:
            if isinstance(item, Unit):
                self._take(item)
            if not (isinstance(item, Unit) and item.series) and item.occurrence in folds:
                if item.shared:
                    self.shared.add(len(self.folds))
                self.folds.append(folds[item.occurrence])
        return [item for item in block.items if isinstance(item, Block)]

    def _take(self, unit: Unit) -> None:
        self.units.append(unit)
        self.like += 0 if unit.middle or unit.gathered else len(unit.members) if unit.series else int(unit.like)
        for member in unit.members if unit.series else unit.members[:1]:
            for leaf in range(member.first, member.past):
                self.unit_at[leaf] = unit

    def _is_open(self, container: Occurrence, seen: dict[int, Occurrence]) -> bool:
        if self.levels[container] > self._depth_at(container):
            return False
        if not self.cut.like_once or container.turn:
            return True
        opened = seen.setdefault(self.likeness.loose[container], container)
        small = container.past - container.first < SMALL
        if opened is container or small or self._is_parallel(opened, container):
            return True
        return any(inner.is_module and marks_of(self.run, inner) for inner in preorder(container))

    def _depth_at(self, container: Occurrence) -> int:
        """Down to which level containers are open there."""
        depth, deeper = self.cut.depth, dict(self.cut.deeper)
        around: Occurrence | None = container if deeper else None
        while around is not None:
            depth = max(depth, deeper.get(around, 0))
            around = around.parent
        return depth

    def _sizes(self, container: Occurrence) -> list[tuple[object, ...]]:
        """What is written of the sizes of what stands in it."""
        found: list[tuple[object, ...]] = []
        for inner in preorder(container):
            node = self.run.index.modules[inner.path] if inner.is_module else None
            outputs = [] if inner.call is None else [tensor.shape for tensor in inner.call.outputs]
            if node is not None:
                held = (*(each.shape for each in node.parameters), *(each.shape for each in node.buffers))
                found.append((held, *outputs))
        return found

    def _is_parallel(self, one: Occurrence, other: Occurrence) -> bool:
        """Whether two containers are branches of a fork: both are fed by the same."""
        return self._sources(one) == self._sources(other)

    def _sources(self, container: Occurrence) -> set[int]:
        leaves = range(container.first, container.past)
        return {link.source.first for leaf in leaves for link in self.run.incoming[leaf]} - set(leaves)

    def _map_copies(self) -> None:
        """Gives every leaf of a folded copy the unit of the same leaf in the block that is drawn."""
        for number in range(len(self.folds) - 1, -1, -1):
            drawn = self.folds[number][0]
            for copy, member in enumerate(self.folds[number]):
                for offset in range(drawn.past - drawn.first):
                    inner = self.copy_at.get(drawn.first + offset, ())
                    if copy:
                        self.unit_at[member.first + offset] = self.unit_at[drawn.first + offset]
                        inner = tuple(pair for pair in inner if pair[0] != number)
                    self.copy_at[member.first + offset] = (*inner, (number, copy))

    def _bundles(self) -> tuple[dict[tuple[Unit, Unit], list[Link]], dict[tuple[Unit, Unit], list[Link]]]:
        bundles: dict[tuple[Unit, Unit], list[Link]] = {}
        feedback: dict[tuple[Unit, Unit], list[Link]] = {}
        loops = {number for number, members in enumerate(self.folds) if comes_again(members)}
        for link in self.run.links:
            source, target = link.source.first, link.target.first
            tail, head = self.unit_at[source], self.unit_at[target]
            round = self._goes_round(source, target)
            if round is not None and round in loops:
                feedback.setdefault((tail, head), []).append(link)
            elif round is None and tail is not head:
                bundles.setdefault((tail, head), []).append(link)
        return bundles, feedback

    def _times(self, links: list[Link]) -> int:
        """How many calls of what is drawn once `links` lead to or from; 0 where no such thing is at one end alone or at
        both."""
        calls = set()
        for link in links:
            tail, head = (
                {pair for pair in self.copy_at.get(end.first, ()) if pair[0] in self.shared}
                for end in (link.source, link.target)
            )
            if around := tail ^ head:
                calls.add((frozenset(tail & around), frozenset(head & around)))
        return len(calls)

    def _goes_round(self, source: int, target: int) -> int | None:
        """The number of the fold from one copy to another of which the data goes; None where it does not."""
        copies = dict(self.copy_at.get(source, ()))
        crossed = (number for number, copy in self.copy_at.get(target, ()) if copies.get(number, copy) != copy)
        return next(crossed, None)


def comes_again(members: list[Occurrence]) -> bool:
    """Whether a fold stands for one thing that is done several times, not for several that are alike."""
    if members[0].turn:
        return is_loop(members)
    return members[0].is_module and members[0].path == members[1].path
