"""Steps that come over and over, each time with other modules that are alike: `for l in layers: x = x + l(x)`.

Such a period (the layer and its sum; Linear, ReLU and Dropout of a long Sequential) becomes a box in the tree of a run,
as a turn of a loop does (`loops.py`), so that one can stand for all. The boxes are compared as any blocks are. Only
where modules of a list take part may they differ in the number of rows that went through, as experts do to which a
router sends rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from modgraph.graph.occurrences import Occurrence, Run, preorder
from modgraph.graph.parallel import FEWEST as FEWEST_EXPERTS
from modgraph.graph.parallel import AnyRows, Parallel, RoutedRows, merged
from modgraph.graph.periods import aligned, box_periods, periods_in, unbox
from modgraph.graph.repeats import Likeness

FEWEST_TURNS = 3
FEWEST_BLOCKS = 2
"""Turns, where a container is in each."""
FEWEST_LAYERS = 8
"""Steps in all turns together, where they are a plain row of layers: fewer are as quickly read as a box around them."""


def box_series(run: Run, likeness: Likeness) -> Likeness:
    """Puts the periods that are provably alike into boxes in the tree of `run`, and compares what is there then."""
    boxed: dict[Occurrence, list[Occurrence]] = {}
    routed: list[Occurrence] = []
    for make in (Likeness, AnyRows):
        holders = [holder for holder in preorder(run.root) if _may_hold_some(run, holder, routed=make is AnyRows)]
        if not holders:
            continue
        before = likeness if make is Likeness else make(run)
        series = [found for holder in holders if (found := _Series(run, holder, before)).box()]
        if not series:
            continue
        after = make(run)
        for one in series:
            one.keep_alike(after)
            boxed.update(one.kept)
            routed.extend(one.kept if make is AnyRows else ())
        likeness = Likeness(run)
        likeness.boxed.update(boxed)
    routed += _beside_each_other(run)
    if routed:
        likeness = RoutedRows(run, routed)
        likeness.boxed.update(boxed)
    return likeness


def _beside_each_other(run: Run) -> Iterator[Occurrence]:
    """What is drawn once for several that a router feeds, and is in no box."""
    parallel: Parallel | None = None
    for holder in preorder(run.root):
        if _may_be_routed(run, holder):
            parallel = parallel or Parallel(run)
            yield from (member for group in parallel.groups(holder) for member in group)


def _may_hold_some(run: Run, holder: Occurrence, *, routed: bool) -> bool:
    if holder.turn or len(holder.children) < 2 * FEWEST_BLOCKS or any(child.turn for child in holder.children):
        return False
    return not routed or _may_be_routed(run, holder)


def _may_be_routed(run: Run, holder: Occurrence) -> bool:
    """Whether members of one list are called there, with operations between them."""
    owners: dict[str, int] = {}
    for child in holder.children:
        if child.is_module and child.first < child.past:
            owner = run.index.parents[child.path] or ""
            if (run.index.modules[owner].class_name or "").startswith("torch.nn.modules.container.Module"):
                owners[owner] = owners.get(owner, 0) + 1
    return any(count >= FEWEST_EXPERTS for count in owners.values())


class _Series:
    """The periods among the children of one container."""

    def __init__(self, run: Run, holder: Occurrence, likeness: Likeness) -> None:
        self.run = run
        self.holder = holder
        self.likeness = likeness
        self.kept: dict[Occurrence, list[Occurrence]] = {}
        self.without = 0

    def box(self) -> bool:
        """Puts what may be periods into boxes; whether there were any."""
        steps = self._steps()
        names = [self._name(step) for step in steps]
        if len(set(names)) == len(names):
            return False

        def is_worth_it(start: int, period: int, turns: int) -> bool:
            return period == 1 or self._is_worth_it(steps[start : start + period], turns)

        # What comes each time alone is a fold as it is.
        periods = (one for one in periods_in(names, FEWEST_BLOCKS, is_worth_it) if one[1] > 1)
        found = aligned(steps, names, periods)
        if not found:
            return False
        self.without = self._count_beside()
        box_periods(self.holder, steps, found)
        return True

    def _steps(self) -> list[Occurrence]:
        """What ran; of a Sequential in a graph without calls, what would."""
        children = self.holder.children
        if not self.run.graph.calls:
            node = self.run.index.modules[self.holder.path]
            is_row = node.class_name == "torch.nn.modules.container.Sequential"
            return [child for child in children if child.is_module] if is_row else []
        return [child for child in children if child.first < child.past]

    def _name(self, step: Occurrence) -> Hashable:
        if (step.end or "").partition(":")[0] in ("input", "output", "const"):
            return None
        return self.likeness.strict[step]

    def _is_worth_it(self, turn: list[Occurrence], turns: int) -> bool:
        if not any(step.is_module for step in turn):
            return False
        if any(step.is_module and self.run.index.children[step.path] for step in turn):
            return turns >= FEWEST_BLOCKS
        joins = any(len({link.source for link in self.run.incoming[step.first]}) > 1 for step in turn if step.operation)
        return turns >= FEWEST_TURNS and (joins or turns * len(turn) >= FEWEST_LAYERS)

    def _count_beside(self) -> int:
        """How many things are shown without boxes, where some stand for several beside each other; else 0."""
        beside = Parallel(self.run).groups(self.holder) if _may_be_routed(self.run, self.holder) else []
        return len(merged(self.likeness.groups(self.holder), beside)) if beside else 0

    def keep_alike(self, likeness: Likeness) -> None:
        """Takes the boxes off again that are not alike, or win nothing."""
        groups = likeness.groups(self.holder)
        alike = [group for group in groups if group[0].turn and self._is_worth_it(group[0].children, len(group))]
        shown = sum(len(group[0].children) if group[0].turn else 1 for group in groups)
        if self.without and self.without <= shown:
            alike = []
        self.kept = {turn: group for group in alike for turn in group if len(group) > 1}
        unbox(self.holder, list(self._not_kept()))

    def _not_kept(self) -> Iterator[Occurrence]:
        return (child for child in self.holder.children if child.turn and child not in self.kept)
