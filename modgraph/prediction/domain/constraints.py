"""Conditions on sizes, as a reader wants them: few, and as plain as they can be said.

What is said is what is needed, no less: a condition is left out only where the others imply it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from modgraph.prediction.domain import forms
from modgraph.prediction.domain.forms import Floor, Form, Monomial, Symbol
from modgraph.prediction.domain.single_sizes import with_single_sizes, without_counted_out
from modgraph.prediction.domain.sizes import Needed, Relation

_Condition = tuple[Form, Relation]


def reduced(needed: Iterable[Needed]) -> list[tuple[Form, Relation]]:
    """The conditions, each on the smallest form, without those that follow from others."""
    return without_implied(list(dict.fromkeys(simplest(each.form, each.relation) for each in needed)))


def contrary(form: Form, relation: Relation) -> tuple[Form, Relation]:
    """The condition that holds where that one does not, on the smallest form."""
    if relation == ">=":
        return simplest(forms.subtract(forms.number(-1), form), ">=")
    return simplest(form, "!=" if relation == "==" else "==")


def is_of_equals(form: Form) -> bool:
    """The form is zero wherever all its sizes are equal."""
    first, *others = sorted(form.symbols(), key=lambda symbol: symbol.name)
    try:
        for other in others:
            form = substituted(form, other, forms.of(first))
    except forms.TooLargeError:
        return False
    return form.number == 0


@dataclass(frozen=True, slots=True)
class _Divisible:
    """value % by == 0"""

    value: Form
    by: int


def constraints(needed: Iterable[Needed]) -> tuple[str, ...]:
    """The conditions in Python's notation, without those that follow from others."""
    return written(reduced(needed))


def written(simple: Sequence[tuple[Form, Relation]]) -> tuple[str, ...]:
    """Reduced conditions in Python's notation."""
    simple = with_single_sizes(_with_equations(simple))
    divisible = [found for form, relation in simple if (found := _divisible(form, relation)) is not None]
    rest = [each for each in simple if _divisible(*each) is None]
    told = [f"{_operand(each.value)} % {each.by} == 0" for each in _merged(divisible)]
    return tuple(dict.fromkeys((*(_written(*each) for each in rest), *told)))


def _with_equations(simple: Sequence[tuple[Form, Relation]]) -> list[tuple[Form, Relation]]:
    """What is at least a number and at most that is it."""
    bounds = {form for form, relation in simple if relation == ">="}
    told: dict[tuple[Form, Relation], None] = {}
    for form, relation in simple:
        is_both = relation == ">=" and forms.scale(form, -1) in bounds
        told[simplest(form, "==") if is_both else (form, relation)] = None
    return list(told)


