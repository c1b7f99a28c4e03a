"""Which module is which: cases with one answer."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modgraph.changes import compare
from modgraph.changes.alignment import align, ascending, common

BLOCK = {"fc1": "nn.Linear(4, 8)", "act": "nn.ReLU()", "fc2": "nn.Linear(8, 4)"}


def said(changes):
    found = {
        "added": [one.path for one in changes.added],
        "removed": [one.path for one in changes.removed],
        "renamed": [(one.old, one.new) for one in changes.renamed],
        "moved": [(one.old, one.new) for one in changes.moved],
        "changed": [one.new for one in changes.changed],
    }
    return {name: value for name, value in found.items() if value}


def _conv_block(width, given):
    return [f"nn.Conv2d({given}, {width}, 3)", f"nn.BatchNorm1d({width})", "nn.ReLU()"]


CASES = {
    "a container is renamed, its children come along": (
        {"layer1": BLOCK, "head": "nn.Linear(4, 2)"},
        {"stage1": BLOCK, "head": "nn.Linear(4, 2)"},
        {"renamed": [("layer1", "stage1")]},
    ),
    "a container is renamed and changed": (
        {"layer1": BLOCK},
        {"stage1": {**BLOCK, "fc2": "nn.Linear(8, 5)"}},
        {"renamed": [("layer1", "stage1")], "changed": ["stage1.fc2"]},
    ),
    "a layer comes first": (
        {"row": ["nn.Linear(4, 8)", "nn.ReLU()", "nn.Linear(8, 4)"]},
        {"row": ["nn.Dropout(0.1)", "nn.Linear(4, 8)", "nn.ReLU()", "nn.Linear(8, 4)"]},
        {"added": ["row.0"]},
    ),
    "a row of equal blocks grows at its end": (
        {"row": [BLOCK, BLOCK, BLOCK]},
        {"row": [BLOCK, BLOCK, BLOCK, BLOCK, BLOCK]},
        {"added": ["row.3", "row.4"]},
    ),
    "one block more, and a layer like those in it becomes another": (
        {"row": [["nn.BatchNorm1d(4)", "nn.Linear(4, 8)"]] * 3, "norm": "nn.BatchNorm1d(4)"},
        {"row": [["nn.BatchNorm1d(4)", "nn.Linear(4, 8)"]] * 4, "norm": "nn.Linear(4, 4)"},
        {"added": ["row.3"], "changed": ["norm"]},
    ),
    "one layer becomes another in its place": (
        {"row": ["nn.Linear(4, 8)", "nn.ReLU()", "nn.Linear(8, 4)"]},
        {"row": ["nn.Linear(4, 8)", "nn.Tanh()", "nn.Linear(8, 4)"]},
        {"changed": ["row.1"]},
    ),
    "a hidden width, in every layer of a row": (
        {"row": ["nn.Linear(4, 8)", "nn.ReLU()", "nn.Linear(8, 4)"]},
        {"row": ["nn.Linear(4, 16)", "nn.ReLU()", "nn.Linear(16, 4)"]},
        {"changed": ["row.0", "row.2"]},
    ),
    "two layers of a row change places": (
        {"row": ["nn.Linear(4, 8)", "nn.Conv2d(2, 3, 3)"]},
        {"row": ["nn.Conv2d(2, 3, 3)", "nn.Linear(4, 8)"]},
        {"moved": [("row.1", "row.0")]},
    ),
    "named layers are registered in another order": (
        {"a": "nn.Linear(4, 8)", "b": "nn.Conv2d(2, 3, 3)"},
        {"b": "nn.Conv2d(2, 3, 3)", "a": "nn.Linear(4, 8)"},
        {"changed": [""]},
    ),
    "a layer moves into a container that is new": (
        {"body": BLOCK, "fc": "nn.Linear(9, 7)"},
        {"body": BLOCK, "head": {"norm": "nn.BatchNorm1d(9)", "fc": "nn.Linear(9, 7)"}},
        {"added": ["head"], "moved": [("fc", "head.fc")]},
    ),
    "an activation has nothing by which it could be known elsewhere": (
        {"a": "nn.ReLU()"},
        {"b": "nn.ReLU()"},
        {"added": ["b"], "removed": ["a"]},
    ),
    "one name, another class": (
        {"norm": "nn.BatchNorm1d(4)"},
        {"norm": ["nn.Linear(4, 4)"]},
        {"added": ["norm.0"], "changed": ["norm"]},
    ),
    "a layer is put into a row, in which it was alone": (
        {"head": "nn.Linear(9, 7)"},
        {"head": ["nn.BatchNorm1d(9)", "nn.Linear(9, 7)"]},
        {"added": ["head"], "moved": [("head", "head.1")]},
    ),
    "a row that came elsewhere, half as wide, is not made of layers that are as large": (
        {"body": [*_conv_block(16, 3), *_conv_block(32, 16)]},
        {"backbone": {"body": [*_conv_block(8, 3), *_conv_block(16, 8)]}},
        {"added": ["backbone"], "removed": ["body"]},
    ),
    "a row that came elsewhere as it was": (
        {"body": [*_conv_block(16, 3), *_conv_block(32, 16)]},
        {"backbone": {"body": [*_conv_block(16, 3), *_conv_block(32, 16)]}},
        {"added": ["backbone"], "moved": [("body", "backbone.body")]},
    ),
    "in a row that came elsewhere, what is at its place": (
        {"body": [*_conv_block(16, 3), "nn.BatchNorm1d(7)"]},
        {"backbone": {"body": [*_conv_block(8, 3), "nn.BatchNorm1d(7)"], "last": "nn.BatchNorm1d(7)"}},
        {"added": ["backbone"], "moved": [("body.3", "backbone.body.3")], "removed": ["body"]},
    ),
    "two that went and came are not one for their size": (
        {"a": ["nn.Linear(4, 4)"]},
        {"b": {"c": "nn.Tanh()", "last": "nn.Linear(4, 4)"}},
        {"added": ["b"], "removed": ["a"]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_done_is_what_is_said(graph, name):
    old, new, expected = CASES[name]
    changes = compare(graph(old), graph(new))
    assert said(changes) == expected
    assert compare(graph(new), graph(old)) == changes.reversed()


def test_a_block_that_gets_its_place_as_an_argument_is_not_changed_by_its_place(predicted):
    before = (
        "class Block(nn.Module):\n    def __init__(self, width, idx):\n        super().__init__()\n"
        "        self.fc = nn.Linear(width, width + 1)\n"
    )
    row = "self.row = nn.ModuleList([{}])"
    blocks = [f"Block({width}, {{}})" for width in (3, 4, 5, 6)]
    old = row.format(", ".join(block.format(place) for place, block in enumerate(blocks)))
    new = row.format(", ".join(block.format(place) for place, block in enumerate(["Block(9, {})", *blocks])))
    changes = compare(predicted(old, before), predicted(new, before))
    assert said(changes) == {"added": ["row.0"]}


def test_two_copies_of_a_file_are_compared_as_one(predicted, tmp_path):
    import modgraph

    text = "from torch import nn\nclass Part(nn.Module):\n    pass\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.part = Part()\n"
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    assert not modgraph.diff(tmp_path / "first.py", tmp_path / "second.py")


def test_facts_of_tensors_and_registration(predicted):
    old = "self.fc = nn.Linear(2, 3)\nself.blocks = [nn.Linear(4, 5)]\nself.register_buffer('mask', torch.ones(3))"
    new = (
        "self.fc = nn.Linear(2, 3, bias=False)\nself.fc.weight.requires_grad_(False)\n"
        "self.blocks = nn.ModuleList([nn.Linear(4, 5)])\n"
        "self.register_buffer('mask', torch.ones(4), persistent=False)"
    )
    changes = compare(predicted(old), predicted(new))
    fields = {
        (one.new, field.kind, field.name): (field.old, field.new) for one in changes.changed for field in one.fields
    }
    assert fields["fc", "trainable", "weight"] == (True, False)
    assert fields["fc", "argument", "bias"][1] is False
    assert fields["", "shape", "mask"] == ([3], [4])
    assert fields["", "persistent", "mask"] == (True, False)
    assert fields["blocks.0", "registered", ""] == (False, True)
    assert [(one.old, one.new) for one in changes.moved] == [("blocks[0]", "blocks.0")]


def test_ties_are_followed_through_a_rename(predicted):
    old = "self.emb = nn.Embedding(5, 4)\nself.out = nn.Linear(4, 5, bias=False)\nself.out.weight = self.emb.weight"
    renamed = old.replace("emb", "embedding")
    untied = old.rpartition("\n")[0]
    assert said(compare(predicted(old), predicted(renamed))) == {"renamed": [("emb", "embedding")]}
    (change,) = compare(predicted(old), predicted(untied)).changed
    assert [(field.kind, field.old) for field in change.fields] == [("tied", "emb.weight")]


def test_a_long_row_is_cut_where_both_sides_have_the_same(graph):
    row = [f"nn.Linear({place}, 3)" for place in range(2, 92)]
    new = [*row[:30], "nn.ReLU()", *row[30:60], *row[61:80], "nn.Linear(7, 7)", *row[80:]]
    changes = compare(graph({"row": row}), graph({"row": new}))
    assert said(changes) == {"added": ["row.30", "row.80"], "removed": ["row.60"]}


def test_alignment():
    rows = "abcde", "xabde"
    pairs = align(5, 5, lambda old, new: (int(rows[0][old] == rows[1][new]), 0))
    assert pairs == [(0, 1), (1, 2), (3, 3), (4, 4)]
    assert ascending([3, 1, 2, 5, 4]) in ({1, 2, 3}, {1, 2, 4})
    assert ascending([]) == set()


def longest(old: str, new: str) -> int:
    """Length of a longest common subsequence, by the table that everybody knows."""
    row = [0] * (len(new) + 1)
    for one in old:
        before = row[:]
        for place, other in enumerate(new, 1):
            row[place] = before[place - 1] + 1 if one == other else max(row[place - 1], before[place])
    return row[-1]


@given(old=st.text("abc", max_size=25), new=st.text("abc", max_size=25))
def test_what_two_rows_have_in_common(old, new):
    pairs = common(old, new)
    assert all(old[one] == new[other] for one, other in pairs)
    assert all(one < later and other < behind for (one, other), (later, behind) in itertools.pairwise(pairs))
    assert len(pairs) == longest(old, new)


ROW = ["nn.Linear(4, 4)"] * 600
LONG = {
    "one comes first": (ROW, ["nn.Conv2d(4, 4, 3)", *ROW], {"added": ["row.0"]}),
    "one comes last": (ROW, [*ROW, "nn.Conv2d(4, 4, 3)"], {"added": ["row.600"]}),
    "one comes in the middle, another goes": (
        [*ROW[:500], "nn.ReLU()", *ROW[500:]],
        [*ROW[:200], "nn.Conv2d(4, 4, 3)", *ROW[200:]],
        {"added": ["row.200"], "removed": ["row.500"]},
    ),
    "two come at either end": (
        ROW,
        ["nn.Conv2d(4, 4, 3)", *ROW, "nn.Conv2d(5, 5, 3)"],
        {"added": ["row.0", "row.601"]},
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_row_of_equal_layers(graph, name):
    old, new, expected = LONG[name]
    changes = compare(graph({"row": old}), graph({"row": new}))
    assert said(changes) == expected
    assert compare(graph({"row": new}), graph({"row": old})) == changes.reversed()


def test_a_long_row_in_which_all_changed_and_one_came(graph):
    changes = compare(graph({"row": ROW}), graph({"row": ["nn.Conv2d(4, 4, 3)", *["nn.Linear(4, 5)"] * 600]}))
    assert [one.path for one in changes.added] == ["row.0"]
    assert len(changes.changed) == 600
    assert not changes.moved
    assert not changes.removed


def test_of_a_long_row_every_other_block_changed(graph):
    """As many that are equal as there are in order would be paired past the others, and half of the row came and went."""
    new = ["nn.Linear(4, 5)" if number % 2 else each for number, each in enumerate(ROW)]
    changes = compare(graph({"row": ROW}), graph({"row": new}))
    assert said(changes) == {"changed": [f"row.{number}" for number in range(1, 600, 2)]}
    assert compare(graph({"row": new}), graph({"row": ROW})) == changes.reversed()


@pytest.mark.parametrize("width", [4, 5], ids=["renamed", "half of them changed"])
def test_the_time_grows_with_the_number_of_children(graph, width: int):
    """CPU seconds: 2 here; 60 and more where each child is looked up in a table that is made for it."""
    graphs = [
        graph({f"{name}{number}": f"nn.Linear({each if number % 2 else 4}, 4)" for number in range(12_000)})
        for name, each in (("a", 4), ("b", width))
    ]
    began = time.process_time()
    changes = compare(*graphs)
    assert len(changes.renamed) == (12_000 if width == 4 else 6_000)
    assert time.process_time() - began < 25
