"""Sizes that are left open against Python's own numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from modgraph.prediction.domain import sizes
from modgraph.prediction.domain.constraints import constraints
from modgraph.prediction.domain.forms import lower, upper
from modgraph.prediction.domain.sizes import Conditions, Size, as_form

NAMES = ("a", "b", "c")
NUMBERS = st.integers(1, 400)
ASSIGNED = st.fixed_dictionaries(dict.fromkeys(NAMES, NUMBERS))

# An expression is a name, a number, or (operator, left, right).
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    plain = st.tuples(st.sampled_from(["+", "-", "*"]), inner, inner)
    divided = st.tuples(st.sampled_from(["//", "%"]), inner, st.one_of(st.integers(1, 9), st.integers(-5, -1), inner))
    return st.one_of(plain, divided)


EXPRESSIONS = st.recursive(st.one_of(st.sampled_from(NAMES), st.integers(-9, 40)), _grown, max_leaves=7)


def _value(expression: Any, held: dict[str, Any]) -> Any:
    if isinstance(expression, str):
        return held[expression]
    if isinstance(expression, int):
        return expression
    symbol, left, right = expression
    return _BINARY[symbol](_value(left, held), _value(right, held))


def _open(witnesses: dict[str, int]) -> tuple[Conditions, dict[str, Any]]:
    book = Conditions()
    return book, {name: book.symbol(name, witness) for name, witness in witnesses.items()}


def _meets(book: Conditions, at: dict[str, int]) -> bool:
    assigned = {book.symbols[name]: size for name, size in at.items()}
    try:
        return all(each.holds(assigned) for each in book.needed.values())
    except ZeroDivisionError:
        return False


@given(EXPRESSIONS, ASSIGNED, ASSIGNED)
def test_a_form_evaluates_to_what_integers_give(expression: Any, witnesses: dict[str, int], at: dict[str, int]) -> None:
    book, held = _open(witnesses)
    try:
        known = _value(expression, dict(witnesses))
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            _value(expression, held)
        return
    found = _value(expression, held)
    assert sizes.witness_of(found) == known
    assume(_meets(book, at))
    form = as_form(found)
    assert form is not None
    assert form.evaluate({book.symbols[name]: size for name, size in at.items()}) == _value(expression, at)
    assert eval(str(sizes.notation(found)), {}, dict(at)) == _value(expression, at)
    low, high = lower(form), upper(form)
    assert low is None or low <= _value(expression, at)
    assert high is None or high >= _value(expression, at)


@given(st.sampled_from(sorted(_COMPARE)), EXPRESSIONS, EXPRESSIONS, ASSIGNED, ASSIGNED)
def test_a_comparison_comes_out_the_same_wherever_its_conditions_hold(
    symbol: str, left: Any, right: Any, witnesses: dict[str, int], at: dict[str, int]
) -> None:
    book, held = _open(witnesses)
    try:
        answer = bool(_COMPARE[symbol](_value(left, held), _value(right, held)))
        assert answer is _COMPARE[symbol](_value(left, dict(witnesses)), _value(right, dict(witnesses)))
    except ZeroDivisionError:
        return
    if _meets(book, at):
        assert answer is _COMPARE[symbol](_value(left, at), _value(right, at))
    told = constraints(book.needed.values())
    try:
        says = all(eval(each, {}, dict(at)) for each in told)
        holds = _meets(book, at)
    except ZeroDivisionError:
        return
    assert says is holds, (told, book.needed)


ROUNDED: dict[str, Callable[[Any], Any]] = {
    "floor(x / 2)": lambda x: math.floor(x / 2),
    "ceil(x / 7)": lambda x: math.ceil(x / 7),
    "floor(x * 0.5)": lambda x: math.floor(x * 0.5),
    "floor(x * 1.75 + 3)": lambda x: math.floor(x * 1.75 + 3),
    "int(x / 3)": lambda x: sizes.whole(x / 3),
    "int(x * 0.1)": lambda x: sizes.whole(x * 0.1),
    "floor(x / 49 * 49)": lambda x: math.floor(x / 49 * 49),
    "round(x / 4)": lambda x: round(x / 4),
    "int(x ** 0.5)": lambda x: sizes.whole(x**0.5),
    "ceil((x - 5) / 2)": lambda x: math.ceil((x - 5) / 2),
    "x / 2 > 40": lambda x: x / 2 > 40,
    "x & 7": lambda x: x & 7,
    "x >> 3": lambda x: x >> 3,
    "divmod": lambda x: sum(divmod(x, 6)),
    "max": lambda x: max(x - 30, 0),
    "min": lambda x: min(x, 128),
    "abs": lambda x: abs(x - 10),
    "round": lambda x: round(x),
    "1.5 * x": lambda x: math.floor(1.5 * x),
    "bool": lambda x: bool(x - 3),
    "len(range)": lambda x: len(range(x)),
    "list * x": lambda x: len([0] * x),
    "sum": lambda x: sum([x, x, 1]),
    "prod": lambda x: math.prod([x, 2, x]),
    "isqrt": lambda x: math.isqrt(x),
    "2 ** (x % 3)": lambda x: 2 ** (x % 3),
    "x ** 2": lambda x: x**2,
    "x // (x - 1000)": lambda x: x // (x - 1000),
    "x in (7, 49)": lambda x: x in (7, 49),
    "sorted": lambda x: sorted([x, 100, 3])[1],
    "index": lambda x: list(range(500))[x],
    "float": lambda x: math.floor(math.log2(x)),
    "parts": lambda x: sum(i * n for i, n in enumerate(sizes.parts_of(x, 90))),
    "halves": lambda x: sizes.parts_of(x, -(-x // 2))[-1],
    "[3:]": lambda x: sizes.sliced(x, 3, None, None),
    "[:-4]": lambda x: sizes.sliced(x, None, -4, None),
    "[::3]": lambda x: sizes.sliced(x, None, None, 3),
    "[:20]": lambda x: sizes.sliced(x, None, 20, None),
    "[-8:x:2]": lambda x: sizes.sliced(x, -8, x, 2),
}


@pytest.mark.parametrize("text", ROUNDED)
@given(NUMBERS, NUMBERS)
def test_what_python_makes_of_a_size_holds_wherever_the_conditions_do(text: str, witness: int, at: int) -> None:
    book, held = _open({"a": witness})
    found = ROUNDED[text](held["a"])
    assert sizes.settled(sizes.witness_of(found)) == ROUNDED[text](witness)
    if _meets(book, {"a": at}):
        form = as_form(found)
        assert form is not None
        assert form.evaluate({book.symbols["a"]: at}) == ROUNDED[text](at)


KEPT = ("floor(x / 2)", "ceil(x / 7)", "floor(x * 0.5)", "floor(x * 1.75 + 3)", "x >> 3", "x & 7", "sum", "prod")


@pytest.mark.parametrize("text", KEPT)
def test_these_need_no_condition(text: str) -> None:
    book, held = _open({"a": 352})
    ROUNDED[text](held["a"])
    assert not book.needed


def test_a_size_passes_for_an_int_and_is_none() -> None:
    book, held = _open({"a": 7})
    assert isinstance(held["a"], int)
    assert type(held["a"]) is Size
    assert list(range(held["a"])) == list(range(7))
    assert constraints(book.needed.values()) == ("a == 7",)


def _halves(x: Any, times: int) -> Any:
    for _ in range(times):
        x = (x - 1) // 2 + 1
    return x


NORMAL: dict[str, Callable[[Any], Any]] = {
    "(a + 31) // 32": lambda a: _halves(a, 5),
    "a // 32": lambda a: a // 2 // 2 // 2 // 2 // 2,
    "2*(a // 2)": lambda a: a // 2 * 2,
    "a % 7": lambda a: a % 7,
    "a": lambda a: (a * 12) // 12,
    "4*a - 3": lambda a: ((a - 1) * 2 * 2) + 1,
    "a // 2 + a": lambda a: a * 3 // 2,
    "a**2": lambda a: a * a,
    "-(a // 2) + 1": lambda a: 1 - a // 2,
    "(a + 4) // 8": lambda a: (a // 4 + a // 4 % 2 + 1) // 2,
    "a // 2": lambda a: a - (a + 1) // 2,
    "(a + 1) // 4": lambda a: math.ceil(((a + 1) // 2 - 3) / 2) + 1,
}


@pytest.mark.parametrize("text", NORMAL)
def test_how_a_form_is_written(text: str) -> None:
    _, held = _open({"a": 352})
    assert sizes.notation(NORMAL[text](held["a"])) == text


def test_conditions_are_told_in_few_words() -> None:
    book, held = _open({"h": 352, "w": 352})
    h, w = held["h"], held["w"]
    assert 2 * (h // 8) == h // 4
    assert 2 * (h // 4) == h // 2
    assert 2 * (h // 2) == h
    assert h == w
    assert h // 32 > 1
    assert h > 5
    assert constraints(book.needed.values()) == ("h == w", "h >= 64", "h % 8 == 0")
    assert w == 352
    assert constraints(book.needed.values()) == ("w == 352", "h == w")


def test_nothing_is_lost_that_python_itself_does_with_a_number() -> None:
    """Each of these asks a `Size` for its number, which is a condition."""
    for ask in (range, float, "x".__mul__, [1, 2].__mul__, bytes, hex, bin, chr, math.sqrt, math.isqrt, complex):
        book, held = _open({"a": 7})
        ask(held["a"])
        assert constraints(book.needed.values()) == ("a == 7",), ask


def test_sizes_of_one_form_are_one_key_and_write_nothing() -> None:
    from modgraph.prediction.domain.values import Constant

    book, held = _open({"a": 6, "b": 6})
    a, b = held["a"], held["b"]
    assert Constant(a * 2 // 2) == Constant(a)
    assert hash(Constant(a * 2 // 2)) == hash(Constant(a))
    assert Constant(a) != Constant(b)
    assert Constant(a) != Constant(6)
    assert not book.needed


def test_a_bound_of_the_prediction_is_no_condition() -> None:
    book, held = _open({"a": 6})
    assert not held["a"] <= sizes.Limit(4096)
    assert held["a"] * held["a"] < 2**63
    assert not book.needed


_OF_ONE: dict[str, Callable[[Any, int], Any]] = {
    "n >= k": lambda n, k: n >= k,
    "n <= k + 6": lambda n, k: n <= k + 6,
    "n == k": lambda n, k: n == k,
    "n % k": lambda n, k: n % k == 0,
    "n // k": lambda n, k: n // k == 2,
    "rounded up": lambda n, k: (n - 1) // 2 + 1 >= k,
}
_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "n == m": lambda n, m: n == m,
    "n // 2 == m // 2": lambda n, m: n // 2 == m // 2,
    "n >= m": lambda n, m: n >= m,
}


@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20)),
    st.lists(st.tuples(st.sampled_from(sorted(_OF_ONE)), st.integers(1, 9)), min_size=1, max_size=5),
    st.none() | st.sampled_from(sorted(_OF_TWO)),
)
def test_nothing_is_said_of_a_size_that_the_rest_says_already(
    witnesses: tuple[int, int], asked: list[tuple[str, int]], of_two: str | None
) -> None:
    book, held = _open(dict(zip("ab", witnesses, strict=True)))
    for kind, number in asked:
        bool(_OF_ONE[kind](held["a"], number))
    if of_two is not None:
        bool(_OF_TWO[of_two](held["a"], held["b"]))
    told = constraints(book.needed.values())
    at = [{"a": a, "b": b} for a in range(1, 40) for b in (range(1, 40) if of_two else (1,))]
    meet = [all(eval(each, {}, dict(sizes)) for each in told) for sizes in at]
    assert meet == [_meets(book, sizes) for sizes in at]
    of_one = [each for each in told if "b" not in each]
    if of_two is None:
        for text in of_one:
            rest = [each for each in of_one if each != text]
            far = ({"a": a} for a in range(1, 6_000))
            assert any(all(eval(each, {}, a) for each in rest) and not eval(text, {}, a) for a in far), (text, told)


@pytest.mark.parametrize(
    ("tests", "told"),
    [
        (lambda a, b: (a >= 11, a <= 11), {"a == 11"}),
        (lambda a, b: (a >= 11, a != 11, a != 12), {"a >= 13"}),
        (lambda a, b: (a // 6 == 2, a % 5 == 0), {"a == 15"}),
        (lambda a, b: (a == b, a >= 4, b >= 4), {"a == b", "a >= 4"}),
        (lambda a, b: (a != b, a // 2 != b // 2), {"a // 2 != b // 2"}),
        (lambda a, b: (a % 4 != 0, a != 4), {"a % 4 != 0"}),
    ],
)
def test_few_words_say_it(tests: Callable[[Any, Any], Any], told: set[str]) -> None:
    witness = next(n for n in range(4, 40) if all(tests(n, n)) or all(tests(n, n + 2)))
    book, held = _open({"a": witness, "b": witness if all(tests(witness, witness)) else witness + 2})
    assert all(tests(held["a"], held["b"]))
    assert set(constraints(book.needed.values())) == told
