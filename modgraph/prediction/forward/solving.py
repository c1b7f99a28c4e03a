"""Other sizes to reckon with, where a model refuses those that it was given: such that a test comes out otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from modgraph.prediction.domain import forms
from modgraph.prediction.domain.constraints import divides, pinned
from modgraph.prediction.domain.forms import Form, Symbol
from modgraph.prediction.domain.sizes import Conditions, Relation

MOST_TESTS = 6
"""The last of those that a run has come to, of which one may be turned."""
_LARGEST = 1024


def other_witnesses(conditions: Conditions) -> Iterator[dict[str, int]]:
    """Witnesses with which one of the last tests before the refusal comes out otherwise, the last test first."""
    held = {symbol: symbol.witness for symbol in conditions.symbols.values()}
    tests = list(dict.fromkeys(reversed(conditions.decided)))[:MOST_TESTS]
    for form, relation in tests:
        changed = _turned(form, relation, held)
        if changed is not None:
            yield {symbol.name: changed.get(symbol, size) for symbol, size in held.items()}


def _turned(form: Form, relation: Relation, held: Mapping[Symbol, int]) -> dict[Symbol, int] | None:
    if relation == "!=":
        return _solved(form, held)
    wanted = forms.subtract(forms.number(-1), form) if relation == ">=" else form
    symbols = sorted(form.symbols(), key=lambda symbol: symbol.name)
    for symbol in symbols:
        for size in _sizes(held[symbol]):
            value = _at(wanted, {**held, symbol: size})
            if value is not None and (value >= 0 if relation == ">=" else value != 0):
                return {symbol: size}
    return None


def _solved(form: Form, held: Mapping[Symbol, int]) -> dict[Symbol, int] | None:
    """Sizes where the form is zero."""
    found = pinned(form, "==")
    if found is not None:
        symbol, value = found
        size = value.evaluate(held)
        if size >= symbol.low:
            return {symbol: size}
        return None
    symbols = sorted(form.symbols(), key=lambda symbol: symbol.name)
    # One of them at first; then all that are not what a form is multiplied by.
    for symbol in symbols if len(symbols) <= 2 else ():
        for size in _sizes(held[symbol], divides(form)):
            if _at(form, {**held, symbol: size}) == 0:
                return {symbol: size}
    for some in _together(form, symbols):
        for size in _sizes(None, divides(form)):
            if _at(form, {**held, **dict.fromkeys(some, size)}) == 0:
                return dict.fromkeys(some, size)
    return None


def _together(form: Form, symbols: list[Symbol]) -> Iterator[list[Symbol]]:
    """Symbols that may be of one size: those alike in where they stand, then all."""
    yield [symbol for symbol in symbols if not any(m == ((symbol, 1),) for m in form.terms)] or symbols
    yield symbols[-2:]
    yield symbols


def _sizes(present: int | None, larger: bool = False) -> Iterator[int]:
    """Sizes to try: those near to what models are made for come first."""
    if larger and present is not None:
        yield from (present * factor for factor in (2, 3, 4, 5, 6, 7, 8))
    for step in (32, 16, 8, 4):
        yield from range(step, _LARGEST, step)
    yield from range(1, _LARGEST)


def _at(form: Form, sizes: Mapping[Symbol, int]) -> int | None:
    try:
        return form.evaluate(sizes)
    except ZeroDivisionError:
        return None
