"""Other sizes to reckon with, where a model refuses those that it was given: such that a test comes out otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product

from modgraph.prediction.domain import forms
from modgraph.prediction.domain.constraints import divides, pinned
from modgraph.prediction.domain.forms import Floor, Form, Symbol
from modgraph.prediction.domain.sizes import Conditions, Relation

MOST_TESTS = 6
"""The last of those that a run has come to, of which one may be turned."""
_LARGEST = 1024
"""Up to it, each size is tried."""
_MULTIPLE = 32
_MOST_STEPS = 128
_MOST_KEPT = 100
"""Tests before one that is turned, of which is seen whether they come out as they did."""
_MOST_SOLUTIONS = 400
"""Sizes that turn a test, of which is seen whether those before come out as they did."""
_MOST_APART = 3
"""Sizes that are looked for together."""
_SMALL, _FEW = 256, 24
"""Up to these, each of one and of two sizes is tried with what another is then."""
_NEAR = 64
"""Sizes on either side of one that is reckoned with that are tried, too."""
_MOST_ALIKE = 8
"""Sizes of which several symbols are at once."""


def other_witnesses(conditions: Conditions) -> Iterator[dict[str, int]]:
    """Witnesses with which one of the last tests before the refusal comes out otherwise, the last test first. Where
    sizes do that and leave all tests before as they are, it is these."""
    held = {symbol: symbol.witness for symbol in conditions.symbols.values()}
    first = batch_of(conditions)
    in_order = list(dict.fromkeys(conditions.decided))
    asked = [(each.form, each.relation) for each in conditions.needed.values() if each.asked][-_MOST_KEPT:]
    tests = list(dict.fromkeys(reversed(conditions.decided)))[:MOST_TESTS]
    for test in tests:
        before = [*asked, *in_order[: in_order.index(test)][-_MOST_KEPT:]]
        try:
            changed = _best(test, _turned(*test, held, first), held, before)
        except forms.TooLargeError:
            continue
        if changed is not None:
            yield {symbol.name: changed.get(symbol, size) for symbol, size in held.items()}
    for form, relation in tests:  # where it comes out so barely, nothing may be left of a size
        inside = forms.subtract(forms.number(-2), form)
        sizes = (each for each in _turned(form, relation, held, first) if _is_at_least(inside, {**held, **each}))
        changed = next(islice(sizes, 1), None) if relation == ">=" else None
        if changed is not None:
            yield {symbol.name: changed.get(symbol, size) for symbol, size in held.items()}


def _is_at_least(form: Form, sizes: Mapping[Symbol, int]) -> bool:
    value = _at(form, sizes)
    return value is not None and value >= 0


def _best(
    test: tuple[Form, Relation],
    found: Iterable[dict[Symbol, int]],
    held: Mapping[Symbol, int],
    before: Sequence[tuple[Form, Relation]],
) -> dict[Symbol, int] | None:
    """The first of these sizes that leaves the tests as they are, and with which no quotient comes to nothing: of no
    elements much is true that is of no others. Else the first that leaves the tests; else the first of all."""
    parts = [each for each in test[0].atoms() if isinstance(each, Floor) and _at(forms.of(each), held)]
    first: dict[Symbol, int] | None = None
    leaving: dict[Symbol, int] | None = None
    for changed in islice(found, _MOST_SOLUTIONS):
        sizes = {**held, **changed}
        if all(_holds(form, relation, sizes) for form, relation in before):
            if all(_at(forms.of(each), sizes) for each in parts):
                return changed
            leaving = leaving or changed
        first = first or changed
    return leaving or first


def _holds(form: Form, relation: Relation, sizes: Mapping[Symbol, int]) -> bool:
    value = _at(form, sizes)
    return value is not None and (value >= 0 if relation == ">=" else (value == 0) is (relation == "=="))


def of_few_turns(conditions: Conditions, turns: int) -> dict[str, int] | None:
    """Witnesses with which no loop over a size has more turns than these, or the least that are more; None where each
    has as few. Of several that do, the largest: parts are of one size then."""
    held = {symbol: symbol.witness for symbol in conditions.symbols.values()}
    first = batch_of(conditions)
    changed: dict[Symbol, int] = {}
    for form, number in conditions.counted.items():
        if number > turns:
            for symbol, size in _few_of(form, {**held, **changed}, first, turns).items():
                changed[symbol] = max(size, changed.get(symbol, size))
    return {symbol.name: changed.get(symbol, size) for symbol, size in held.items()} if changed else None


def _few_of(form: Form, held: Mapping[Symbol, int], batch: Symbol | None, turns: int) -> dict[Symbol, int]:
    """Sizes with which a form is the least that reaches a number; where it is of several, all of them small."""
    symbols = _sorted(form, batch)
    if len(symbols) > 1:
        for more in range(_FEW):
            sizes = {symbol: max(symbol.low, 2 + more + place) for place, symbol in enumerate(symbols)}
            if turns <= (_at(form, {**held, **sizes}) or 0) < (_at(form, held) or 0):
                return sizes
    for symbol in symbols:
        counts = {
            size: _at(form, {**held, symbol: size}) or 0
            for size in range(max(1, symbol.low), min(held[symbol], _LARGEST))
        }
        least = min((count for count in counts.values() if count >= turns), default=0)
        if least:
            return {symbol: max(size for size, count in counts.items() if count == least)}
    return {}


def batch_of(conditions: Conditions) -> Symbol | None:
    """The size that is how many there are of all else: the last that is changed for another's sake."""
    symbols = list(conditions.symbols.values())
    return conditions.symbols.get("batch") or next(iter(symbols), None)


