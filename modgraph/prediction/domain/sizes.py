"""Sizes that are left open: numbers with which a rule reckons as with any other, and that remember their form.

A `Size` has a *witness*, a number that it may be. What its form decides is decided for all sizes; where it does not,
the witness decides, and the condition under which that is right is written down. It passes for an `int` and is none:
where Python itself needs a number (`range`, an index, a float), it asks for it, and then the condition is that the size
is its witness. So a size is never lost without a word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, cast

from modgraph.prediction.domain import forms
from modgraph.prediction.domain.forms import Form, Symbol, TooLargeError

Relation = Literal["==", "!=", ">="]
HUGE = 2**40
"""No size, and no product of sizes, is taken to reach it."""
_MOST_TIMES = 2**16
"""Nor so many times one of them."""
_MAX_POWER = 8
_MOST_DECIDED = 1000


class Limit(int):
    """A bound of the prediction itself, not of what it follows: a size that is left open is always beyond it."""


class Room(int):
    """A bound of the prediction itself, of what is made in so many parts as a number says: the number with which is
    reckoned decides, and no other is looked for because of it (`forward/solving.py`)."""


@dataclass(frozen=True, slots=True)
class Needed:
    """A condition under which what was found holds: `form` stands in that relation to zero."""

    form: Form
    relation: Relation
    where: Any = None
    """The place of the source."""
    asked: bool = False
    """Not compared: Python needed the number."""
    is_of_rule: bool = False
    """Functions of torch alone compared it: what comes of that is what they give, or that they refuse."""
    test: str = ""
    """What of the program asked for it: "`n % 2`"."""

    def holds(self, sizes: Mapping[Symbol, int]) -> bool:
        value = self.form.evaluate(sizes)
        return value == 0 if self.relation == "==" else value != 0 if self.relation == "!=" else value >= 0


class Conditions:
    """What is needed in one run, and its symbols."""

    def __init__(
        self,
        place: Callable[[], object] = lambda: None,
        in_rule: Callable[[], bool] = lambda: False,
        test: Callable[[], str] = lambda: "",
    ) -> None:
        self.place = place
        self.test = test
        self.in_rule = in_rule
        self.symbols: dict[str, Symbol] = {}
        self.needed: dict[tuple[Form, Relation], Needed] = {}
        self.decided: list[tuple[Form, Relation]] = []
        """What held of the witnesses wherever they decided, in order, the latest of them alone."""
        self.counted: dict[Form, int] = {}
        """How many turns of a loop there are, or parts of a tensor: each with its witness."""

    def symbol(self, name: str, witness: int, low: int = 1) -> int:
        """The size of that name; the same for the same name."""
        found = self.symbols.get(name)
        if found is None:
            found = self.symbols[name] = Symbol(name, witness, low)
        return cast(int, Size(self, forms.of(found), found.witness))

    def need(self, form: Form, relation: Relation, asked: bool = False) -> None:
        """Writes it down; `asked`: nothing was compared, a number was needed."""
        factors = [atom for monomial in form.terms for atom, _ in monomial] if len(form.terms) == 1 else []
        parts = [forms.of(atom) for atom in factors]
        is_product = bool(parts) and all((low := forms.lower(each)) is not None and low >= 0 for each in parts)
        if relation == "!=" and is_product:
            # A product of sizes that is not zero has no factor that is.
            for each in parts:
                at_least_one = forms.subtract(each, forms.number(1))
                if not _decided(at_least_one, ">="):
                    self._need(at_least_one, ">=", asked)
            return
        self._need(form, relation, asked)

    def decide(self, form: Form, relation: Relation) -> None:
        """Writes down that it was decided so."""
        self.decided.append((form, relation))
        if len(self.decided) > _MOST_DECIDED:
            del self.decided[: _MOST_DECIDED // 2]
        self.need(form, relation)

    def _need(self, form: Form, relation: Relation, asked: bool) -> None:
        held = self.needed.get((form, relation))
        if held is None or (held.asked and not asked):
            self.needed[form, relation] = Needed(form, relation, self.place(), asked, self.in_rule(), self.test())
        elif held.is_of_rule and not self.in_rule():
            self.needed[form, relation] = replace(held, is_of_rule=False)


def _decided(form: Form, relation: Relation) -> bool | None:
    """Whether it stands in that relation to zero; None where some sizes do and others may not."""
    number = form.number
    if number is not None:
        return number == 0 if relation == "==" else number != 0 if relation == "!=" else number >= 0
    low, high = forms.lower(form), forms.upper(form)
    if relation == ">=":
        return True if low is not None and low >= 0 else False if high is not None and high < 0 else None
    is_apart = (low is not None and low > 0) or (high is not None and high < 0)
    if not is_apart:
        common = forms.content(form)
        is_apart = common > 1 and form.constant % common != 0
    return (relation == "!=") if is_apart else None


class Size:
    """A size that is left open; passes for an int."""

    __slots__ = ("conditions", "form", "witness")
    conditions: Conditions
    form: Form
    witness: int

    def __init__(self, conditions: Conditions, form: Form, witness: int) -> None:
        self.conditions = conditions
        self.form = form
        self.witness = witness

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # `isinstance(size, int)`
        return int

    # ---- reckoning -------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return self._with(other, forms.add, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, forms.subtract, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: forms.subtract(b, a), lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, forms.multiply, lambda a, b: a * b)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __invert__(self) -> Any:
        return -self - 1

    def __floordiv__(self, other: Any) -> Any:
        return self._divided(self, other, lambda a, b: a // b)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._divided(other, self, lambda a, b: a // b)

    def __mod__(self, other: Any) -> Any:
        whole = self._divided(self, other, lambda a, b: a % b)
        return self - other * whole if as_form(other) is not None and whole is not NotImplemented else whole

    def __rmod__(self, other: Any) -> Any:
        whole = self._divided(other, self, lambda a, b: a % b)
        return other - self * whole if as_form(other) is not None and whole is not NotImplemented else whole

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Any:
        return _ratio(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _ratio(other, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if type(other) is int and 0 <= other <= _MAX_POWER and modulus is None:
            result: Any = 1
            for _ in range(other):
                result = self * result
            return result
        return pow(settled(self), settled(other), settled(modulus))

    def __rpow__(self, other: Any) -> Any:
        return other ** settled(self)

    def __lshift__(self, other: Any) -> Any:
        return self * 2**other if type(other) is int and 0 <= other < 32 else settled(self) << settled(other)

    def __rshift__(self, other: Any) -> Any:
        return self // 2**other if type(other) is int and 0 <= other < 32 else settled(self) >> settled(other)

    def __rlshift__(self, other: Any) -> Any:
        return other << settled(self)

    def __rrshift__(self, other: Any) -> Any:
        return other >> settled(self)

    def __and__(self, other: Any) -> Any:
        if type(other) is int and other > 0 and (other & (other + 1)) == 0:
            return self % (other + 1)
        return settled(self) & settled(other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return settled(self) | settled(other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return settled(self) ^ settled(other)

    __rxor__ = __xor__

    def __floor__(self) -> Any:
        return self

    __ceil__ = __trunc__ = __floor__

    def __round__(self, digits: Any = None) -> Any:
        return self if digits is None or digits >= 0 else round(settled(self), digits)

    def _with(self, other: Any, on_forms: Callable[[Form, Form], Form], on_numbers: Callable[[Any, Any], Any]) -> Any:
        theirs = as_form(other)
        if theirs is None:
            if isinstance(other, float):
                return on_numbers(Ratio(self, 1), other)
            return on_numbers(settled(self), other) if isinstance(other, complex) else NotImplemented
        try:
            form = on_forms(self.form, theirs)
        except TooLargeError:
            return on_numbers(settled(self), settled(other))
        return _made(self.conditions, form, on_numbers(self.witness, witness_of(other)))

    def _divided(self, left: Any, right: Any, on_numbers: Callable[[Any, Any], Any]) -> Any:
        """left // right; what `on_numbers` gives, where that cannot be said of their forms."""
        mine, theirs = as_form(left), as_form(right)
        if mine is None or theirs is None:
            if isinstance(left, float) or isinstance(right, float):
                return on_numbers(float(left), float(right))
            return NotImplemented
        if right == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        if theirs.number is None and right < 0:
            return settled(left) // settled(right)
        try:
            form = forms.floor_divide(mine, theirs)
        except TooLargeError:
            return settled(left) // settled(right)
        return _made(self.conditions, form, witness_of(left) // witness_of(right))

    # ---- comparing -------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Any:
        return self._is(other, "==", 0, 1)

    def __ne__(self, other: object) -> Any:
        return self._is(other, "!=", 0, 1)

    def __ge__(self, other: Any) -> Any:
        return True if type(other) is Limit else self._is(other, ">=", 0, 1)

    def __gt__(self, other: Any) -> Any:
        return True if type(other) is Limit else self._is(other, ">=", -1, 1)

    def __le__(self, other: Any) -> Any:
        return False if type(other) is Limit else self._is(other, ">=", 0, -1)

    def __lt__(self, other: Any) -> Any:
        return False if type(other) is Limit else self._is(other, ">=", -1, -1)

    def _is(self, other: Any, relation: Relation, more: int, sign: int) -> Any:
        """sign * (self - other) + more stands in that relation to zero."""
        theirs = as_form(other)
        if theirs is None:
            if isinstance(other, complex) and relation != ">=":
                return self._is(other.real, relation, more, sign) if not other.imag else relation == "!="
            if isinstance(other, float):
                return _compared(Ratio(self, 1), other, relation, more, sign)
            return NotImplemented
        if type(other) is int and abs(other) >= HUGE and forms.largest(self.form) <= _MOST_TIMES:
            value = sign * (self.witness - other) + more
            return value == 0 if relation == "==" else value != 0 if relation == "!=" else value >= 0
        try:
            form = forms.add(forms.scale(forms.subtract(self.form, theirs), sign), forms.number(more))
        except TooLargeError:
            value = sign * (settled(self) - settled(other)) + more
            return value == 0 if relation == "==" else value != 0 if relation == "!=" else value >= 0
        n_decided = len(self.conditions.decided)
        answer = _decide(self.conditions, form, relation, sign * (self.witness - witness_of(other)) + more)
        if type(other) is Room:
            del self.conditions.decided[n_decided:]
        return answer

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __hash__(self) -> int:
        """Who asks compares by it: a number is needed. Of values of the program see `python/hashing.py`."""
        return hash(self.__index__())

    # ---- where a number is needed ----------------------------------------------------------------------------------

    def __index__(self) -> int:
        self.conditions.need(forms.subtract(self.form, forms.number(self.witness)), "==", asked=True)
        return self.witness

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __complex__(self) -> complex:
        return complex(self.__index__())

    def __str__(self) -> str:
        """For messages of a rule. What the program makes a text of is not known: see `python/text.py`."""
        return forms.written(self.form)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec if spec.endswith("s") else "")

    def bit_length(self) -> int:
        """How long it is: asked for where room is counted, which no answer depends on."""
        return self.witness.bit_length()

    def is_integer(self) -> bool:
        return True

    @property
    def real(self) -> Any:
        return self

    @property
    def imag(self) -> int:
        return 0

    def __reduce__(self) -> NoReturn:
        raise TypeError("a size that is left open cannot be stored: write its notation")