def simplest(form: Form, relation: Relation) -> tuple[Form, Relation]:
    """The same condition on the smallest form."""
    common = forms.content(form)
    if relation != ">=":
        if common > 1 and form.constant % common == 0:
            form = Form({monomial: count // common for monomial, count in form.terms.items()})
        first = next((count for monomial, count in form.terms.items() if monomial), 1)
        return (forms.scale(form, -1) if first < 0 else form), relation
    if common > 1:
        form = Form({monomial: count // common for monomial, count in form.terms.items()})
    alone = _alone(form)
    if alone is not None:
        atom, sign = alone
        by = atom.denominator.number
        assert by is not None
        # n // d >= k is n >= k*d; n // d <= k is n <= k*d + d - 1
        more = form.constant * by if sign > 0 else form.constant * by + by - 1
        return simplest(forms.add(forms.scale(atom.numerator, sign), forms.number(more)), relation)
    return form, relation


def _alone(form: Form) -> tuple[Floor, int] | None:
    """The floor division by a number that is all the form has besides a number, and its sign."""
    parts: list[tuple[Monomial, int]] = [(m, c) for m, c in form.terms.items() if m]
    if len(parts) != 1 or abs(parts[0][1]) != 1 or len(parts[0][0]) != 1 or parts[0][0][0][1] != 1:
        return None
    atom = parts[0][0][0][0]
    if isinstance(atom, Floor) and atom.denominator.number is not None:
        return atom, parts[0][1]
    return None


def substituted(form: Form, symbol: Symbol, value: Form) -> Form:
    """The form with another in the place of a symbol."""
    total = forms.number(0)
    for monomial, count in form.terms.items():
        product = forms.number(count)
        for atom, power in monomial:
            if isinstance(atom, Symbol):
                part = value if atom is symbol else forms.of(atom)
            else:
                above, below = (substituted(each, symbol, value) for each in (atom.numerator, atom.denominator))
                part = forms.floor_divide(above, below)
            for _ in range(power):
                product = forms.multiply(product, part)
        total = forms.add(total, product)
    return total


def multiples(conditions: Iterable[_Condition]) -> dict[Symbol, int]:
    """Of each size that some conditions say to be a multiple of a number: that number."""
    found: dict[Symbol, int] = {}
    for condition in conditions:
        each = _divisible(*condition)
        for symbol in each.value.symbols() if each is not None else ():
            if each is not None and each.value == forms.of(symbol):
                found[symbol] = math.lcm(found.get(symbol, 1), each.by)
    return found


def under(form: Form, known: Mapping[Symbol, int]) -> Form:
    """The form where sizes are multiples of numbers, if that is shorter: of (n + 3) // 4 with n % 4 == 0, n // 4."""
    for symbol in sorted(form.symbols() & known.keys(), key=lambda each: each.name):
        by = known[symbol]
        part = forms.floor_divide(forms.of(symbol), forms.number(by))
        try:
            changed = _with_whole(substituted(form, symbol, forms.scale(part, by)), part, symbol, by)
        except forms.TooLargeError:
            continue
        if len(str(forms.written(changed))) < len(str(forms.written(form))):
            form = changed
    return form


def _with_whole(form: Form, part: Form, symbol: Symbol, by: int) -> Form:
    """With a size for each part of it that stands there so many times."""
    ((monomial, _),) = part.terms.items()
    atom, total = monomial[0][0], forms.number(0)
    for each, count in form.terms.items():
        power = next((times for held, times in each if held == atom), 0)
        product = forms.number(count)
        if power and count % by**power == 0:
            product = forms.number(count // by**power)
            each = tuple((symbol if held == atom else held, times) for held, times in each)
        for held, times in each:
            for _ in range(times):
                product = forms.multiply(product, forms.of(held))
        total = forms.add(total, product)
    return total


def pinned(form: Form, relation: Relation) -> tuple[Symbol, Form] | None:
    """The symbol that a condition sets equal to a number or another symbol, and that."""
    if relation != "==":
        return None
    parts = [(m, c) for m, c in form.terms.items() if m]
    plain = all(len(m) == 1 and m[0][1] == 1 and isinstance(m[0][0], Symbol) and abs(c) == 1 for m, c in parts)
    if not plain or not 1 <= len(parts) <= 2:
        return None
    symbol = parts[-1][0][0][0]
    assert isinstance(symbol, Symbol)
    rest = forms.subtract(form, Form({parts[-1][0]: parts[-1][1]}))
    return symbol, forms.scale(rest, -parts[-1][1])


def without_implied(found: Sequence[tuple[Form, Relation]]) -> list[tuple[Form, Relation]]:
    """The conditions without those that follow from others."""
    kept: list[tuple[Form, Relation]] = []
    pins = [(each, pin) for each in found if (pin := pinned(*each)) is not None]
    # Numbers first: "h == 224" says more than "h == w".
    pins.sort(key=lambda each: each[1][1].number is None)
    rest = [each for each in found if pinned(*each) is None]
    values: list[tuple[Symbol, Form]] = []
    for each, _ in pins:
        form = _with_values(each[0], values)
        if form is None or not _is_settled(form, "=="):
            kept.append(each)
            pin = None if form is None else pinned(form, "==")
            values += [pin] if pin is not None else []
    puts: dict[tuple[Form, Relation], tuple[Form, Relation]] = {each: each for each in kept}
    for form, relation in rest:
        put = _with_values(form, values)
        if put is None or not _is_settled(put, relation):
            puts.setdefault((form if put is None else put, relation), (form, relation))
    return [puts[each] for each in _few(list(puts))]


def _few(found: list[tuple[Form, Relation]]) -> list[tuple[Form, Relation]]:
    kept = _strongest(found)
    bounds = [each for each in kept if each[1] == ">="]
    if len(bounds) * len(kept) <= _MOST_PAIRS:
        kept = _without_weaker(kept, bounds)
    lows = [low for each in kept if (low := _least(*each)) is not None]
    kept = [each for each in kept if not _is_settled_above(each, lows)]
    apart = [form for form, relation in kept if relation == "!="]
    return without_counted_out([each for each in kept if each[1] != "!=" or not _differ(each[0], apart)])


def _without_weaker(found: list[_Condition], bounds: Sequence[_Condition]) -> list[_Condition]:
    """Without what a bound implies. Of two that imply each other, one stays: that of fewer words."""
    dropped: set[_Condition] = set()
    for each in sorted(found, key=lambda each: -each[0].weight):
        if any(implies(other, each) for other in bounds if other != each and other not in dropped):
            dropped.add(each)
    return [each for each in found if each not in dropped]


def _differ(form: Form, others: Sequence[Form]) -> bool:
    """Of two sizes that are not equal, which others say as well: of h // 2 != w // 2 they are not."""
    pin = pinned(form, "==") if len(form.symbols()) > 1 else None
    if pin is None or len(others) > _MOST_APART:
        return False
    puts = (_with_values(other, [pin]) for other in others if other != form)
    return any(put is not None and put.number == 0 for put in puts)


_MOST_APART = 40
_MOST_PAIRS = 20_000
"""Of a bound and a condition of another form, of which is asked whether the one implies the other."""


def _strongest(found: Sequence[tuple[Form, Relation]]) -> list[tuple[Form, Relation]]:
    """The conditions without those that a bound implies which is on the same form but for a number: as many questions
    as there are conditions, and a loop over a size has one for each turn."""
    least: dict[tuple[tuple[Monomial, int], ...], int] = {}
    for form, relation in found:
        if relation == ">=":
            key = _without_number(form)
            least[key] = min(form.constant, least.get(key, form.constant))

    def is_implied(form: Form, relation: Relation) -> bool:
        if relation == "==" or form.number is not None:
            return False
        low = least.get(_without_number(form))
        if low is not None and form.constant > low:
            return True
        high = least.get(_without_number(forms.scale(form, -1))) if relation == "!=" else None
        return high is not None and form.constant < -high

    return [each for each in found if not is_implied(*each)]


def _without_number(form: Form) -> tuple[tuple[Monomial, int], ...]:
    return tuple(term for term in form.terms.items() if term[0])


def _is_settled_above(condition: tuple[Form, Relation], lows: Sequence[tuple[Symbol, int]]) -> bool:
    """It holds of all sizes that are as large as these."""
    form, relation = condition
    if form.number is not None or _least(*condition) is not None:
        return False
    try:
        for symbol, low in lows:
            if symbol in form.symbols():
                more = forms.of(Symbol(symbol.name, symbol.witness))
                form = substituted(form, symbol, forms.add(more, forms.number(low - 1)))
    except (ZeroDivisionError, forms.TooLargeError):
        return False
    return _is_settled(form, relation)


def _least(form: Form, relation: Relation) -> tuple[Symbol, int] | None:
    """The symbol of which a condition says that it is at least a number, and that."""
    found = pinned(form, "==") if relation == ">=" else None
    if found is None or found[1].number is None or not form.evaluate({found[0]: found[1].number + 1}) > 0:
        return None
    return found[0], found[1].number


def _with_values(form: Form, values: list[tuple[Symbol, Form]]) -> Form | None:
    try:
        for symbol, value in values:
            form = substituted(form, symbol, value)
    except (ZeroDivisionError, forms.TooLargeError):
        return None
    return form


def _is_settled(form: Form, relation: Relation) -> bool:
    """It holds whatever the sizes are."""
    if relation == ">=":
        low = forms.lower(form)
        return low is not None and low >= 0
    if relation == "==":
        return form.number == 0
    low, high = forms.lower(form), forms.upper(form)
    return (low is not None and low > 0) or (high is not None and high < 0)


def implies(one: tuple[Form, Relation], other: tuple[Form, Relation]) -> bool:
    """What is at least five is at least three, and is not four."""
    if one[1] != ">=" or other[1] == "==":
        return False
    try:
        if other[1] == ">=":
            return _is_settled(forms.subtract(other[0], one[0]), ">=")
        below = forms.add(one[0], forms.number(1))
        return any(_is_settled(forms.subtract(each, below), ">=") for each in (other[0], forms.scale(other[0], -1)))
    except forms.TooLargeError:
        return False


def divides(form: Form) -> bool:
    """The form is zero where one size is a multiple of another number."""
    return _divisible(simplest(form, "==")[0], "==") is not None


def _divisible(form: Form, relation: Relation) -> _Divisible | None:
    """The form is that of x % d == 0."""
    if relation != "==":
        return None
    for monomial, count in form.terms.items():
        if len(monomial) != 1 or monomial[0][1] != 1 or not isinstance(monomial[0][0], Floor):
            continue
        atom, by = monomial[0][0], abs(count)
        whole = atom.denominator.number
        if whole is None or by < 2 or whole % by:
            continue
        # of x = n // (d / by), what x // by leaves; or what is missing to the next multiple, (x + by - 1) // by
        for more in (0, whole // by - whole):
            try:
                above = forms.add(atom.numerator, forms.number(more))
                value = forms.floor_divide(above, forms.number(whole // by))
                remainder = forms.subtract(value, forms.scale(forms.of(atom), by))
            except forms.TooLargeError:
                continue
            if form in (remainder, forms.scale(remainder, -1)):
                return _Divisible(value, by)
    return None


_MOST_MERGED = 40


def _merged(found: list[_Divisible]) -> list[_Divisible]:
    """x % a == 0 and (x // a) % b == 0 is x % (a*b) == 0."""
    merged = list(dict.fromkeys(found))
    if len(merged) > _MOST_MERGED:
        return merged
    while True:
        pairs = ((one, other) for one in merged for other in merged if one is not other)
        pair = next((each for each in pairs if _quotient(each[0]) == each[1].value), None)
        if pair is None:
            break
        one, other = pair
        merged = [each for each in merged if each is not one and each is not other]
        merged.append(_Divisible(one.value, one.by * other.by))
        merged = list(dict.fromkeys(merged))
    return [each for each in merged if not any(o is not each and _follows(each, o) for o in merged)]


def _follows(found: _Divisible, other: _Divisible) -> bool:
    """x % (a*b) == 0 has (x // a) % b == 0 follow, and the same of x / a rounded up."""
    more, rest = divmod(other.by, found.by)
    return rest == 0 and any(
        forms.floor_divide(forms.add(other.value, forms.number(up)), forms.number(factor)) == found.value
        for factor in range(1, more + 1)
        if more % factor == 0
        for up in (0, factor - 1)
    )


def _quotient(found: _Divisible) -> Form:
    return forms.floor_divide(found.value, forms.number(found.by))


def _written(form: Form, relation: Relation) -> str:
    divided = [each for each in form.terms if each]
    if relation == "!=" and (found := _divisible(form, "==")) is not None:
        return f"{_operand(found.value)} % {found.by} != 0"
    rest = forms.remainder(form) if relation != ">=" else None
    if rest is not None:
        return f"{_operand(rest[0])} % {rest[1]} {relation} {rest[2]}"
    left = Form({m: c for m, c in form.terms.items() if m and c > 0})
    right = Form({m: -c for m, c in form.terms.items() if m and c < 0})
    if not divided or not left.terms:
        return f"{forms.written(forms.add(right, forms.number(0)))} {_TURNED[relation]} {form.constant}"
    if not right.terms:
        return f"{forms.written(left)} {relation} {-form.constant}"
    constant = form.constant
    more = forms.number(abs(constant))
    left, right = (forms.add(left, more), right) if constant > 0 else (left, forms.add(right, more))
    return f"{forms.written(left)} {relation} {forms.written(right)}"


_TURNED = {"==": "==", "!=": "!=", ">=": "<="}


def _operand(form: Form) -> str:
    text = forms.written(form)
    return text if text.isidentifier() else f"({text})"
