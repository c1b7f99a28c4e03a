"""How the sign of a form of one size goes on, so that finitely many sizes tell it of all.

Along one rest by a period, a form of floor divisions by numbers is a polynomial: from some size on its sign stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from modgraph.prediction.domain.forms import Floor, Form, Symbol

MOST_PERIOD = 2_048
"""A form of a longer period is not looked at."""
_MOST_DEGREE = 3
_REMEMBERED = 8192

Window = tuple[int, int]
"""The first and the last size of some."""


@dataclass(frozen=True, slots=True)
class Course:
    """Before and behind the window, the sign of a form depends only on what the period leaves of the size."""

    period: int
    window: Window | None
    """None where it is so of all sizes."""


@lru_cache(maxsize=_REMEMBERED)
def course(form: Form, symbol: Symbol) -> Course | None:
    """Of a form of this size alone; None where it is not known."""
    period, degree = _period(form), _degree(form)
    if period is None or period > MOST_PERIOD or degree is None or degree > _MOST_DEGREE:
        return None
    if degree <= 1:
        return Course(period, _where_it_turns(form, symbol, period))
    last = _where_it_stays(form, symbol, period, degree)
    return None if last is None else Course(period, (0, last))


def merged(windows: list[Window]) -> list[Window]:
    """Those that meet or overlap as one."""
    found: list[Window] = []
    for first, last in sorted(windows):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def _period(form: Form) -> int | None:
    """What a size goes up by for each floor division to leave the same."""
    found = 1
    for atom in form.atoms():
        if isinstance(atom, Symbol):
            continue
        by, inner = atom.denominator.number, _period(atom.numerator)
        if by is None or by <= 0 or inner is None or inner * by > MOST_PERIOD:
            return None
        found = math.lcm(found, inner * by)
    return found


def _degree(form: Form) -> int | None:
    """Of the polynomial that it is along one rest; None for a floor division of one that is of a square: what that
    leaves has another period."""
    found = 0
    for monomial in form.terms:
        total = 0
        for atom, power in monomial:
            degree = 1
            if isinstance(atom, Floor):
                inner = _degree(atom.numerator)
                if inner is None or any(isinstance(a, Floor) and _degree(a.numerator) != 1 for a in _atoms(atom)):
                    return None
                degree = inner
            total += degree * power
        found = max(found, total)
    return found


def _atoms(atom: Floor) -> list[Floor | Symbol]:
    return list(atom.numerator.atoms())


def _where_it_turns(form: Form, symbol: Symbol, period: int) -> Window | None:
    """Of one that goes up, or down, by the same in each period."""
    values = [form.evaluate({symbol: size}) for size in range(period)]
    step = form.evaluate({symbol: period}) - values[0]
    if step == 0:
        return None
    turns = [size + period * (-value // step) for size, value in enumerate(values)]
    first, last = min(turns), max(turns) + period
    return None if last < 0 else (max(first, 0), last)


def _where_it_stays(form: Form, symbol: Symbol, period: int, degree: int) -> int | None:
    """A size from which on no sign changes along any rest; None where that is far away."""
    turn = 1
    while turn * period <= MOST_PERIOD:
        if all(_stays(form, symbol, turn * period + rest, period, degree) for rest in range(period)):
            return turn * period
        turn *= 2
    return None


def _stays(form: Form, symbol: Symbol, start: int, period: int, degree: int) -> bool:
    """A polynomial none of whose differences is of another sign than it keeps that."""
    row = [form.evaluate({symbol: start + period * number}) for number in range(degree + 1)]
    heads = [row[0]]
    while len(row) > 1:
        row = [after - before for before, after in pairwise(row)]
        heads.append(row[0])
    if heads[0] == 0:
        return not any(heads)
    return all(each >= 0 for each in heads) if heads[0] > 0 else all(each <= 0 for each in heads)
