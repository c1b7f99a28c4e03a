"""Which sizes meet some conditions, and whether what several runs hold for is all of them.

A condition on one size is a set of numbers, looked up in a list of sizes that has all small ones, those about each
number where a condition changes, and of those between as many as tell all others: one period of what is divided by.
A condition that would need too many is looked up among the small ones alone, and stays a text beyond them, as one on
several sizes does: it holds where it, or one that says more, was assumed. What cannot be shown so is not taken to hold.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from modgraph.prediction.domain import forms
from modgraph.prediction.domain.constraints import contrary, implies
from modgraph.prediction.domain.forms import Form, Symbol
from modgraph.prediction.domain.periods import Course, Window, course, merged
from modgraph.prediction.domain.sizes import Relation

Condition: TypeAlias = tuple[Form, Relation]

_EACH = 520
"""Up to it, each size is looked at."""
_FAR = (600, 640, 641, 768, 769, 1000, 1001, 1023, 1024, 1025, 2047, 2048, 4096, 4097, 65535, 65536, 1 << 20)
_MOST_SIZES = 3_000
"""Sizes of one symbol in the list."""
_MUCH = 4_000
"""A size is taken near to it where a large one is wanted."""
_SIZES_OF_A_UNIT = 16
_MOST_PARTS = 400
"""Parts of a region that are looked at until it is given up."""
_MOST_TOGETHER = 3_000
"""Sizes of several symbols that are tried together."""


@dataclass(frozen=True)
class Region:
    """The sizes that meet some conditions."""

    masks: Mapping[Symbol, int]
    """Of each symbol, the places of the sizes that it may have."""
    joint: tuple[Condition, ...] = ()
    """What holds of several symbols, or of one whose sizes do not tell it all."""
    is_empty: bool = False
    conditions: tuple[Condition, ...] = ()
    """All that it is made of."""
    stamp: int = 0
    """Which list of sizes the places are of."""


class Regions:
    """What is asked of regions over the same symbols."""

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        self.symbols = tuple(symbols)
        self.points: list[int] = []
        self._courses: dict[tuple[Form, Symbol], Course | None] = {}
        self._layout: dict[Symbol, tuple[int, list[Window]]] = {}
        """Of each symbol the period, and the sizes each of which stands for itself alone."""
        self._masks: dict[Condition, int] = {}
        self._exact: dict[Form, bool] = {}
        self._small = (1 << _EACH) - 1
        """The places of the sizes each of which is looked at."""
        self._all = 0
        self._stamp = 0
        self._parts = 0
        self.work = 0
        """Conditions that were looked at, and sizes of a list that were tried."""
        self.most: float = math.inf
        """Of these; beyond, nothing is shown to be covered."""
        self._lay()

    def know(self, conditions: Iterable[Condition]) -> None:
        """The list has the sizes that tell where these hold, as far as they are few."""
        size = len(self._courses)
        for condition in conditions:
            for form, _ in (condition, contrary(*condition)):
                symbol = _alone(form)
                if symbol is not None and (form, symbol) not in self._courses:
                    self._courses[form, symbol] = found = course(form, symbol)
                    self.work += (1 if found is None else found.period) * _cost(form) // _SIZES_OF_A_UNIT
        if len(self._courses) > size:
            self._lay()

    def of(self, conditions: Iterable[Condition], within: Region | None = None) -> Region:
        """Where all these hold."""
        start = Region({each: self._from(each) for each in self.symbols}, stamp=self._stamp)
        found = start if within is None else self._now(within)
        for each in conditions:
            if found.is_empty:
                break
            found = self._and(found, each)
        return found

    def is_told(self, region: Region) -> bool:
        """No condition on one size is in it that holds of sizes beyond those in the list, nobody knows of which."""
        return not any(_alone(form) is not None for form, _ in self._now(region).joint)

    def implied(self, region: Region, condition: Condition) -> bool:
        """It holds in the whole region, as far as that can be shown."""
        region = self._now(region)
        self.work += 1 + len(region.joint)
        symbol = _alone(condition[0])
        if symbol is not None:
            known = self._all if self._is_exact(symbol, condition) else self._small
            if not region.masks[symbol] & ~(self._mask(symbol, condition) & known):
                return True
            if self._is_exact(symbol, condition):
                return False
        if any(each == condition or implies(each, condition) for each in region.joint):
            return True
        return self._is_settled(region, condition) is True

    def is_out(self, region: Region, condition: Condition) -> bool:
        """It holds nowhere in the region, as far as that can be shown."""
        region = self._now(region)
        return region.is_empty or self._and(region, condition).is_empty

    def as_one(self, parts: Sequence[Sequence[Condition]]) -> Condition | None:
        """The bound of one size that says the same as that one of these groups holds; None where there is none."""
        symbols = {symbol for part in parts for form, _ in part for symbol in form.symbols()}
        if len(symbols) != 1:
            return None
        (symbol,) = symbols
        if not all(self._is_exact(symbol, each) for part in parts for each in part):
            return None
        mask = 0
        for part in parts:
            mask |= self.of(part).masks[symbol]
        if not mask:
            return None
        size = forms.of(symbol)
        low = self.points[(mask & -mask).bit_length() - 1]
        high = self.points[mask.bit_length() - 1]
        bounds: tuple[Condition, ...] = (
            (forms.subtract(size, forms.number(low)), ">="),
            (forms.subtract(forms.number(high), size), ">="),
        )
        return next(
            (each for each in bounds if self._is_exact(symbol, each) and self.of([each]).masks[symbol] == mask), None
        )

    def uncovered(self, region: Region, by: Sequence[Sequence[Condition]]) -> Region | None:
        """A part of the region of which is not shown that one of these holds there; None where there is none."""
        self._parts = 0
        return self._uncovered(self._now(region), by)

    def _uncovered(self, region: Region, by: Sequence[Sequence[Condition]]) -> Region | None:
        self._parts += 1
        if region.is_empty:
            return None
        if self._parts > _MOST_PARTS or self.work > self.most:
            return region
        best: list[Condition] | None = None
        left: list[Sequence[Condition]] = []
        for conditions in by:
            opened = [each for each in conditions if not self.implied(region, each)]
            if not opened:
                return None
            if any(self.is_out(region, each) for each in opened):
                continue
            left.append(conditions)
            if best is None or len(opened) < len(best):
                best = opened
        if best is None:
            return region
        for each in best:
            found = self._uncovered(self._and(region, contrary(*each)), left)
            if found is not None:
                return found
            region = self._and(region, each)
        return None

    def within(self, region: Region, held: Mapping[Symbol, int]) -> dict[Symbol, int] | None:
        """Sizes in the region, the nearest to those held; None where none are seen."""
        region = self._now(region)
        if region.is_empty:
            return None
        near = {symbol: self._about(region.masks[symbol], held[symbol], 1)[0] for symbol in self.symbols}
        if all(_holds(each, near) for each in region.joint):
            return near
        return next(self._searched(region, near), None)

    def along(
        self, region: Region, held: Mapping[Symbol, int], symbol: Symbol, how: str
    ) -> Iterator[dict[Symbol, int]]:
        """Sizes in the region of which one symbol alone is not the nearest to those held: the "nearest", the "least"
        or the "most" first."""
        region = self._now(region)
        near = self.within(region, held)
        start = {"least": 0, "most": _MUCH}.get(how, held[symbol])
        for size in self._about(region.masks[symbol], start, len(self.points)) if near else ():
            sizes = {**(near or {}), symbol: size}
            if all(_holds(each, sizes) for each in region.joint):
                yield sizes

    def _searched(self, region: Region, near: Mapping[Symbol, int]) -> Iterator[dict[Symbol, int]]:
        """One symbol is changed, then several together."""
        joint = {symbol for form, _ in region.joint for symbol in form.symbols()}
        changing = [each for each in self.symbols if each in joint]
        choices = {each: self._about(region.masks[each], near[each]) for each in changing}
        single = ({**near, symbol: size} for symbol in changing for size in choices[symbol])
        few = max(2, int(_MOST_TOGETHER ** (1 / max(1, len(changing)))))
        several = (
            {**near, **dict(zip(changing, sizes, strict=True))}
            for sizes in product(*(choices[each][:few] for each in changing))
        )
        for group in (single, several):
            yield from (sizes for sizes in group if all(_holds(each, sizes) for each in region.joint))

    # ---- the numbers -----------------------------------------------------------------------------------------------

    def _lay(self) -> None:
        """The list of sizes: of each symbol, those that tell of all others where as many as fit hold.

        Between two windows nothing changes but with the rest by the period, so one period of sizes is enough there.
        """
        points = {*range(_EACH), *_FAR}
        for symbol in self.symbols:
            known = [each for (_, of), each in self._courses.items() if of is symbol and each is not None]
            period, windows = 1, [(0, _EACH - 1)]
            for each in sorted(known, key=lambda each: each.period):
                longer = math.lcm(period, each.period)
                more = merged(windows if each.window is None else [*windows, each.window])
                if sum(last + 1 - first for first, last in _with_period(more, longer)) <= _MOST_SIZES:
                    period, windows = longer, more
            self._layout[symbol] = (period, windows)
            for first, last in _with_period(windows, period):
                points.update(range(first, last + 1))
        self.points = sorted(points)
        self._all = (1 << len(self.points)) - 1
        self._stamp += 1
        self._masks.clear()
        self._exact.clear()

    def _now(self, region: Region) -> Region:
        """The same with the places of the list that there is now."""
        return region if region.stamp == self._stamp else self.of(region.conditions)

    def _is_exact(self, symbol: Symbol, condition: Condition) -> bool:
        """The sizes in the list tell of all others whether it holds."""
        found = self._exact.get(condition[0])
        if found is None:
            period, windows = self._layout[symbol]
            form = condition[0]
            here = self._courses.get((form, symbol)) or course(form, symbol)
            is_near = here is not None and (
                here.window is None
                or any(first <= here.window[0] and here.window[1] <= last for first, last in windows)
            )
            found = self._exact[form] = here is not None and period % here.period == 0 and is_near
        return found

    def _from(self, symbol: Symbol) -> int:
        return self._all & ~((1 << bisect_left(self.points, symbol.low)) - 1)

    def _mask(self, symbol: Symbol, condition: Condition) -> int:
        """Where it may hold."""
        found = self._masks.get(condition)
        if found is None:
            self.work += len(self.points) * _cost(condition[0]) // _SIZES_OF_A_UNIT
            held = (_holds(condition, {symbol: size}) for size in self.points)
            found = int("".join("1" if each else "0" for each in held)[::-1], 2)
            if not self._is_exact(symbol, condition):
                found |= self._all & ~self._small
            self._masks[condition] = found
        return found

    def _and(self, region: Region, condition: Condition) -> Region:
        self.work += 1 + len(region.joint)
        before, region = region, replace(region, conditions=(*region.conditions, condition))
        symbol = _alone(condition[0])
        if symbol is not None:
            mask = region.masks[symbol] & self._mask(symbol, condition)
            found = replace(region, masks={**region.masks, symbol: mask}, is_empty=region.is_empty or not mask)
            if mask & ~self._small and not self._is_exact(symbol, condition) and not self.implied(before, condition):
                found = replace(found, joint=(*found.joint, condition))
            return replace(found, is_empty=True) if any(self._fails(found, each) for each in found.joint) else found
        if not condition[0].symbols():
            return region if _holds(condition, {}) else replace(region, is_empty=True)
        if self.implied(before, condition):
            return region
        is_empty = region.is_empty or self._fails(region, condition)
        return replace(region, joint=(*region.joint, condition), is_empty=is_empty)

    def _fails(self, region: Region, condition: Condition) -> bool:
        against = contrary(*condition)
        if any(each == against or implies(each, against) for each in region.joint):
            return True
        return self._is_settled(region, condition) is False

    def _is_settled(self, region: Region, condition: Condition) -> bool | None:
        """Whether it holds, where all its symbols are one size each."""
        sizes: dict[Symbol, int] = {}
        for symbol in condition[0].symbols():
            mask = region.masks[symbol]
            if not mask or mask & (mask - 1):
                return None
            sizes[symbol] = size = self.points[mask.bit_length() - 1]
            if not any(first <= size <= last for first, last in self._layout[symbol][1]):
                return None  # it stands for others, too
        return _holds(condition, sizes)

    def _about(self, mask: int, held: int, most: int = 200) -> list[int]:
        found = [size for place, size in enumerate(self.points) if mask >> place & 1]
        return sorted(found, key=lambda size: (abs(size - held), -size))[:most]


def _cost(form: Form) -> int:
    """What it takes to reckon a form at one size, where a usual one takes one."""
    return form.weight if form.weight > forms.LIGHT else 1


def _alone(form: Form) -> Symbol | None:
    symbols = form.symbols()
    return next(iter(symbols)) if len(symbols) == 1 else None


def _with_period(windows: list[Window], period: int) -> list[Window]:
    """The windows, each with one period behind it."""
    return merged([(first, last + period) for first, last in windows])


def _holds(condition: Condition, sizes: Mapping[Symbol, int]) -> bool:
    form, relation = condition
    try:
        value = form.evaluate(sizes)
    except ZeroDivisionError:
        return False
    return value >= 0 if relation == ">=" else (value == 0) is (relation == "==")
