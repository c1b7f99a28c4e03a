"""Conditions on one size alone: what they say together is counted out, in as many sizes as tell it of all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import takewhile

from modgraph.prediction.domain import forms
from modgraph.prediction.domain.forms import Form, Symbol
from modgraph.prediction.domain.periods import course
from modgraph.prediction.domain.sizes import Relation

_Condition = tuple[Form, Relation]
_MOST = 20_000
"""Sizes times conditions that are counted out, of one symbol."""


def without_counted_out(found: Sequence[_Condition]) -> list[_Condition]:
    """The conditions without those that follow, of one size, from others of the same size."""
    dropped: set[_Condition] = set()
    for symbol, conditions in _by_symbol(found):
        sizes = _telling(symbol, conditions) if len(conditions) > 1 else None
        if sizes is None:
            continue
        broken = {each: {size for size in sizes if not _holds(each, symbol, size)} for each in conditions}
        for each in sorted(conditions, key=_worth):
            others = [broken[other] for other in conditions if other != each and other not in dropped]
            if broken[each] <= set().union(*others):
                dropped.add(each)
    return [each for each in found if each not in dropped]


def with_single_sizes(found: Sequence[_Condition]) -> list[_Condition]:
    """The conditions, in fewer words where those on one size leave one: "h == 15"; and a bound that is not taken is the
    next one: "h >= 6" of "h >= 5" and "h != 5"."""
    told = dict.fromkeys(found)
    for symbol, conditions in _by_symbol(found):
        sizes = _telling(symbol, conditions)
        left = [n for n in sizes or () if all(_holds(each, symbol, n) for each in conditions)]
        if sizes is not None and len(left) == 1 and left[0] < sizes.stop - _period(symbol, conditions):
            only: _Condition = (forms.subtract(forms.of(symbol), forms.number(left[0])), "==")
            told = {(only if each in conditions else each): None for each in told}
        else:
            told = _with_moved_bounds(told, symbol)
    return list(told)


def _with_moved_bounds(told: dict[_Condition, None], symbol: Symbol) -> dict[_Condition, None]:
    for form, relation in list(told):
        sign = form.terms.get(((symbol, 1),))
        if relation != ">=" or sign not in (1, -1) or form.symbols() != {symbol} or len(form.terms) > 2:
            continue
        bound, steps = -sign * form.constant, range(len(told))
        apart = [(forms.add(forms.of(symbol), forms.number(-bound - sign * step)), "!=") for step in steps]
        taken: list[_Condition] = list(takewhile(told.__contains__, apart))  # type: ignore[arg-type]
        moved: _Condition = (forms.subtract(form, forms.number(len(taken))), ">=")
        told = {(moved if each == (form, relation) else each): None for each in told if each not in taken}
    return told


def _by_symbol(found: Iterable[_Condition]) -> list[tuple[Symbol, list[_Condition]]]:
    groups: dict[Symbol, list[_Condition]] = {}
    for form, relation in found:
        symbols = form.symbols()
        if len(symbols) == 1:
            groups.setdefault(next(iter(symbols)), []).append((form, relation))
    return list(groups.items())


def _telling(symbol: Symbol, conditions: Sequence[_Condition]) -> range | None:
    """Sizes of which what the conditions say together is true of all: those up to where each goes on by its period, and
    one period more; None where these are too many, or not known."""
    courses = [course(form, symbol) for form, _ in conditions]
    if None in courses:
        return None
    last = max((each.window[1] for each in courses if each is not None and each.window is not None), default=0)
    stop = max(last + 1, symbol.low) + _period(symbol, conditions)
    weight = sum(form.weight if form.weight > forms.LIGHT else 1 for form, _ in conditions)
    # In numbers: of a range of so many sizes, Python has no length.
    return range(symbol.low, stop) if (stop - symbol.low) * weight <= _MOST else None


def _period(symbol: Symbol, conditions: Sequence[_Condition]) -> int:
    return math.lcm(*(found.period for form, _ in conditions if (found := course(form, symbol)) is not None))


def _holds(condition: _Condition, symbol: Symbol, size: int) -> bool:
    form, relation = condition
    try:
        value = form.evaluate({symbol: size})
    except ZeroDivisionError:
        return False
    return value >= 0 if relation == ">=" else (value == 0) is (relation == "==")


def _worth(condition: _Condition) -> tuple[int, int]:
    """What is left out first: that two are apart, then what takes most words."""
    form, relation = condition
    return ("!=", ">=", "==").index(relation), -len(forms.written(form))
