"""What is said of the sizes that meet some conditions, held against each size far beyond those that are looked at."""

from __future__ import annotations

import random

import pytest

from modgraph.prediction.domain import constraints, forms
from modgraph.prediction.domain.constraints import contrary, simplest, without_implied, written
from modgraph.prediction.domain.forms import Form, Symbol
from modgraph.prediction.domain.regions import Condition, Regions

N = Symbol("n", 225)
M = Symbol("m", 7)
SIZE = forms.of(N)
FAR = range(1, 6_000)


def quotient(by: int, more: int = 0, times: int = 1) -> Form:
    return forms.floor_divide(forms.add(forms.scale(SIZE, times), forms.number(more)), forms.number(by))


def rest(by: int, left: int) -> Form:
    """Zero where that is left of the size."""
    return forms.subtract(forms.subtract(SIZE, forms.scale(quotient(by), by)), forms.number(left))


def least(size: int) -> Condition:
    return simplest(forms.subtract(SIZE, forms.number(size)), ">=")


def most(size: int) -> Condition:
    return contrary(*least(size + 1))


def meets(condition: Condition, size: int) -> bool:
    value = condition[0].evaluate({N: size})
    return value >= 0 if condition[1] == ">=" else (value == 0) is (condition[1] == "==")


def drawn(seed: int) -> list[Condition]:
    """A bound, and conditions that hold of some sizes far away."""
    choose = random.Random(seed)
    by = choose.choice((2, 7, 14, 16, 37, 64))
    bound = choose.choice((300, 519, 700, 1500, 4100))
    kinds: list[Condition] = [
        (rest(by, choose.randrange(by)), choose.choice(("==", "!="))),
        simplest(forms.subtract(quotient(by), forms.number(bound // by)), choose.choice((">=", "==", "!="))),
        simplest(forms.subtract(quotient(3, 0, 2), forms.number(bound)), ">="),
        simplest(forms.subtract(forms.multiply(SIZE, SIZE), forms.number(bound * bound)), choose.choice(("==", ">="))),
        simplest(forms.subtract(quotient(4, 1), forms.scale(quotient(8), 2)), choose.choice(("==", "!=", ">="))),
        (forms.subtract(forms.multiply(SIZE, quotient(by)), forms.number(bound * 9)), ">="),
        (forms.of(forms.Floor(forms.multiply(SIZE, SIZE), forms.number(by))), choose.choice(("==", "!="))),
        (rest(1_009, 700), choose.choice(("==", "!="))),
    ]
    return [choose.choice((least, most))(bound), *choose.sample(kinds, 2)]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_said_holds_of_each_size(seed: int) -> None:
    first, second, third = drawn(seed)
    regions = Regions([N])
    early = regions.of([first])  # before it is known what else is asked
    regions.know([first, second, third])
    both = [size for size in FAR if meets(first, size) and meets(second, size)]
    region = regions.of([second], early)
    assert not (region.is_empty and both)
    for asked in (third, contrary(*third)):
        of_it = [size for size in both if meets(asked, size)]
        assert not (regions.implied(region, asked) and of_it != both)
        assert not (regions.is_out(region, asked) and of_it)
        if regions.uncovered(region, [[asked]]) is None:
            assert of_it == both
        found = regions.within(regions.of([asked], region), {N: 225})
        assert found is None or (found[N] in of_it or found[N] not in FAR)
    bound = regions.as_one([[first, second], [first, third]])
    if bound is not None:
        either = [size for size in FAR if meets(first, size) and (meets(second, size) or meets(third, size))]
        assert [size for size in FAR if meets(bound, size)] == either


@pytest.mark.parametrize("by", [2, 7, 14, 37, 64, 100, 1_000])
@pytest.mark.parametrize("bound", [400, 519, 700, 4_000, 100_000])
def test_where_it_repeats_all_is_known(by: int, bound: int) -> None:
    regions = Regions([N])
    beyond, divides = least(bound), (rest(by, 0), "==")
    regions.know([beyond, divides])
    region = regions.of([beyond, divides])
    found = regions.within(region, {N: bound})
    assert found is not None
    assert found[N] >= bound
    assert found[N] % by == 0
    assert regions.uncovered(regions.of([beyond]), [[divides], [contrary(*divides)]]) is None
    assert regions.uncovered(regions.of([beyond]), [[divides]]) is not None
    assert regions.is_told(region)


@pytest.mark.parametrize(
    "condition",
    [(rest(100_003, 0), "=="), (forms.subtract(forms.multiply(SIZE, SIZE), forms.number(10**12)), "==")],
    ids=["long period", "far root"],
)
def test_where_it_is_not_known_it_is_neither_empty_nor_all(condition: Condition) -> None:
    regions = Regions([N])
    regions.know([least(520), condition])
    region = regions.of([least(520), condition])
    assert not region.is_empty
    assert not regions.is_told(region)
    assert not regions.implied(regions.of([least(520)]), contrary(*condition))
    assert regions.uncovered(regions.of([least(520)]), [[contrary(*condition)]]) is not None
    assert regions.uncovered(regions.of([least(520)]), [[contrary(*condition)], [condition]]) is None
    assert regions.of([most(519), condition]).is_empty
    assert regions.as_one([[least(520), condition]]) is None


def test_one_size_that_stands_for_many_is_not_taken_for_all_there_are() -> None:
    regions = Regions([N, M])
    far: list[Condition] = [least(4_200), (rest(64, 3), "==")]
    five = (forms.subtract(forms.of(M), forms.number(5)), "==")
    regions.know([*far, five])
    region = regions.of([*far, five])
    for size in (64 * 66 + 3, 64 * 70 + 3):
        product = (forms.subtract(forms.multiply(SIZE, forms.of(M)), forms.number(5 * size)), "==")
        assert not regions.is_out(region, product)
        assert not regions.implied(region, product)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_out_follows_from_the_rest(seed: int) -> None:
    found = [*drawn(seed), *drawn(seed + 100), (rest(1, 3), "!="), least(2), most(4_900), (rest(1, 5_500), "!=")]
    kept = without_implied(found)
    texts = written(kept)
    assert set(kept) <= set(found)
    for size in (*range(1, 1_200), 1_999, 4_099, 4_100, 4_900, 4_901, 5_500):
        holds = all(meets(each, size) for each in found)
        assert holds is all(meets(each, size) for each in kept)
        assert holds is all(eval(text, {}, {"n": size}) for text in texts)


def test_bounds_on_one_form_are_not_compared_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop over a size asks for one at each turn."""
    n_asked = 0
    implies = constraints.implies

    def asked(one: Condition, other: Condition) -> bool:
        nonlocal n_asked
        n_asked += 1
        return implies(one, other)

    monkeypatch.setattr(constraints, "implies", asked)
    bounds = [least(size) for size in range(2, 3_000)] + [(rest(1, size), "!=") for size in range(1, 2_000)]
    assert without_implied(bounds) == [least(2_999)]
    assert n_asked < 10
