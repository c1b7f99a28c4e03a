"""Which sizes meet some conditions, and whether what several runs hold for is all of them.

A condition on one size is a set of numbers, looked up in a list of sizes that has all small ones, and those about each
number that a condition names. One on several sizes stays a text: it holds where it, or one that says more, was assumed.
What cannot be shown so is not taken to hold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from modgraph.prediction.domain import forms
from modgraph.prediction.domain.constraints import contrary, implies
from modgraph.prediction.domain.forms import Form, Symbol
from modgraph.prediction.domain.sizes import Relation

Condition: TypeAlias = tuple[Form, Relation]

_EACH = 520
"""Up to it, each size is looked at."""
_FAR = (600, 640, 641, 768, 769, 1000, 1001, 1023, 1024, 1025, 2047, 2048, 4096, 4097, 65535, 65536, 1 << 20)
_LARGEST = 1 << 30
_MUCH = 4_000
"""A size is taken near to it where a large one is wanted."""
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
    """What holds of several symbols."""
    is_empty: bool = False


class Regions:
    """What is asked of regions over the same symbols."""

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        self.symbols = tuple(symbols)
        self.points = sorted({*range(_EACH), *_FAR})
        self._masks: dict[Condition, int] = {}
        self._parts = 0

    def know(self, conditions: Iterable[Condition]) -> None:
        """The sizes about the numbers that these name are looked at, too."""
        further: set[int] = set()
        for form, _ in conditions:
            value = _linear(form)
            if value is not None:
                further.update(size for size in (value - 1, value, value + 1, value + 2) if _EACH <= size <= _LARGEST)
        if not further.issubset(self.points):
            self.points = sorted(further.union(self.points))
            self._masks.clear()

    def of(self, conditions: Iterable[Condition], within: Region | None = None) -> Region:
        """Where all these hold."""
        found = within or Region({each: self._from(each) for each in self.symbols})
        for each in conditions:
            if found.is_empty:
                break
            found = self._and(found, each)
        return found

    def implied(self, region: Region, condition: Condition) -> bool:
        """It holds in the whole region, as far as that can be shown."""
        symbol = _alone(condition[0])
        if symbol is not None:
            return not region.masks[symbol] & ~self._mask(symbol, condition)
        if any(each == condition or implies(each, condition) for each in region.joint):
            return True
        return self._is_settled(region, condition) is True

    def is_out(self, region: Region, condition: Condition) -> bool:
        """It holds nowhere in the region, as far as that can be shown."""
        return region.is_empty or self._and(region, condition).is_empty

    def as_one(self, parts: Sequence[Sequence[Condition]]) -> Condition | None:
        """The bound of one size that says the same as that one of these groups holds; None where there is none."""
        symbols = {symbol for part in parts for form, _ in part for symbol in form.symbols()}
        if len(symbols) != 1:
            return None
        (symbol,) = symbols
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
        return next((each for each in bounds if self.of([each]).masks[symbol] == mask), None)

    def uncovered(self, region: Region, by: Sequence[Sequence[Condition]]) -> Region | None:
        """A part of the region of which is not shown that one of these holds there; None where there is none."""
        self._parts = 0
        return self._uncovered(region, by)

    def _uncovered(self, region: Region, by: Sequence[Sequence[Condition]]) -> Region | None:
        self._parts += 1
        if region.is_empty:
            return None
        if self._parts > _MOST_PARTS:
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

    def _from(self, symbol: Symbol) -> int:
        everything = (1 << len(self.points)) - 1
        return everything & ~((1 << bisect_left(self.points, symbol.low)) - 1)

    def _mask(self, symbol: Symbol, condition: Condition) -> int:
        found = self._masks.get(condition)
        if found is None:
            held = (_holds(condition, {symbol: size}) for size in self.points)
            found = self._masks[condition] = int("".join("1" if each else "0" for each in held)[::-1], 2)
        return found

    def _and(self, region: Region, condition: Condition) -> Region:
        symbol = _alone(condition[0])
        if symbol is not None:
            mask = region.masks[symbol] & self._mask(symbol, condition)
            found = replace(region, masks={**region.masks, symbol: mask}, is_empty=region.is_empty or not mask)
            return replace(found, is_empty=True) if any(self._fails(found, each) for each in region.joint) else found
        if not condition[0].symbols():
            return region if _holds(condition, {}) else replace(region, is_empty=True)
        if self.implied(region, condition):
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
            sizes[symbol] = self.points[mask.bit_length() - 1]
        return _holds(condition, sizes)

    def _about(self, mask: int, held: int, most: int = 200) -> list[int]:
        found = [size for place, size in enumerate(self.points) if mask >> place & 1]
        return sorted(found, key=lambda size: (abs(size - held), -size))[:most]


def _alone(form: Form) -> Symbol | None:
    symbols = form.symbols()
    return next(iter(symbols)) if len(symbols) == 1 else None


def _linear(form: Form) -> int | None:
    """Where a form that counts one size changes its sign."""
    terms = [(monomial, count) for monomial, count in form.terms.items() if monomial]
    if len(terms) != 1 or len(terms[0][0]) != 1 or terms[0][0][0][1] != 1 or not isinstance(terms[0][0][0][0], Symbol):
        return None
    return -form.constant // terms[0][1]


def _holds(condition: Condition, sizes: Mapping[Symbol, int]) -> bool:
    form, relation = condition
    try:
        value = form.evaluate(sizes)
    except ZeroDivisionError:
        return False
    return value >= 0 if relation == ">=" else (value == 0) is (relation == "==")
