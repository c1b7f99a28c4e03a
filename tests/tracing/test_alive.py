"""What tells one kind of object from a million others, and those that came since a moment from those that were there."""

import functools
import gc

import pytest
import torch
from torch import nn

import modgraph
from modgraph.tracing.basics import alive

pytestmark = pytest.mark.needs_torch


@pytest.fixture
def held_back():
    """`held_back()`: what there is now is not listed by the collector until the test ends."""
    yield gc.freeze
    gc.unfreeze()


@pytest.fixture(params=[500_000, 0], ids=["one by one", "gathered"])
def newcomers(request, monkeypatch):
    monkeypatch.setattr(alive, "_LOOKED_AT", request.param)
    return alive.Newcomers


def used(tensor):
    """A tensor that torch's own code holds too."""
    tensor.requires_grad_()
    return tensor, (tensor * 2).sum()


def test_functions_that_remember_are_all_found():
    example = functools.lru_cache(lambda: None)
    kept = [functools.lru_cache(maxsize=None)(lambda: None), functools.cache(lambda: None)]
    found = set(map(id, alive.instances_of(type(example), example)))
    assert found == set(map(id, alive.objects_of([type(example)])))
    assert set(map(id, kept)) <= found


def test_a_kind_that_does_not_tell_the_collector_is_found_in_the_list():
    one, other = iter([1]), iter([2])
    assert not any(each is one for each in gc.get_referrers(type(one)))
    found = alive.instances_of(type(one), one)
    assert any(each is one for each in found)
    assert any(each is other for each in found)


def test_tensors_that_came_since_are_told_from_those_that_were_there(held_back, newcomers):
    old = [torch.ones(2), nn.Parameter(torch.ones(2)), *used(torch.ones(2))]
    told = newcomers(torch.Tensor)
    held_back()
    new = [torch.ones(2), nn.Parameter(torch.ones(2)), *used(torch.ones(2))]
    assert told.among([*old, *new]) == [False] * 4 + [True] * 4
    later = old[0] + 1
    assert told.among([later, old[0], new[0]]) == [True, False, True]
    assert told.among([]) == []


def test_a_tensor_in_the_place_of_one_that_is_gone_is_a_newcomer(held_back, newcomers):
    old = [torch.ones(2) for _ in range(100)]
    told = newcomers(torch.Tensor)
    held_back()
    assert told.among(old[:1]) == [False]
    places = set(map(id, old))
    del old
    new = [torch.ones(2) for _ in range(200)]
    assert places & set(map(id, new))
    assert told.among(new) == [True] * 200


def test_nothing_is_told_where_somebody_else_holds_objects_back(held_back, newcomers):
    held_back()
    told = newcomers(torch.Tensor)
    held_back()
    assert told.among([torch.ones(2)]) == [False]


def test_nothing_is_told_once_somebody_lets_all_go(held_back, newcomers):
    old = torch.ones(2)
    told = newcomers(torch.Tensor)
    held_back()
    gc.unfreeze()
    assert told.among([old, torch.ones(2)]) == [False, False]
    held_back()
    assert told.among([torch.ones(2)]) == [False]


class Kind:
    """Whose objects are told."""


def test_what_came_and_is_gone_again_is_not_left():
    before = Kind()
    with alive.held_back(Kind) as hold:
        assert not hold.is_left()
        one = Kind()
        assert hold.is_left()
        one.itself = one
        del one
        assert not hold.is_left()
    assert any(each is before for each in gc.get_objects())


def test_inside_a_hold_there_is_no_other():
    with alive.held_back(Kind) as outer:
        one = Kind()
        with alive.held_back(Kind) as inner:
            assert inner is None
        assert gc.get_freeze_count()
        assert outer.is_left()
        del one
        assert not outer.is_left()
    assert gc.get_freeze_count() == 0


def test_tensors_that_came_before_are_told_inside_a_hold_too(newcomers):
    oldest = torch.ones(2)
    with alive.held_back():
        old = [torch.ones(2), nn.Parameter(torch.ones(2)), *used(torch.ones(2))]
        told = newcomers(torch.Tensor)
        new = [torch.ones(2), nn.Parameter(torch.ones(2)), *used(torch.ones(2))]
        assert told.among([oldest, *old, *new]) == [False] * 5 + [True] * 4
        later = old[0] + 1
        assert told.among([later, old[0], oldest, new[0]]) == [True, False, False, True]


@pytest.mark.parametrize("what", ["freeze", "unfreeze"])
def test_it_is_left_in_doubt_where_somebody_else_holds_back_or_lets_go(what, held_back):
    there = Kind()
    with alive.held_back(Kind) as hold:
        kept = [Kind()] if what == "freeze" else there
        getattr(gc, what)()
        assert kept
        assert hold.is_left()


def test_nothing_is_said_where_somebody_else_holds_objects_back(held_back):
    held_back()
    with alive.held_back(Kind) as hold:
        assert hold is None
    assert gc.get_freeze_count()


def test_functions_are_not_looked_for_where_no_fake_tensor_is_left(monkeypatch):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 6 * 6, 2))
    given = torch.ones(1, 3, 8, 8)
    modgraph.trace(model, given, device="fake")  # what torch imports for it, and remembers, is there
    monkeypatch.setattr(gc, "get_referrers", lambda *_: pytest.fail("all objects of the process were asked"))
    assert modgraph.trace(model, given, device="fake").complete
    assert modgraph.trace(model).model.inputs[0].tensors[0].shape == (1, 3, 8, 8)


def test_a_proven_trace_does_not_look_through_all_objects_of_the_process(monkeypatch):
    looked = []
    listed = gc.get_objects
    monkeypatch.setattr(gc, "get_objects", lambda *given: looked.append(listed(*given)) or looked[-1])
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()).eval()
    there = [[] for _ in range(50_000)]
    graph = modgraph.trace(model, torch.ones(2, 4), verify=True)
    assert graph.verification.proven
    assert looked
    assert sum(map(len, looked)) < len(there)
