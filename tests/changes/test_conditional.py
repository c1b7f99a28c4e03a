"""What `forward` does under a condition is compared as what it always does: its ways of data, places and shapes."""

from __future__ import annotations

import itertools

import pytest

import modgraph
from modgraph.changes import compare
from modgraph.export.diff.words import verdict

HEAD = """import os
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.drop = nn.Dropout()
        self.flag, self.other = os.environ.get("F"), os.environ.get("G")
    def forward(self, x, z):
        x, z = self.a(x), self.b(z)
        y = x
"""
TESTS = {
    "always": "if True:",
    "under a condition": "if self.flag:",
    "in the other arm": "if not self.flag:",
    "in two": "if self.flag:\n          if z.sum() > 0:",
    "where data decides": "if x.sum() > 0:",
}
REWIRED = {
    "the order of layers": ("y = self.a(self.b(x))", "y = self.b(self.a(x))"),
    "the order of a layer and an operation": ("y = torch.relu(self.a(x))", "y = self.a(torch.relu(x))"),
    "one after the other, and side by side": ("y = self.a(self.b(x))", "self.b(x); y = self.a(x)"),
    "places of an operation": ("y = x - z", "y = z - x"),
    "places in a list": ("y = torch.cat([x, z], 0)[:2]", "y = torch.cat([z, x], 0)[:2]"),
    "another input": ("y = self.a(x)", "y = self.a(z)"),
    "twice the same": ("y = x + z", "y = x + x"),
    "which of two is read": (
        "p = torch.relu(x); q = torch.tanh(x); y = p",
        "p = torch.relu(x); q = torch.tanh(x); y = q",
    ),
    "one that is read twice": (
        "p = torch.rand_like(x); q = torch.rand_like(x); y = p - q",
        "p = torch.rand_like(x); q = torch.rand_like(x); y = p - p",
    ),
    "the order of operations": ("y = torch.relu(torch.tanh(x))", "y = torch.tanh(torch.relu(x))"),
    "the order of two among three": (
        "y = torch.relu(torch.tanh(torch.relu(x)))",
        "y = torch.tanh(torch.relu(torch.relu(x)))",
    ),
    "what is written first": ("y = x * 1; y.add_(1); y.mul_(2)", "y = x * 1; y.mul_(2); y.add_(1)"),
    "the shape between": (
        "y = torch.relu(x.reshape(2, 4)).reshape(2, 4)",
        "y = torch.relu(x.reshape(4, 2)).reshape(2, 4)",
    ),
}
SAME = {
    "itself": ("y = self.a(self.b(x)) - z", "y = self.a(self.b(x)) - z"),
    "statements in another order": (
        "p = torch.relu(x); q = torch.tanh(z); y = p - q",
        "q = torch.tanh(z); p = torch.relu(x); y = p - q",
    ),
    "another way to write it": ("y = x - z", "y = torch.sub(input=x, other=z)"),
    "either of two that are added": ("y = self.a(x) + z", "y = z + self.a(x)"),
}


@pytest.fixture
def model(tmp_path):
    """The graph of a model with this behind the test; what follows is outside of it."""
    numbers = itertools.count()

    def predict(test, steps, then="return self.b(y)"):
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        text = f"{HEAD}        {test}\n            {steps}\n        {then}\n"
        (folder / "model.py").write_text(text, encoding="utf-8")
        return modgraph.predict(f"{folder / 'model.py'}:Net", inputs=["x=2x4", "z=2x4"])

    return predict


def compared(old, new):
    changes = compare(old, new)
    assert compare(new, old) == changes.reversed()
    return changes


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("name", REWIRED)
def test_what_is_rewired_is_never_the_same(model, name, test):
    old, new = REWIRED[name]
    changes = compared(model(TESTS[test], old), model(TESTS[test], new))
    if test == "always":
        # Of what is sure to happen, sizes inside of a module's own `forward` are not compared.
        assert bool(changes) is (name != "the shape between")
        return
    assert not changes
    (left,) = changes.undecided
    assert (left.what, left.side) == ("what forward does under a condition", "both")
    assert "could not be compared" in verdict(changes)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("name", SAME)
def test_what_is_wired_alike_is_no_question(model, name, test):
    changes = compared(*(model(TESTS[test], steps) for steps in SAME[name]))
    assert not changes
    assert not changes.undecided


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if not self.flag or self.other:", "if not (self.flag or self.other):"),
        ("if self.flag:", "if not self.flag:"),
        ("if self.flag:", "if self.other:"),
        ("if self.flag:\n          if self.other or z.sum() > 0:", "if self.flag and self.other or z.sum() > 0:"),
    ],
)
def test_the_same_under_another_condition_cannot_be_told(model, old, new):
    changes = compared(model(old, "y = torch.relu(z)"), model(new, "y = torch.relu(z)"))
    assert not changes
    assert changes.undecided


def test_two_tests_one_in_the_other_are_one_test_of_both(model):
    inner, joined = "if self.flag:\n          if self.other:", "if self.flag and self.other:"
    conditions = [
        {each.condition.text for each in model(test, "y = torch.relu(z)").operations} for test in (inner, joined)
    ]
    assert conditions[0] == conditions[1] == {"self.flag and self.other"}


def test_what_goes_into_a_branch_and_comes_out_of_it_is_compared(model):
    into = compared(
        *(model("if self.flag:", "y = self.drop(y)", f"return self.b({end})") for end in ("y - z", "z - y"))
    )
    assert [one.old_place for one in into.undecided] == ["model.py:14"]


def test_what_is_put_before_a_branch_is_told_and_the_branch_is_as_it_was(model):
    old = model("if self.flag:", "y = self.a(y)")
    new = model("y = torch.relu(y)\n        if self.flag:", "y = self.a(y)")
    changes = compared(old, new)
    assert [field.kind for one in changes.changed for field in one.fields] == ["operations"]
    assert not changes.undecided


BLOCKS = """import os
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.flag = os.environ.get("F")
    def forward(self, x, mask=None):
        y = self.a(x)
        if TEST:
            y = torch.relu(y)
        return x + self.b(y)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(N))
        self.head = nn.Linear(4, 4)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
"""


@pytest.mark.parametrize("test", ["self.flag", "mask is not None", "x.sum() > 0"])
def test_of_a_module_that_is_added_it_is_not_asked_what_it_does_under_a_condition(tmp_path, test):
    graphs = []
    for number in (2, 3):
        path = tmp_path / f"net{number}.py"
        path.write_text(BLOCKS.replace("TEST", test).replace("(N)", f"({number})"), encoding="utf-8")
        graphs.append(modgraph.predict(f"{path}:Net", inputs=["2x4"]))
    for changes in (compared(*graphs), compared(*reversed(graphs))):
        assert [one.path for one in (*changes.added, *changes.removed) if one.path.count(".") == 1] == ["blocks.2"]
        assert not changes.undecided


def test_of_operations_under_conditions_alone_the_arguments_are_not_compared_either(model):
    steps = ("y = torch.softmax(x, 0)", "y = torch.softmax(x, 1)")
    changes = compared(*(model("if self.flag:", step) for step in steps))
    assert not changes.undecided
    assert "arguments of operations" in verdict(changes)
