"""Other sizes to reckon with, where a model refuses those that it was given: such that a test comes out otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from modgraph.prediction.domain import forms
from modgraph.prediction.domain.constraints import divides, pinned
from modgraph.prediction.domain.forms import Form, Symbol
from modgraph.prediction.domain.sizes import Conditions, Relation

MOST_TESTS = 6
"""The last of those that a run has come to, of which one may be turned."""
_LARGEST = 1024
"""Up to it, each size is tried."""
_MULTIPLE = 32
_MOST_STEPS = 128


def other_witnesses(conditions: Conditions) -> Iterator[dict[str, int]]:
    """Witnesses with which one of the last tests before the refusal comes out otherwise, the last test first."""
    held = {symbol: symbol.witness for symbol in conditions.symbols.values()}
    first = batch_of(conditions)
    tests = list(dict.fromkeys(reversed(conditions.decided)))[:MOST_TESTS]
    for form, relation in tests:
        changed = _turned(form, relation, held, first)
        if changed is not None:
            yield {symbol.name: changed.get(symbol, size) for symbol, size in held.items()}


def of_few_turns(conditions: Conditions, turns: int) -> dict[str, int] | None:
    """Witnesses with which no loop over a size has more turns than these, or the least that are more; None where each
    has as few. Of several that do, the largest: parts are of one size then."""
    held = {symbol: symbol.witness for symbol in conditions.symbols.values()}
    first = batch_of(conditions)
    changed: dict[Symbol, int] = {}
    for form, number in conditions.counted.items():
        for symbol in _sorted(form, first) if number > turns else ():
            sizes = range(max(1, symbol.low), min(held[symbol], _LARGEST))
            counts = {size: _at(form, {**held, symbol: size}) or 0 for size in sizes}
            least = min((count for count in counts.values() if count >= turns), default=0)
            if least:
                size = max(size for size, count in counts.items() if count == least)
                changed[symbol] = max(size, changed.get(symbol, size))
                break
    return {symbol.name: changed.get(symbol, size) for symbol, size in held.items()} if changed else None


def batch_of(conditions: Conditions) -> Symbol | None:
    """The size that is how many there are of all else: the last that is changed for another's sake."""
    symbols = list(conditions.symbols.values())
    return conditions.symbols.get("batch") or next(iter(symbols), None)


def _turned(
    form: Form, relation: Relation, held: Mapping[Symbol, int], batch: Symbol | None
) -> dict[Symbol, int] | None:
    if relation == "!=":
        return _solved(form, held, batch)
    wanted = forms.subtract(forms.number(-1), form) if relation == ">=" else form
    for symbol in _sorted(form, batch):
        for size in _sizes():
            value = _at(wanted, {**held, symbol: size})
            if value is not None and (value >= 0 if relation == ">=" else value != 0):
                return {symbol: size}
    return None


def _solved(form: Form, held: Mapping[Symbol, int], batch: Symbol | None) -> dict[Symbol, int] | None:
    """Sizes where the form is zero."""
    found = pinned(form, "==")
    if found is not None:
        symbol, value = found
        size = value.evaluate(held)
        if size >= symbol.low:
            return {symbol: size}
        return None
    symbols = _sorted(form, batch)
    for symbol in symbols if divides(form) else ():
        step = math.gcd(held[symbol], _MULTIPLE)
        for size in range(held[symbol], held[symbol] + step * _MOST_STEPS, step):
            if _at(form, {**held, symbol: size}) == 0:
                return {symbol: size}
    # Two at once before one: pictures are as high as wide.
    for some in _together(symbols, batch):
        for size in _sizes():
            if _at(form, {**held, **dict.fromkeys(some, size)}) == 0:
                return dict.fromkeys(some, size)
    return None


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
