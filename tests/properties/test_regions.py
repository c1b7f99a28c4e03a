"""Parts of one tensor by plain indices: whether they overlap, and one holds the other, as the elements themselves say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modgraph.prediction.domain.values import NONE, Constant, SliceValue, TupleValue, Value
from modgraph.prediction.forward.regions import Region, places_of

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)
bounds = st.none() | st.integers(-6, 6)
steps = st.none() | st.integers(1, 3)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Integers that are there, slices, at most one `...`, and None."""
    found: list[Any] = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        number = st.integers(-size, size - 1)
        found.append(draw(number | st.builds(slice, bounds, bounds, steps)))
    if draw(st.booleans()):
        found.insert(draw(st.integers(0, len(found))), None)
    if len(shape) > sum(each is not None for each in found) and draw(st.booleans()):
        found.append(...)
    return tuple(found)


def _value(key: Any) -> Value:
    if isinstance(key, tuple):
        return TupleValue(tuple(map(_value, key)))
    if isinstance(key, slice):
        parts = (NONE if each is None else Constant(each) for each in (key.start, key.stop, key.step))
        return SliceValue(*parts)
    return NONE if key is None else Constant(key)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tuple[int, ...], Any, Any]:
    shape = draw(shapes)
    return shape, draw(keys(shape)), draw(keys(shape))


@given(pairs())
@settings(max_examples=400, deadline=None)
def test_what_is_said_of_two_parts_is_so(drawn: tuple[tuple[int, ...], Any, Any]) -> None:
    shape, first, second = drawn
    whole = torch.arange(torch.Size(shape).numel()).view(shape)
    mine, theirs = (set(whole[key].flatten().tolist()) for key in (first, second))
    regions = []
    for key in (first, second):
        places = places_of(_value(key), shape)
        assert places is not None
        regions.append(Region(0, 0, places))
    one, other = regions
    assert one.overlaps(other) is not mine.isdisjoint(theirs)
    if one.covers(other):
        assert mine >= theirs
    elif all(key is None or key is ... or (isinstance(key, slice) and key == slice(None)) for key in first):
        assert one.is_whole or not mine >= set(whole.flatten().tolist())


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_nothing_is_said_where_it_is_not_known(drawn: tuple[tuple[int, ...], Any, Any]) -> None:
    shape, first, _ = drawn
    places = places_of(_value(first), shape)
    assert places is not None
    region = Region(0, 0, places)
    somewhere, elsewhere = Region(0, 0, places, is_exact=False), Region(0, 5, (range(1),))
    assert region.overlaps(somewhere) in ((True,) if region.is_whole else (False, None))
    assert region.overlaps(elsewhere) is (False if region.is_empty else True if region.is_whole else None)
    assert not somewhere.covers(region)
    assert region.overlaps(Region(9, 9)) is False
    assert Region(0, 0, is_sure=False).overlaps(region) is (False if region.is_empty else None)
