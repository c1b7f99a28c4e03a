"""Turns of a loop in a `forward`: the same modules called, or the same functions used, over and over in one order.

In Python a loop over time steps unrolls into thousands of calls. Where each turn looks like the one before and is fed
by it, the turns become boxes of their own in the tree of a run, so that one of them can stand for all.
"""

from __future__ import annotations

from collections.abc import Hashable

from modgraph.graph.dataflow import operation_word
from modgraph.graph.occurrences import Occurrence, Run, preorder
from modgraph.graph.periods import aligned, box_periods, periods_in, unbox
from modgraph.graph.repeats import Likeness
from modgraph.graph.series import box_series

FEWEST_TURNS = 3
FEWEST_STEPS = 12
"""Steps in all turns together: fewer are as quickly read as a box around them."""


def fold_loops(run: Run) -> Likeness:
    """Puts the turns of loops, and periods of layers that are alike (`series.py`), into boxes in the tree of `run`, and
    compares what is there then.

    Turns that are not alike are left as they were.
    """
    holders = [occurrence for occurrence in preorder(run.root) if _box_turns(occurrence)]
    likeness = Likeness(run)
    dissolved = [_dissolve_single(holder, likeness) for holder in holders]
    return box_series(run, Likeness(run) if any(dissolved) else likeness)


def is_loop(turns: list[Occurrence]) -> bool:
    """Whether the same modules are called in each turn, or none; else the turns have modules of their own."""
    first, second = ([step.path for step in turn.children if step.is_module] for turn in turns[:2])
    return first == second


def _box_turns(parent: Occurrence) -> bool:
    """Puts what may be turns of a loop into boxes; whether there were any."""
    if parent.turn or len(parent.children) < FEWEST_STEPS:
        return False
    steps = [child for child in parent.children if child.first < child.past]
    names = [_name(step) for step in steps]

    def is_worth_it(_start: int, period: int, turns: int) -> bool:
        return turns * period >= FEWEST_STEPS

    periods = periods_in(names, FEWEST_TURNS, is_worth_it)
    # One module again and again is one row as it is.
    found = aligned(steps, names, (one for one in periods if one[1] > 1 or names[one[0]][:1] != ("call",)))  # type: ignore[index]
    if found:
        box_periods(parent, steps, found)
    return bool(found)


def _name(step: Occurrence) -> Hashable:
    """Equal for steps that may be the same one in two turns; None for what takes no part in a loop."""
    if step.operation is not None:
        return ("operation", operation_word(step.operation.name))
    if step.call is not None:
        return ("call", step.call.module)
    return step.end if step.end is not None and step.end.startswith("param:") else None


def _dissolve_single(holder: Occurrence, likeness: Likeness) -> bool:
    """Takes the box off each turn that is not like its neighbours; whether there was one."""
    groups = likeness.groups(holder)
    single = [turn for group in groups if group[0].turn and len(group) < FEWEST_TURNS for turn in group]
    unbox(holder, single)
    return bool(single)
