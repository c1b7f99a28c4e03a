"""Where several paths parted: those that parted last meet first, so that what they did together is told once.

Paths are kept in the order in which they end, which says little of that: a `return` in a turn of a loop leaves one that
goes on with the next turn. What parted is seen in the events, of which two paths share the cells that came before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from modgraph.prediction.domain.events import Assume, Cell, Either, Event

Path = TypeVar("Path")


@dataclass(slots=True)
class _Spot(Generic[Path]):
    """A cell that paths have come by, or end at, and where they went from there, in the order they are given in."""

    onward: dict[int, _Spot[Path]] = field(default_factory=dict)
    """By the identity of the next cell."""
    first: Cell | None = None
    """The cell after the one at which the paths around parted; None where all of them come by it."""
    ended: list[Path] = field(default_factory=list)
    beside: list[Sequence[Event]] = field(default_factory=list)
    """What paths do next that came by here too, and of which that is told as of ones that have met others."""


def joined_as_parted(
    paths: Sequence[Path], chain_of: Callable[[Path], Cell | None], join: Callable[[Path, Path], Path]
) -> Path:
    """One of all of them: `join` of two at a time, the one that was given first before the other."""
    chains = [chain_of(each) for each in paths]
    if len(paths) <= 2 or all(each is chains[0] for each in chains):
        return _all_in_one(paths, join)
    return _all_in_one(_met(_tree(paths, chains), join), join)


def _all_in_one(paths: Sequence[Path], join: Callable[[Path, Path], Path]) -> Path:
    """Those that are given last have parted last."""
    joined = paths[-1]
    for earlier in reversed(paths[:-1]):
        joined = join(earlier, joined)
    return joined


def _tree(paths: Sequence[Path], chains: Sequence[Cell | None]) -> _Spot[Path]:
    """Where the paths went from the beginning of all. Each cell is walked over once."""
    root: _Spot[Path] = _Spot()
    spots: dict[int, _Spot[Path]] = {}
    for path, chain in zip(paths, chains, strict=True):
        new: list[Cell] = []
        cell = chain
        while cell is not None and id(cell) not in spots:
            new.append(cell)
            cell = cell.before
        spot = root if cell is None else spots[id(cell)]
        for each in reversed(new):
            spots[id(each)] = spot.onward[id(each)] = spot = _Spot(first=each)
        spot.ended.append(path)
    return root


def _met(root: _Spot[Path], join: Callable[[Path, Path], Path]) -> list[Path]:
    """What is left of the paths, where those have met that parted and of which nothing went on with another."""
    order: list[_Spot[Path]] = []
    pending = [root]
    while pending:
        spot = pending.pop()
        order.append(spot)
        _look_beside(spot)
        pending += spot.onward.values()
    found: dict[int, list[Path]] = {}
    for spot in reversed(order):
        left = [*spot.ended]
        for part in spot.onward.values():
            own = found.pop(id(part))
            has_parted = len(spot.onward) > 1 and not part.beside
            left += [_all_in_one(own, join)] if has_parted else own
        found[id(spot)] = left
    return found[id(root)]


def _look_beside(spot: _Spot[Path]) -> None:
    """For each way on from a spot, what other paths have done as the ones that go there have, and were told of it when
    they had met another."""
    parts = list(spot.onward.values())
    if len(parts) == 1 and not spot.beside:
        return
    ways = {id(part): _events_of(part) for part in parts}
    for part in parts:
        beside = [*spot.beside, *(way for other, way in ways.items() if other != id(part))]
        event = ways[id(part)][0]
        part.beside = [rest for way in beside if (rest := _after(event, way))]


def _events_of(spot: _Spot[Path]) -> tuple[Event, ...]:
    """The first two of a way on."""
    further = next(iter(spot.onward.values()), None)
    cells = (spot.first, None if further is None else further.first)
    return tuple(cell.event for cell in cells if cell is not None)


def _after(event: Event, way: Sequence[Event]) -> Sequence[Event]:
    """What follows on that event where something was told of paths that have met; nothing where it is not among it."""
    if not way or way[0] is event:
        return way[1:]
    if len(way) > 1 and isinstance(apart := way[1], Either):
        for before, now in apart.instead:
            if before is event:
                return next((arm[len(now) :] for arm in (apart.first, apart.second) if arm[: len(now)] == now), ())
    if isinstance(met := way[0], Either) and isinstance(event, Assume):
        return next((arm[1:] for arm in (met.first, met.second) if arm and arm[0] == event), ())
    return ()