def _turned(
    form: Form, relation: Relation, held: Mapping[Symbol, int], batch: Symbol | None
) -> Iterator[dict[Symbol, int]]:
    if relation == "!=":
        yield from _solved(form, held, batch)
        return
    wanted = forms.subtract(forms.number(-1), form) if relation == ">=" else form
    for symbol in _sorted(form, batch):
        for size in _sizes():
            value = _at(wanted, {**held, symbol: size})
            if value is not None and (value >= 0 if relation == ">=" else value != 0):
                yield {symbol: size}
                if relation != ">=":
                    break


def _solved(form: Form, held: Mapping[Symbol, int], batch: Symbol | None) -> Iterator[dict[Symbol, int]]:
    """Sizes where the form is zero."""
    found = pinned(form, "==")
    if found is not None:
        symbol, value = found
        size = value.evaluate(held)
        if size >= symbol.low:
            yield {symbol: size}
        if value.number is not None:
            return
    symbols = _sorted(form, batch)
    for symbol in symbols if divides(form) else ():
        step = math.gcd(held[symbol], _MULTIPLE)
        for size in range(held[symbol], held[symbol] + step * _MOST_STEPS, step):
            if _at(form, {**held, symbol: size}) == 0:
                yield {symbol: size}
                break
    # Two at once before one: pictures are as high as wide.
    for some in _together(symbols, batch):
        alike = (size for size in _sizes() if _at(form, {**held, **dict.fromkeys(some, size)}) == 0)
        for size in islice(alike, _MOST_ALIKE):
            yield dict.fromkeys(some, size)
    for symbol in symbols:
        size = held[symbol]
        near = sorted(range(max(symbol.low, size - _NEAR), size + _NEAR), key=lambda other: abs(other - size))
        yield from ({symbol: other} for other in near if _at(form, {**held, symbol: other}) == 0)
    if len(symbols) > 1:
        yield from _apart(form, symbols, held, batch)


def _apart(
    form: Form, symbols: Sequence[Symbol], held: Mapping[Symbol, int], batch: Symbol | None
) -> Iterator[dict[Symbol, int]]:
    """Sizes that differ where the form is zero, those first that differ least: `d*n == 10` with two and five. Of the
    form is taken that it grows with the last of them."""
    others = [symbol for symbol in symbols if symbol is not batch]
    groups = dict.fromkeys(tuple(each) for each in (others[:_MOST_APART], symbols[:_MOST_APART]) if len(each) > 1)
    for group in groups:
        *free, last = group
        most = _SMALL if len(free) == 1 else _FEW
        solved: list[dict[Symbol, int]] = []
        for sizes in product(range(1, most), repeat=len(free)):
            chosen = dict(zip(free, sizes, strict=True))
            size = _crossing(form, {**held, **chosen}, last)
            if size is not None:
                solved.append({**chosen, last: size})
        yield from sorted(solved, key=lambda each: (max(each.values()) / min(each.values()), min(each.values())))


def _crossing(form: Form, sizes: dict[Symbol, int], symbol: Symbol) -> int | None:
    """The size of a symbol where a form that only grows, or only falls, with it is zero."""

    def at(size: int) -> int | None:
        sizes[symbol] = size
        return _at(form, sizes)

    low, high = max(1, symbol.low), _LARGEST
    first, last = at(low), at(high)
    if first is None or last is None or (first > 0 and last > 0) or (first < 0 and last < 0):
        return None
    while low < high:
        middle = (low + high) // 2
        value = at(middle)
        if value is None:
            return None
        if (value < 0) is (first < 0) and value != 0 and first != 0:
            low = middle + 1
        else:
            high = middle
    return low if at(low) == 0 else None


def _sorted(form: Form, batch: Symbol | None) -> list[Symbol]:
    return sorted(form.symbols(), key=lambda symbol: (symbol is batch, symbol.name))


def _together(symbols: list[Symbol], batch: Symbol | None) -> Iterator[list[Symbol]]:
    """Symbols that may be of one size: all but the batch, each of them alone, and all."""
    others = [symbol for symbol in symbols if symbol is not batch]
    if others:
        yield others
    if len(symbols) > 1:
        yield from ([symbol] for symbol in symbols)
    yield symbols


def _sizes() -> Iterator[int]:
    """Sizes to try: those near to what models are made for come first."""
    for step in (32, 16, 8, 4):
        yield from range(step, _LARGEST, step)
    yield from range(1, _LARGEST)
    yield from (_LARGEST << more for more in range(11))


def _at(form: Form, sizes: Mapping[Symbol, int]) -> int | None:
    try:
        return form.evaluate(sizes)
    except ZeroDivisionError:
        return None