class Ratio:
    """A size divided by a number; passes for a float. What is rounded is a size again."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: Any, denominator: int) -> None:
        self.numerator = numerator
        self.denominator = denominator
        """A whole number above zero."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # `isinstance(ratio, float)`
        return float

    def __floor__(self) -> Any:
        return self.numerator // self.denominator

    def __ceil__(self) -> Any:
        return -(-self.numerator // self.denominator)

    def __trunc__(self) -> Any:
        return self.__floor__() if self.numerator >= 0 else self.__ceil__()

    def __round__(self, digits: Any = None) -> Any:
        if digits is None and self.denominator == 1:
            return self.numerator
        return round(float(self)) if digits is None else round(float(self), digits)

    def is_integer(self) -> bool:
        return bool(self.numerator % self.denominator == 0)

    def __float__(self) -> float:
        return float(settled(self.numerator) / self.denominator)

    def __int__(self) -> int:
        return int(float(self))

    def __str__(self) -> str:
        return f"({self.numerator}) / {self.denominator}"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return str(self)

    def __bool__(self) -> bool:
        return bool(self.numerator != 0)

    def __hash__(self) -> int:
        return hash(float(self))

    def __eq__(self, other: object) -> Any:
        return _compared(self, other, "==", 0, 1)

    def __ne__(self, other: object) -> Any:
        return _compared(self, other, "!=", 0, 1)

    def __ge__(self, other: object) -> Any:
        return _compared(self, other, ">=", 0, 1)

    def __gt__(self, other: object) -> Any:
        return _compared(self, other, ">=", -1, 1)

    def __le__(self, other: object) -> Any:
        return _compared(self, other, ">=", 0, -1)

    def __lt__(self, other: object) -> Any:
        return _compared(self, other, ">=", -1, -1)

    def __add__(self, other: Any) -> Any:
        return _exactly(self, other, lambda n, d, m, e: (n * e + m * d, d * e), lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _exactly(self, other, lambda n, d, m, e: (n * e - m * d, d * e), lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return _exactly(self, other, lambda n, d, m, e: (m * d - n * e, d * e), lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return _exactly(self, other, lambda n, d, m, e: (n * m, d * e), lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        parts = _dyadic(other)
        if parts is not None and as_size(parts[0]) is None and parts[0]:
            top, bottom = parts
            sign = -1 if top < 0 else 1
            return _ratio(self.numerator * bottom * sign, self.denominator * abs(top), self)
        return float(self) / float(other)

    def __rtruediv__(self, other: Any) -> Any:
        return float(other) / float(self)

    def __neg__(self) -> Any:
        return Ratio(-self.numerator, self.denominator)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return Ratio(abs(self.numerator), self.denominator)

    def __floordiv__(self, other: Any) -> Any:
        return float(self) // float(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return float(other) // float(self)

    def __mod__(self, other: Any) -> Any:
        return float(self) % float(other)

    def __rmod__(self, other: Any) -> Any:
        return float(other) % float(self)

    def __pow__(self, other: Any) -> Any:
        return float(self) ** settled(other)

    def __rpow__(self, other: Any) -> Any:
        return settled(other) ** float(self)


# ---- both ------------------------------------------------------------------------------------------------------------


def as_size(value: object) -> Size | None:
    """The value, where it is a size that is left open."""
    return value if type(value) is Size else None


OPEN_KINDS = frozenset({Size, Ratio})
"""The kinds of numbers that are left open: sizes, and what is reckoned from one."""


def is_open(value: object) -> bool:
    """It is a size that is left open, or reckoned from one."""
    return type(value) in OPEN_KINDS


def as_form(value: object) -> Form | None:
    """Of a whole number."""
    if type(value) is Size:
        return value.form
    return forms.number(int(value)) if isinstance(value, int) else None


def witness_of(value: Any) -> Any:
    """The number with which is reckoned; asking for it is no condition."""
    return value.witness if type(value) is Size else value


def settled(value: Any) -> Any:
    """The same as a number of Python, with the condition that it is that."""
    return int(value) if type(value) is Size else float(value) if type(value) is Ratio else value


def counted(value: Any) -> Any:
    """The same, of which each is done by itself: turns of a loop, parts of a tensor."""
    if type(value) is Size:
        value.conditions.counted[value.form] = value.witness
    return value


def whole(value: Any = 0, *rest: Any, **named: Any) -> Any:
    """int(value), which of a size is the size, and of a ratio what is cut off from it."""
    if rest or named or not is_open(value):
        return int(value, *rest, **named)
    return value if type(value) is Size else value.__trunc__()


def floating(value: Any = 0.0) -> Any:
    """float(value)."""
    return Ratio(value, 1) if type(value) is Size else value if type(value) is Ratio else float(value)


def hash_of(value: Any) -> int:
    """That of its form, which no condition is written for: equal ones of different forms are two. Only for what is told
    apart as `same` does."""
    if type(value) is Ratio:
        return hash((hash_of(value.numerator), value.denominator))
    return hash(value.form) if type(value) is Size else hash(value)


def same(first: object, second: object) -> bool:
    """The two are one number, whatever the open sizes are; no condition is written."""
    if type(first) is Size or type(second) is Size:
        mine, theirs = as_form(first), as_form(second)
        return mine is not None and mine == theirs and isinstance(first, bool) is isinstance(second, bool)
    if type(first) is Ratio and type(second) is Ratio:
        return first.denominator == second.denominator and same(first.numerator, second.numerator)
    if type(first) is Ratio or type(second) is Ratio:
        return False
    return first == second


def is_one(size: object) -> bool:
    """size == 1, which a size may be that is broadcast, and which no model asks for that refuses its input."""
    held = as_size(size)
    if held is None:
        return size == 1
    n_decided = len(held.conditions.decided)
    answer = bool(held == 1)
    del held.conditions.decided[n_decided:]
    return answer


def same_sizes(first: Iterable[object] | None, second: Iterable[object] | None) -> bool:
    """Of two shapes."""
    if first is None or second is None:
        return first is second
    mine, theirs = tuple(first), tuple(second)
    return len(mine) == len(theirs) and all(map(same, mine, theirs))


def notation(value: Any) -> int | str:
    """As a graph has it: a number, or an expression of symbols."""
    return forms.written(value.form) if type(value) is Size else int(value)


def sliced(size: int, start: Any, stop: Any, step: Any) -> int:
    """len(range(size)[start:stop:step])

    Raises:
        ValueError: the step is zero.
    """
    if not any(map(is_open, (size, start, stop, step))):
        return len(range(size)[start:stop:step])
    step = 1 if step is None else step
    if step < 0:
        return len(range(settled(size))[settled(start) : settled(stop) : settled(step)])
    first = _bound(0 if start is None else start, size)
    last = size if stop is None else _bound(stop, size)
    if last <= first:
        return 0
    return cast(int, -((first - last) // step))


def _bound(number: Any, size: Any) -> Any:
    """A bound of a slice, counted from the front and within the size."""
    if number < 0:
        number = number + size
        return number if number >= 0 else 0
    return number if number <= size else size


def parts_of(size: int, step: int) -> list[int]:
    """The sizes of the parts into which `size` things are split, `step` in each but the last; of none, one part."""
    if not is_open(size) and not is_open(step):
        return [min(step, size - start) for start in range(0, max(size, 1), step)]
    counted(-(-size // step))
    if type(step) is int and step == 1 and witness_of(size):
        return [1] * settled(size)
    parts: list[int] = []
    start: Any = 0
    while not parts or start < size:
        left = size - start
        parts.append(left if left <= step else step)
        start = start + step
    return parts


def _made(conditions: Conditions, form: Form, witness: int) -> Any:
    number = form.number
    return Size(conditions, form, witness) if number is None else number


def _decide(conditions: Conditions, form: Form, relation: Relation, witness: int) -> bool:
    known = _decided(form, relation)
    if known is not None:
        return known
    if relation == ">=":
        answer = witness >= 0
        conditions.decide(form if answer else forms.subtract(forms.number(-1), form), ">=")
        return answer
    conditions.decide(form, "==" if witness == 0 else "!=")
    return (witness == 0) is (relation == "==")


def _ratio(above: Any, below: Any, exactly: Any = None) -> Any:
    """above / below."""
    mine, theirs = as_form(above), as_form(below)
    if mine is None or theirs is None:
        if exactly is None and isinstance(below, float) and as_size(above) is not None:
            return Ratio(above, 1) / below
        if not isinstance(above, (int, float)) or not isinstance(below, (int, float)):
            return NotImplemented
        return float(above) / float(below)
    if theirs.number is None:
        quotient = None if below == 0 else forms.exact_quotient(mine, theirs)
        if quotient is None:
            return float(above) / float(below)
        size = as_size(below)
        assert size is not None
        made = _made(size.conditions, quotient, witness_of(above) // witness_of(below))
        return Ratio(made, 1) if is_open(made) else float(made)
    divisor = theirs.number
    if divisor == 0:
        raise ZeroDivisionError("division by zero")
    if divisor < 0:
        above, divisor = -above, -divisor
    common = math.gcd(forms.content(mine), mine.constant, divisor)
    return Ratio(above // common, divisor // common)


def _dyadic(value: Any) -> tuple[Any, int] | None:
    """A number as one that is divided by a power of two, where that is exact in any reckoning with floats."""
    if type(value) is Ratio:
        return (value.numerator, value.denominator) if value.denominator & (value.denominator - 1) == 0 else None
    if type(value) is Size:
        return value, 1
    if isinstance(value, (int, float)) and math.isfinite(value):
        above, below = float(value).as_integer_ratio()
        return (above, below) if below <= 1 << 20 and abs(above) < 1 << 30 else None
    return None


def _exactly(
    mine: Ratio, other: Any, exact: Callable[[Any, int, Any, int], tuple[Any, int]], rounded: Callable[[Any, Any], Any]
) -> Any:
    """Reckoned as floats do where nothing is rounded; else with numbers."""
    if not isinstance(other, (int, float)):
        return NotImplemented
    left, right = _dyadic(mine), _dyadic(other)
    if left is None or right is None:
        return rounded(float(mine), float(other))
    above, below = exact(left[0], left[1], right[0], right[1])
    return _ratio(above, below) if as_size(above) is not None else above / below


def _compared(mine: Ratio, other: object, relation: Relation, more: int, sign: int) -> Any:
    if not isinstance(other, (int, float)):
        return NotImplemented
    right = _dyadic(other)
    if right is None:
        left: Any = float(mine)
        value = sign * (left - float(cast(Any, other)))
        if relation == ">=":
            return value > 0 if more else value >= 0
        return value == 0 if relation == "==" else value != 0
    difference = sign * (mine.numerator * right[1] - right[0] * mine.denominator) + more
    if relation == ">=":
        return difference >= 0
    return difference == 0 if relation == "==" else difference != 0
