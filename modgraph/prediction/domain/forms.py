"""Forms of sizes: polynomials with integer coefficients over symbols and floor divisions, in one normal form.

`((h - 1) // 2 + 1) // 2` and `(h + 3) // 4` are one form. Whole numbers only, and floor division as Python has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

MAX_TERMS = 64
"""A form with more, besides a number, is not reckoned with."""
MAX_WEIGHT = 200
"""Nor is one with more symbols and floor divisions, at any depth: a loop over a size may double them in each turn."""
LIGHT = 8
"""A weight up to which a form is reckoned part by part, whatever stands in it twice."""
_REMEMBERED = 8192
"""Results of each operation: a run reckons with few forms, and with each of them often."""
_DEPTH = 12
"""Of floor divisions inside each other whose bounds are looked at."""


class TooLargeError(Exception):
    """A form of more terms, or more in them, than are reckoned with."""


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A size that is left open. Two are never the same, whatever their names."""

    name: str
    witness: int
    """A size that it may have, with which is reckoned where forms do not decide."""
    low: int = 1

    @property
    def weight(self) -> int:
        return 1

    def key(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Floor:
    """numerator // denominator, which cannot be divided further."""

    numerator: Form
    denominator: Form

    @property
    def weight(self) -> int:
        return 1 + self.numerator.weight + self.denominator.weight

    def key(self) -> str:
        return f"{self.numerator.key()}//{self.denominator.key()}"


Atom = Symbol | Floor
Monomial = tuple[tuple[Atom, int], ...]
"""Atoms with their powers, in the order of their keys; () for a number."""
Terms = dict[Monomial, int]


class Form:
    """A polynomial. Equal ones have the same terms."""

    __slots__ = ("_hash", "_key", "terms", "weight")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.weight = sum(atom.weight * power for monomial, count in terms.items() if count for atom, power in monomial)
        """How many symbols and floor divisions are in it, each as often as it stands there: what it costs to reckon."""
        if len(terms) - (() in terms) > MAX_TERMS or self.weight > MAX_WEIGHT:
            raise TooLargeError
        self.terms = dict(sorted(((m, c) for m, c in terms.items() if c), key=lambda term: _order(term[0])))
        self._key: str | None = None
        self._hash: int | None = None

    def key(self) -> str:
        """The same of equal ones, and of others only where symbols share a name."""
        if self._key is None:
            shown = (f"{c}{''.join(f'*{a.key()}^{n}' for a, n in m)}" for m, c in self.terms.items())
            self._key = f"({'+'.join(shown)})"
        return self._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and (self is other or self.terms == other.terms)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(self.terms.items()))
        return self._hash

    @property
    def number(self) -> int | None:
        """What it is, where no symbol is in it."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def constant(self) -> int:
        """The term without symbols."""
        return self.terms.get((), 0)

    def atoms(self) -> Iterable[Atom]:
        return {atom: None for monomial in self.terms for atom, _ in monomial}

    def symbols(self) -> frozenset[Symbol]:
        """Those in it, at any depth."""
        found: set[Symbol] = set()
        for atom in self.atoms():
            found |= {atom} if isinstance(atom, Symbol) else atom.numerator.symbols() | atom.denominator.symbols()
        return frozenset(found)

    def evaluate(self, sizes: Mapping[Symbol, int]) -> int:
        """Its value at these sizes.

        Raises:
            ZeroDivisionError: it divides by a size that is zero there.
        """
        return self._at(sizes, {} if self.weight > LIGHT else None)

    def _at(self, sizes: Mapping[Symbol, int], known: dict[Form, int] | None) -> int:
        """Args:
        known: values of forms inside a heavy one, in which the same stands many times.
        """
        found = None if known is None else known.get(self)
        if found is not None:
            return found
        total = 0
        for monomial, factor in self.terms.items():
            for atom, power in monomial:
                if isinstance(atom, Symbol):
                    factor *= sizes[atom] ** power
                else:
                    factor *= (atom.numerator._at(sizes, known) // atom.denominator._at(sizes, known)) ** power
            total += factor
        if known is not None:
            known[self] = total
        return total

    def __repr__(self) -> str:
        return f"Form{self.key()}"


def _order(monomial: Monomial) -> tuple[int, tuple[tuple[str, int], ...]]:
    return -sum(power for _, power in monomial), tuple((atom.key(), power) for atom, power in monomial)


def number(value: int) -> Form:
    return Form({(): value})


def of(atom: Atom) -> Form:
    return Form({((atom, 1),): 1})


@lru_cache(maxsize=_REMEMBERED)
def add(first: Form, second: Form, factor: int = 1) -> Form:
    """first + factor * second"""
    terms = dict(first.terms)
    for monomial, count in second.terms.items():
        terms[monomial] = terms.get(monomial, 0) + factor * count
    return _halved(terms)


def subtract(first: Form, second: Form) -> Form:
    return add(first, second, -1)


@lru_cache(maxsize=_REMEMBERED)
def scale(form: Form, factor: int) -> Form:
    return Form({monomial: count * factor for monomial, count in form.terms.items()})


@lru_cache(maxsize=_REMEMBERED)
def multiply(first: Form, second: Form) -> Form:
    terms: Terms = {}
    for mine, left in first.terms.items():
        for theirs, right in second.terms.items():
            both = _product(mine, theirs)
            terms[both] = terms.get(both, 0) + left * right
    return _halved(terms)


def _halved(terms: Terms) -> Form:
    """x - x // 2 is (x + 1) // 2, and x - (x + 1) // 2 is x // 2: either has one term less."""
    for monomial, count in terms.items():
        for place, (atom, power) in enumerate(monomial if count else ()):
            by = atom.denominator.number if isinstance(atom, Floor) and power == 1 else None
            if by is None or by % 2:
                continue
            assert isinstance(atom, Floor)
            others = (*monomial[:place], *monomial[place + 1 :])
            whole = _by_number(atom.numerator, by // 2)
            parts = [(_product(others, inner), factor) for inner, factor in whole.terms.items() if inner]
            if len(parts) != 1 or terms.get(parts[0][0], 0) != -count * parts[0][1]:
                continue
            rest = {each: held for each, held in terms.items() if each not in (monomial, parts[0][0])}
            rest[others] = rest.get(others, 0) + count * whole.constant
            other = _by_number(add(atom.numerator, Form({(): by // 2})), by)
            return add(Form(rest), multiply(Form({others: -count}), other))
    return Form(terms)


def _product(first: Monomial, second: Monomial) -> Monomial:
    powers = dict(first)
    for atom, power in second:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda each: each[0].key()))


def content(form: Form) -> int:
    """The largest number that divides all terms but that without symbols."""
    return math.gcd(*(count for monomial, count in form.terms.items() if monomial)) if form.terms else 0


def largest(form: Form) -> int:
    """The number with which most of one product is in it."""
    return max((abs(count) for monomial, count in form.terms.items() if monomial), default=0)


# ---- division ------------------------------------------------------------------------------------------------------


def exact_quotient(form: Form, by: Form) -> Form | None:
    """form / by, where that is a form again."""
    if not by.terms:
        return None
    rest, quotient = form, number(0)
    head, divisor = next(iter(by.terms.items()))
    for _ in range(MAX_TERMS):
        if not rest.terms:
            return quotient
        found = None
        for monomial, count in rest.terms.items():
            over = _without(monomial, head)
            if over is not None and count % divisor == 0:
                found = Form({over: count // divisor})
                break
        if found is None:
            return None
        quotient = add(quotient, found)
        rest = subtract(rest, multiply(found, by))
    return None


def _without(monomial: Monomial, part: Monomial) -> Monomial | None:
    powers = dict(monomial)
    for atom, power in part:
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        powers[atom] = left
    return tuple((atom, power) for atom, power in powers.items() if power)


@lru_cache(maxsize=_REMEMBERED)
def floor_divide(form: Form, by: Form) -> Form:
    """form // by, for a divisor that is not zero; where it has symbols, that is the caller's to see to.

    Raises:
        ZeroDivisionError: the divisor is zero.
    """
    if not by.terms:
        raise ZeroDivisionError("integer division or modulo by zero")
    exact = exact_quotient(form, by)
    if exact is not None:
        return exact
    divisor = by.number
    if divisor is not None:
        return _by_number(form, divisor) if divisor > 0 else _by_number(scale(form, -1), -divisor)
    return _by_form(form, by)


def _by_form(form: Form, by: Form) -> Form:
    common, factor = _common([form, by])
    if common or factor > 1:
        shared = Form({common: factor})
        smaller = [exact_quotient(each, shared) for each in (form, by)]
        if smaller[0] is not None and smaller[1] is not None:
            return floor_divide(smaller[0], smaller[1])
    if len(by.terms) == 1:
        # k*d + r over d: what the divisor divides is taken out.
        ((head, divisor),) = by.terms.items()
        out: Terms = {}
        rest: Terms = {}
        for monomial, count in form.terms.items():
            over = _without(monomial, head)
            if over is not None and count % divisor == 0:
                out[over] = count // divisor
            else:
                rest[monomial] = count
        if out:
            return add(Form(out), floor_divide(Form(rest), by))
    low = lower(form)
    if low is not None and low >= 0:
        left = lower(subtract(by, form))
        if left is not None and left > 0:
            return number(0)
    return of(Floor(form, by))


def _common(forms: list[Form]) -> tuple[Monomial, int]:
    """What divides all terms of all of these: atoms with powers, and a number."""
    monomials = [monomial for form in forms for monomial in form.terms]
    powers = dict(monomials[0])
    for monomial in monomials[1:]:
        theirs = dict(monomial)
        powers = {atom: min(power, theirs[atom]) for atom, power in powers.items() if atom in theirs}
    factor = math.gcd(*(count for form in forms for count in form.terms.values()))
    return tuple(powers.items()), factor


def _by_number(form: Form, divisor: int) -> Form:
    if divisor == 1:
        return form
    out: Terms = {}
    rest: Terms = {}
    for monomial, count in form.terms.items():
        whole, left = divmod(count, divisor)
        if monomial and (2 * left > divisor or (2 * left == divisor and count < 0)):
            whole, left = whole + 1, left - divisor
        out[monomial], rest[monomial] = whole, left
    remainder = Form(rest)
    return add(Form(out), _proper(remainder, divisor))


def _proper(form: Form, divisor: int) -> Form:
    """form // divisor, of coefficients that are less than half of it."""
    if form.number is not None:
        return number(form.number // divisor)
    if next(count for monomial, count in form.terms.items() if monomial) < 0:
        # -(-x // d) is (x + d - 1) // d.
        turned = add(scale(form, -1), number(divisor - 1))
        return scale(_by_number(turned, divisor), -1)
    common = math.gcd(content(form), divisor)
    if common > 1:
        smaller = {m: (c // common) for m, c in form.terms.items()}
        return _by_number(Form(smaller), divisor // common)
    nested = _nested(form, divisor)
    if nested is not None:
        return nested
    low, high = lower(form), upper(form)
    if low is not None and high is not None and math.floor(low) // divisor == math.floor(high) // divisor:
        return number(math.floor(low) // divisor)
    return of(Floor(form, number(divisor)))


def _nested(form: Form, divisor: int) -> Form | None:
    """(x // a + k) // b as (x + k*a) // (a*b)."""
    parts = [(monomial, count) for monomial, count in form.terms.items() if monomial]
    if len(parts) != 1 or parts[0][1] != 1 or len(parts[0][0]) != 1:
        return None
    atom, power = parts[0][0][0]
    if power != 1 or not isinstance(atom, Floor):
        return None
    inner = atom.denominator.number
    if inner is None or inner < 0:
        return None
    return _by_number(add(atom.numerator, number(form.constant * inner)), inner * divisor)


# ---- bounds --------------------------------------------------------------------------------------------------------

_Loose = dict[Monomial, Fraction]


def upper(form: Form) -> Fraction | None:
    """A number that it never exceeds; None where none was found."""
    low = lower(scale(form, -1))
    return None if low is None else -low


@lru_cache(maxsize=_REMEMBERED)
def lower(form: Form) -> Fraction | None:
    """A number that it never falls below; None where none was found."""
    loose = {monomial: Fraction(count) for monomial, count in form.terms.items()}
    found = [_shifted(loose), _shifted(_without_floors(loose))]
    # It is a whole number.
    return max((Fraction(math.ceil(each)) for each in found if each is not None), default=None)


def _without_floors(terms: _Loose) -> _Loose:
    """Less than these, with no floor division by a number: n/d - (d-1)/d <= n//d <= n/d."""
    for _ in range(_DEPTH):
        changed: _Loose = {}
        again = False
        for monomial, count in terms.items():
            place = next((i for i, (atom, n) in enumerate(monomial) if _is_linear(atom, n)), None)
            others = monomial if place is None else (*monomial[:place], *monomial[place + 1 :])
            if place is None or any(_low_of(atom) < 0 for atom, _ in others):
                changed[monomial] = changed.get(monomial, Fraction(0)) + count
                continue
            atom = monomial[place][0]
            assert isinstance(atom, Floor)
            assert atom.denominator.number is not None
            divisor = atom.denominator.number
            again = True
            for inner, factor in atom.numerator.terms.items():
                both = _product(others, inner)
                changed[both] = changed.get(both, Fraction(0)) + count * factor / divisor
            if count > 0:
                changed[others] = changed.get(others, Fraction(0)) - count * Fraction(divisor - 1, divisor)
        terms = changed
        if not again:
            break
    return terms


def _is_linear(atom: Atom, power: int) -> bool:
    return isinstance(atom, Floor) and power == 1 and atom.denominator.number is not None


def _low_of(atom: Atom) -> Fraction:
    """A number that an atom never falls below; one below zero where it is not known."""
    if isinstance(atom, Symbol):
        return Fraction(atom.low)
    low, by = lower(atom.numerator), atom.denominator.number
    if by is not None:
        return Fraction(math.floor(low) // by) if low is not None else Fraction(-1)
    positive = lower(atom.denominator)
    return Fraction(0 if low is not None and low >= 0 and positive is not None and positive > 0 else -1)


def _shifted(terms: _Loose) -> Fraction | None:
    """The least value, where each atom counts from its lower bound and no term takes away."""
    total: _Loose = {}
    lows: dict[Atom, Fraction] = {}
    for monomial, count in terms.items():
        parts: _Loose = {(): count}
        for atom, power in monomial:
            low = lows.get(atom)
            if low is None:
                low = lows[atom] = _low_of(atom)
                if isinstance(atom, Floor) and low < 0:
                    return None
            for _ in range(power):
                grown: _Loose = {}
                for inner, factor in parts.items():
                    further = _product(inner, ((atom, 1),))
                    grown[further] = grown.get(further, Fraction(0)) + factor
                    grown[inner] = grown.get(inner, Fraction(0)) + factor * low
                parts = grown
            if len(parts) > MAX_TERMS:
                return None
        for inner, factor in parts.items():
            total[inner] = total.get(inner, Fraction(0)) + factor
    least = total.pop((), Fraction(0))
    return least if all(count >= 0 for count in total.values()) else None


# ---- how it is written ---------------------------------------------------------------------------------------------


def written(form: Form) -> str:
    """In Python's notation: "h // 32", "2*w + 1", "h % 7"."""
    terms, remainders = _remainders(form)
    parts = [(count, _factors(monomial)) for monomial, count in terms.items() if monomial]
    parts += [(count, f"{_factor(value)} % {by}") for count, value, by in remainders]
    parts.sort(key=lambda part: part[0] < 0)
    last = terms.get((), 0)
    text = ""
    for count, shown in parts:
        text += _joined(text, count, shown)
    if last or not text:
        text += f"{' - ' if last < 0 else ' + '}{abs(last)}" if text else str(last)
    return text


def remainder(form: Form) -> tuple[Form, int, int] | None:
    """What divided by which number leaves which number where the form is zero, if that is all that the form says."""
    terms, found = _remainders(form)
    if len(found) != 1 or any(terms) or abs(found[0][0]) != 1:
        return None
    count, value, by = found[0]
    left = -terms.get((), 0) * count
    return (value, by, left) if 0 <= left < by else None


def _joined(before: str, count: int, shown: str) -> str:
    is_divided = "//" in shown or "%" in shown
    if abs(count) != 1:
        shown = f"{abs(count)}*({shown})" if is_divided else f"{abs(count)}*{shown}"
    elif not before and count < 0 and is_divided:
        shown = f"({shown})"
    if not before:
        return f"-{shown}" if count < 0 else shown
    return f"{' - ' if count < 0 else ' + '}{shown}"


def _remainders(form: Form) -> tuple[Terms, list[tuple[int, Form, int]]]:
    """The terms, without those that together are c * (x % d), and these."""
    terms = dict(form.terms)
    found: list[tuple[int, Form, int]] = []
    for monomial, count in form.terms.items():
        if len(monomial) != 1 or not _is_linear(*monomial[0]):
            continue
        atom = monomial[0][0]
        assert isinstance(atom, Floor)
        by = atom.denominator.number
        assert by is not None
        inner = {m: c for m, c in atom.numerator.terms.items() if m}
        if count % by or any(terms.get(m, 0) * by != -count * c for m, c in inner.items()):
            continue
        factor = -count // by
        del terms[monomial]
        for each in inner:
            del terms[each]
        terms[()] = terms.get((), 0) - factor * atom.numerator.constant
        found.append((factor, atom.numerator, by))
    return terms, found


def _factors(monomial: Monomial) -> str:
    if len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], Floor):
        floor = monomial[0][0]
        return f"{_factor(floor.numerator)} // {_factor(floor.denominator)}"
    shown: list[str] = []
    for atom, power in monomial:
        name = atom.name if isinstance(atom, Symbol) else f"({_factors(((atom, 1),))})"
        shown.append(name if power == 1 else f"{name}**{power}")
    return "*".join(shown)


def _factor(form: Form) -> str:
    text = written(form)
    return text if text.isidentifier() or text.isdecimal() else f"({text})"
