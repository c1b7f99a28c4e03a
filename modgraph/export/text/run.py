"""What the summary says of a run that was verified or measured."""

from __future__ import annotations

import textwrap

from modgraph.export.text.table import Pen
from modgraph.graph.measures import CallCost, Profile, Verification
from modgraph.graph.model import Graph

MAX_COSTLY = 3
"""Leaves named that take the most."""
MAX_NOT_COUNTED = 4


def verification_text(graph: Graph, width: int, pen: Pen) -> list[str]:
    """What came of running the recorded graph again from its edges; nothing where that was not asked for."""
    found = graph.verification
    if found is None:
        return []
    again = f"{found.repeated:,} of {found.steps:,} step{'s' * (found.steps != 1)} run again from the recorded edges"
    if found.differences:
        same = f"{len(found.differences):,} gave other values"
    elif found.repeated:
        same = "all identical" if found.identical == found.repeated else "all the same up to rounding"
    else:
        same = "nothing compared"
    rows = [f"{_verdict(found)}  {again} · {same}"]
    rows += [
        f"  not run again: {reason}" for reason in list(dict.fromkeys(one.reason for one in found.not_repeated))[:3]
    ]
    return _wrapped(rows, width, pen)


def _verdict(found: Verification) -> str:
    if found.proven:
        return f"verified with {found.gaps:,} gap{'s' * (found.gaps != 1)}" if found.gaps else "verified"
    return "nothing to compare" if not found.outputs and not found.differences else "not verified"


def cost_text(graph: Graph, width: int, pen: Pen) -> list[str]:
    """Operations and time of one run, and what takes the most; nothing where it was not measured."""
    found = graph.profile
    if found is None:
        return []
    least = "at least " if found.not_counted else ""
    parts = [f"{least}{quantity(found.flops)}FLOP"]
    if found.seconds is not None:
        parts.append(duration(found.seconds))
    rows = [f"cost        {' · '.join(parts)} a run"]
    costly = _costly(graph, found)
    if costly:
        rows.append(f"most        {', '.join(costly)}")
    if found.not_counted:
        named = [f"{name} {count}×" for name, count in sorted(found.not_counted, key=lambda one: -one[1])]
        more = f", {len(named) - MAX_NOT_COUNTED} more" if len(named) > MAX_NOT_COUNTED else ""
        rows.append(f"not counted {', '.join(named[:MAX_NOT_COUNTED])}{more}: torch has no formula for them")
    if found.problem:
        rows.append(f"            {found.problem}")
    return _wrapped(rows, width, pen)


def _costly(graph: Graph, found: Profile) -> list[str]:
    """The leaves that take the most time, or without a clock the most operations."""
    parents = {call.parent for call in graph.calls}

    def cost(one: CallCost) -> float:
        return one.seconds if one.seconds is not None else float(one.flops)

    by_module: dict[str, float] = {}
    for one in found.calls:
        if one.call not in parents:
            module = graph.calls[one.call].module
            by_module[module] = by_module.get(module, 0.0) + cost(one)
    whole = sum(by_module.values())
    if not whole:
        return []
    ranked = sorted(by_module.items(), key=lambda item: (-item[1], item[0]))[:MAX_COSTLY]
    return [f"{module or 'the root'} {100 * spent / whole:.0f} %" for module, spent in ranked]


def quantity(number: float) -> str:
    """ "3.64 G" of 3,640,000,000."""
    if number < 0:
        return f"-{quantity(-number)}"
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f} "


def duration(seconds: float) -> str:
    """ "21.3 ms" of 0.0213."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def _wrapped(rows: list[str], width: int, pen: Pen) -> list[str]:
    return [
        line
        for row in rows
        for line in textwrap.wrap(pen.plain(row), max(width, 40), subsequent_indent=" " * 12, break_on_hyphens=False)
    ]
