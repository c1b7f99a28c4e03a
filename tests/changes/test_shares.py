"""Every parameter more or less stands in one line of the table, and in one alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modgraph.changes import compare
from modgraph.export.diff.words import lines

MODEL = """
class Block(nn.Module):
    def __init__(self, width, hidden, drop=0.1):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)
        self.norm = {norm}(width)
        {extra}

class Stage(nn.Module):
    def __init__(self, width, hidden, n):
        super().__init__()
        self.blocks = {row}([Block(width, hidden{drop}) for _ in range(n)])
        self.scale = nn.Parameter(torch.zeros({scale}))
"""
BODY = """
self.emb = nn.Embedding(10, {width})
self.s1 = Stage({width}, {hidden}, {n1})
self.s2 = {second}
self.head = nn.Linear({width}, {out}, bias={bias})
{own}
"""
CHOICES = {
    "norm": ["nn.LayerNorm", "nn.BatchNorm1d"],
    "extra": ["pass", "self.g = nn.Parameter(torch.zeros(3))", "self.fc3 = nn.Linear(hidden, hidden)"],
    "row": ["nn.ModuleList", "list"],
    "drop": ["", ", 0.2"],
    "scale": [4, 6],
    "width": [8, 12],
    "hidden": [16, 32],
    "n1": [2, 3],
    "second": ["Stage({width}, 16, 2)", "Stage({width}, 32, 4)", "self.s1", "[Stage({width}, 16, 2)]"],
    "out": [5, 7],
    "bias": [True, False],
    "own": ["pass", "self.w = nn.Parameter(torch.zeros(9))", "self.head.weight = self.emb.weight"],
}
drawn = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CHOICES.items()})


def table(changes):
    return {(line.sign, line.place): line.delta for line in lines(changes)}


@pytest.fixture
def written(predicted):
    def written(choice):
        filled = {**choice, "second": choice["second"].format(**choice)}
        return predicted(BODY.format(**filled), MODEL.format(**filled))

    return written


@settings(max_examples=max(30, settings.default.max_examples // 4))
@given(old=drawn, edit=drawn, kept=st.sets(st.sampled_from(sorted(CHOICES))))
def test_the_lines_sum_up_to_the_total(written, old, edit, kept):
    new = {name: old[name] if name in kept else edit[name] for name in CHOICES}
    changes = compare(written(old), written(new))
    for each in (changes, changes.reversed()):
        assert sum(line.delta for line in lines(each)) == each.new.parameters - each.old.parameters


FIRST = {name: values[0] for name, values in CHOICES.items()}


def test_a_container_and_what_went_from_it_are_not_both_counted(written):
    old = {**FIRST, "second": "Stage({width}, 32, 4)", "n1": 3}
    changes = compare(written(old), written({**old, "n1": 2, "out": 7}))
    block = 8 * 16 + 16 + 16 * 8 + 8 + 2 * 8
    assert table(changes) == {("removed", "s1.blocks.2"): -block, ("changed", "s1"): 0, ("changed", "head"): 2 * 8 + 2}


def test_a_parameter_of_the_model_itself_is_counted(written):
    changes = compare(written(FIRST), written({**FIRST, "own": CHOICES["own"][1]}))
    assert table(changes) == {("changed", "the model"): 9}


def test_what_is_registered_now_is_counted_with_its_layers(predicted):
    changes = compare(
        predicted("self.r = [nn.Sequential(nn.Linear(2, 3))]"),
        predicted("self.r = nn.ModuleList([nn.Sequential(nn.Linear(2, 3))])"),
    )
    assert {(sign, delta) for (sign, _), delta in table(changes).items()} >= {("changed", 9)}
    assert sum(table(changes).values()) == 9


def test_a_layer_that_leaves_a_hidden_container_is_counted_where_it_is_told(predicted):
    changes = compare(
        predicted("self.r = [nn.Sequential(nn.Linear(2, 3), nn.ReLU())]"), predicted("self.fc = nn.Linear(2, 3)")
    )
    assert sum(table(changes).values()) == 9


def test_what_is_hidden_counts_for_nothing(predicted):
    changes = compare(predicted("pass"), predicted("self.r = [nn.Linear(2, 3)]"))
    (added,) = changes.added
    assert (added.parameters, added.in_total) == (9, 0)
    assert sum(table(changes).values()) == 0


def test_a_share_that_is_not_known_is_said(predicted):
    changes = compare(
        predicted("self.a = nn.Linear(int(os.environ['N']), 3)\nself.b = nn.Linear(2, 2)"),
        predicted("self.a = nn.Linear(int(os.environ['N']), 4)\nself.b = nn.Linear(2, 3)"),
    )
    assert table(changes) == {("changed", "a"): None, ("changed", "b"): 3}
