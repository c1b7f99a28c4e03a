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
