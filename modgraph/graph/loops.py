"""Turns of a loop in a `forward`: the same modules called, or the same functions used, over and over in one order.

In Python a loop over time steps unrolls into thousands of calls. Where each turn looks like the one before and is fed
by it, the turns become boxes of their own in the tree of a run, so that one of them can stand for all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from modgraph.graph.dataflow import operation_word
from modgraph.graph.occurrences import Occurrence, Run, preorder
from modgraph.graph.repeats import Likeness

FEWEST_TURNS = 3
FEWEST_STEPS = 12
"""Steps in all turns together: fewer are as quickly read as a box around them."""
LONGEST_TURN = 64
"""Steps in one turn."""


def fold_loops(run: Run) -> Likeness:
    """Puts the turns of loops into boxes in the tree of `run`, and compares what is there then.

    Turns that are not alike are left as they were.
    """
    holders = [occurrence for occurrence in preorder(run.root) if _box_turns(occurrence)]
    likeness = Likeness(run)
    if not holders:
        return likeness
    dissolved = [_dissolve_single(holder, likeness) for holder in holders]
    return Likeness(run) if any(dissolved) else likeness


def _box_turns(parent: Occurrence) -> bool:
    """Puts what may be turns of a loop into boxes; whether there were any."""
    if parent.turn or len(parent.children) < FEWEST_STEPS:
        return False
    steps = [child for child in parent.children if child.first < child.past]
    kept: list[Occurrence] = []
    spans: list[tuple[int, int]] = []
    position = 0
    for start, period, turns in _loops([_name(step) for step in steps]):
        kept.extend(steps[position:start])
        for turn in range(turns):
            position = start + (turn + 1) * period
            kept.append(_turn(parent, steps[position - period : position]))
        spans.append((steps[start].first, steps[position - 1].past))
    if position == 0:
        return False
    kept.extend(steps[position:])
    # What was not called stands where it stood, or before the loop that would be around it.
    idle = [child for child in parent.children if child.first == child.past]
    place = {child: next((first for first, past in spans if first < child.first < past), child.first) for child in idle}
    parent.children[:] = sorted([*idle, *kept], key=lambda child: (place.get(child, child.first), child not in place))
    return True


def _turn(parent: Occurrence, steps: list[Occurrence]) -> Occurrence:
    box = Occurrence(path=parent.path, parent=parent, key=steps[0].key, children=steps, turn=True)
    box.first, box.past = steps[0].first, max(step.past for step in steps)
    for step in steps:
        step.parent = box
    return box


def _name(step: Occurrence) -> Hashable:
    """Equal for steps that may be the same one in two turns; None for what takes no part in a loop."""
    if step.operation is not None:
        return ("operation", operation_word(step.operation.name))
    if step.call is not None:
        return ("call", step.call.module)
    return step.end if step.end is not None and step.end.startswith("param:") else None


def _loops(names: list[Hashable]) -> Iterator[tuple[int, int, int]]:
    """Where a loop begins, how many steps a turn has, how many turns there are."""
    # agreeing[p][i]: how many names from i on are the same p places later.
    longest = min(LONGEST_TURN, len(names) // FEWEST_TURNS)
    agreeing = [_agreeing(names, period) for period in range(1, longest + 1)]
    start = 0
    while start < len(names):
        best = (0, 0)
        for period, table in enumerate(agreeing, start=1):
            turns = table[start] // period + 1 if table[start] else 1
            if turns >= FEWEST_TURNS and turns * period >= max(FEWEST_STEPS, best[0] * best[1] + 1):
                best = (period, turns)
        period, turns = best
        if not turns or (period == 1 and names[start][:1] == ("call",)):  # type: ignore[index]
            start += max(1, period * turns)
            continue
        yield start, period, turns
        start += period * turns


def _agreeing(names: list[Hashable], period: int) -> list[int]:
    table = [0] * (len(names) + 1)
    for position in reversed(range(len(names) - period)):
        same = names[position] is not None and names[position] == names[position + period]
        table[position] = table[position + 1] + 1 if same else 0
    return table


def _dissolve_single(holder: Occurrence, likeness: Likeness) -> bool:
    """Takes the box off each turn that is not like its neighbours; whether there was one."""
    kept: list[Occurrence] = []
    single = False
    for group in likeness.groups(holder):
        if not group[0].turn or len(group) >= FEWEST_TURNS:
            kept.extend(group)
            continue
        single = True
        for turn in group:
            for step in turn.children:
                step.parent = holder
            kept.extend(turn.children)
    holder.children[:] = kept
    return single
