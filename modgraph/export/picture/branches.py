"""Cards beside each other as one: what is fed by the same, feeds the same, and is of the same classes.

Thirty heads of thirty sizes would else make a row of thirty cards. They are one card, its rows in columns; nothing of
what a row says is left out, and the head of the card says that they stand beside each other.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.export.look.labels import class_title
from modgraph.export.look.parts import Row
from modgraph.export.look.states import marks_of
from modgraph.export.look.widths import BAR, column_widths, narrow_width
from modgraph.export.picture.rows import sign_of
from modgraph.export.picture.spots import Spot
from modgraph.graph.dataflow import operation_word

if TYPE_CHECKING:
    from modgraph.export.look.folding import Unit
    from modgraph.export.picture.composition import Composer

LEAST = 4
"""So many cards are worth being one."""
MOST = 128
"""More would be no table that anyone reads."""
MOST_UNITS = 3
"""Steps of a branch."""
WIDEST = 600
"""Points that the columns of a card take together."""


def beside(composer: Composer) -> bool:
    """Make one spot of those that stand beside each other; whether there were any."""
    sources: dict[Spot, set[Spot]] = {}
    targets: dict[Spot, set[Spot]] = {}
    for tail, head in composer.arrangement.bundles:
        one, other = composer.spot_of[tail], composer.spot_of[head]
        if one is not other:
            targets.setdefault(one, set()).add(other)
            sources.setdefault(other, set()).add(one)
    looped = {composer.spot_of[unit] for ends in composer.arrangement.feedback for unit in ends}
    found = False
    for content in composer.contents.values():
        groups: dict[Hashable, list[Spot]] = {}
        for spot in content:
            if isinstance(spot, Spot) and spot not in looped and _is_plain(composer, spot):
                ends = frozenset(sources.get(spot, ())), frozenset(targets.get(spot, ()))
                if all(ends):
                    groups.setdefault((*ends, tuple(_word(composer, unit) for unit in spot.units)), []).append(spot)
        for group in groups.values():
            if not LEAST <= len(group) <= MOST:
                continue
            found = True
            first, rest = group[0], set(group[1:])
            steps = zip(*(spot.units for spot in group), strict=True)
            first.units = [unit for step in steps for unit in step]
            first.branches = len(group)
            content[:] = [item for item in content if not isinstance(item, Spot) or item not in rest]
    return found


def _is_plain(composer: Composer, spot: Spot) -> bool:
    """Whether nothing is to be said of it but what it is."""
    if len(spot.units) > MOST_UNITS or spot.marks:
        return False
    return not any(
        composer.is_pill(unit)
        or unit.series
        or sign_of(composer.run, unit) is not None
        or marks_of(composer.run, unit.occurrence)
        for unit in spot.units
    )


def _word(composer: Composer, unit: Unit) -> str:
    occurrence = unit.occurrence
    if occurrence.operation is not None:
        return f"{operation_word(occurrence.operation.name)}()"
    if not occurrence.is_module:
        return (occurrence.end or "").partition(":")[0]
    return class_title(composer.run.index.modules[occurrence.path].class_name)


def laid_beside(
    rows: tuple[Row, ...], branches: int, *, narrow: bool, widest: float = WIDEST
) -> tuple[tuple[Row, ...], int]:
    """The rows of a card for `branches`, given step by step, and in how many columns they stand.

    Branches of one step fill the columns in their order; those that are written the same are one row. Of several steps
    each branch has a column to itself, one step below the other, and further branches stand below the first ones.
    """
    steps = [rows[start : start + branches] for start in range(0, len(rows), branches)]
    alike = [len({(row.title, row.detail, row.path, row.count) for row in step}) == 1 for step in steps]
    if len(steps) == 1 or all(alike):
        once = tuple(
            row
            for step, one in zip(steps, alike, strict=True)
            for row in ([replace(step[0], copies=branches)] if one else step)
        )
        return once, columns_of(once, narrow, widest) if len(steps) == 1 else 1
    most = max(1, min(branches, int(widest / _wide(rows, narrow))))
    columns = next(each for each in range(most, 0, -1) if branches % each == 0)
    ordered = (row for at in range(0, branches, columns) for step in steps for row in step[at : at + columns])
    return tuple(ordered), columns


def columns_of(rows: Sequence[Row], narrow: bool, widest: float = WIDEST) -> int:
    """In how many columns the rows stand: no more than there is room for, and no wider than high."""
    wide = _wide(rows, narrow)
    return max(1, min(int(widest / wide), math.ceil(math.sqrt(len(rows) * 34 / wide)), len(rows)))


def _wide(rows: Sequence[Row], narrow: bool) -> float:
    """Points of one column."""
    return BAR + (narrow_width(tuple(rows)) if narrow else sum(column_widths(tuple(rows))))
