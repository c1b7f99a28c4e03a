"""Steps that come again after a while, in a row of them; and the boxes that each time is put into."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from modgraph.graph.occurrences import Occurrence

LONGEST_TURN = 64
"""Steps in one turn."""


def periods_in(
    names: Sequence[Hashable], fewest: int, enough: Callable[[int, int, int], bool]
) -> Iterator[tuple[int, int, int]]:
    """Where turns begin, how many steps one has, how many turns there are: of each row of them the longest.

    Args:
        names: of the steps, equal for what may be the same step of two turns; None for what takes no part.
        fewest: turns.
        enough: whether turns (where they begin, steps in one, how many) are worth a box.
    """
    # agreeing[p][i]: how many names from i on are the same p places later.
    longest = min(LONGEST_TURN, len(names) // fewest)
    agreeing = [_agreeing(names, period) for period in range(1, longest + 1)]
    start = 0
    while start < len(names):
        best = (0, 0)
        for period, table in enumerate(agreeing, start=1):
            turns = table[start] // period + 1 if table[start] else 1
            if turns >= fewest and turns * period > best[0] * best[1] and enough(start, period, turns):
                best = (period, turns)
        period, turns = best
        if turns:
            yield start, period, turns
        start += max(1, period * turns)


def _agreeing(names: Sequence[Hashable], period: int) -> list[int]:
    table = [0] * (len(names) + 1)
    for position in reversed(range(len(names) - period)):
        same = names[position] is not None and names[position] == names[position + period]
        table[position] = table[position + 1] + 1 if same else 0
    return table


def aligned(
    steps: Sequence[Occurrence], names: Sequence[Hashable], found: Iterable[tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """The same turns, beginning with a module where the row is long enough to begin later."""
    kept: list[tuple[int, int, int]] = []
    free = 0
    for start, period, turns in found:
        if start < free:
            continue
        past = start + period * turns
        while past < len(names) and names[past] is not None and names[past] == names[past - period]:
            past += 1
        spare = past - start - period * turns
        start += next((by for by in range(spare + 1) if steps[start + by].is_module), 0)
        kept.append((start, period, turns))
        free = start + period * turns
    return kept


def box_periods(parent: Occurrence, steps: list[Occurrence], found: list[tuple[int, int, int]]) -> None:
    """Puts each turn of `found` into a box; `steps` are the children of `parent` among which they were found."""
    kept: list[Occurrence] = []
    spans: list[tuple[int, int]] = []
    position = 0
    for start, period, turns in found:
        kept.extend(steps[position:start])
        for turn in range(turns):
            position = start + (turn + 1) * period
            kept.append(_turn(parent, steps[position - period : position]))
        spans.append((steps[start].first, steps[position - 1].past))
    kept.extend(steps[position:])
    # What takes no part stands where it stood, or before the turns that would be around it.
    taking = set(steps)
    idle = [child for child in parent.children if child not in taking]
    place = {child: next((first for first, past in spans if first < child.first < past), child.first) for child in idle}
    parent.children[:] = sorted([*idle, *kept], key=lambda child: (place.get(child, child.first), child not in place))


def _turn(parent: Occurrence, steps: list[Occurrence]) -> Occurrence:
    box = Occurrence(path=parent.path, parent=parent, key=steps[0].key, children=steps, turn=True)
    box.first, box.past = steps[0].first, max(step.past for step in steps)
    for step in steps:
        step.parent = box
    return box


def unbox(holder: Occurrence, turns: Sequence[Occurrence]) -> None:
    """Takes the boxes `turns` off what is in them."""
    single = set(turns)
    kept: list[Occurrence] = []
    for child in holder.children:
        if child not in single:
            kept.append(child)
            continue
        for step in child.children:
            step.parent = holder
        kept.extend(child.children)
    holder.children[:] = kept
