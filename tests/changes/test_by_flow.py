"""What is known again by where it stands in the flow of data: layers without weights, calls and operations."""

from __future__ import annotations

import itertools

import pytest

import modgraph
from modgraph.changes import compare

LAYERS = {
    "lin": "nn.Conv1d(4, 4, 1)",
    "a": "nn.Conv1d(4, 4, 1, bias=False)",
    "b": "nn.Conv1d(4, 2, 1)",
    "act": "nn.ReLU()",
}


@pytest.fixture
def model(tmp_path):
    """The graph of a model with these layers and this `forward`."""
    numbers = itertools.count()

    def predict(layers, *lines):
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        body = "".join(f"        self.{name} = {layer}\n" for name, layer in layers.items())
        forward = "".join(f"        {line}\n" for line in lines)
        head = "import os\nimport torch\nfrom torch import nn\nclass Net(nn.Module):\n"
        text = f"{head}    def __init__(self):\n        super().__init__()\n{body}    def forward(self, x):\n{forward}"
        (folder / "model.py").write_text(text, encoding="utf-8")
        return modgraph.predict(f"{folder / 'model.py'}:Net")

    return predict


def both_ways(old, new):
    changes = compare(old, new)
    assert compare(new, old) == changes.reversed()
    return changes


def flows(changes):
    return {(flow.side, flow.producer, flow.consumer) for flow in changes.dataflow}


# --- operations and calls ------------------------------------------------------------------------------------------

SLICES = ("y = self.lin(x)", "q = y[..., :2]", "k = y[..., 2:]", "return self.a(q), self.b(k)")


@pytest.mark.parametrize("first", ["x[0] * 2", "x[0][1]", "torch.relu(x)[..., :]"])
def test_an_operation_put_before_others_renumbers_them_and_changes_no_way_of_theirs(model, first):
    changes = both_ways(model(LAYERS, *SLICES), model(LAYERS, f"x = {first}", *SLICES))
    assert [field.kind for one in changes.changed for field in one.fields if one.new == ""] == ["operations"]
    assert not changes.dataflow


def test_a_call_put_before_others_renumbers_them_and_changes_no_way_of_theirs(model):
    old = model(LAYERS, "return self.act(self.b(self.act(self.a(x))))")
    new = model(LAYERS, "x = self.act(x)", "return self.act(self.b(self.act(self.a(x))))")
    changes = both_ways(old, new)
    assert [(one.new, field.old, field.new) for one in changes.changed for field in one.fields] == [("act", 2, 3)]
    assert not changes.dataflow


def test_one_more_that_is_given_the_same_is_known_by_who_takes_it(model):
    more = ("y = self.lin(x)", "z = y[..., 1:3]", *SLICES[1:3], "return self.a(q) * z, self.b(k)")
    plain = (*SLICES[:3], "return self.a(q) * 2, self.b(k)")
    assert flows(both_ways(model(LAYERS, *plain), model(LAYERS, *more))) == {("new", "lin", "mul in the model")}


def test_operations_that_are_given_the_same_keep_their_order(model):
    """That each of two slices goes where the other one went is a change."""
    changes = both_ways(model(LAYERS, *SLICES), model(LAYERS, *SLICES[:3], "return self.a(k), self.b(q)"))
    assert ("old", "getitem in the model", "a") in flows(changes)
    assert ("new", "getitem in the model", "b") in flows(changes)


def test_statements_in_another_order_do_the_same(model):
    first, second = "p = torch.relu(self.a(x))", "q = torch.relu(self.lin(x))"
    last = "return self.b(p - q)"
    assert not both_ways(model(LAYERS, first, second, last), model(LAYERS, second, first, last))


def test_the_other_side_has_numbers_of_its_own(model):
    old = model(LAYERS, *SLICES)
    new = model(LAYERS, "x = x[0] * 2", *SLICES[:3], "return self.a(q), self.b(q)")
    changes = both_ways(old, new)
    assert ("old", "getitem #2 in the model", "b") in flows(changes)
    assert ("new", "getitem #2 in the model", "b") in flows(changes)
    assert ("old", "getitem in the model", "a") not in flows(changes)


# --- layers without weights ----------------------------------------------------------------------------------------


def renamed(changes):
    return [(one.old, one.new) for one in changes.renamed]


POOL, DROP = "nn.MaxPool1d(2)", "nn.Dropout(0.2)"
IN_ONE_PLACE = {
    "one": ({"pool": POOL}, {"down": POOL}, "pool(x)", "down(x)", [("pool", "down")]),
    "two, one after the other": (
        {"pool": POOL, "drop": DROP},
        {"down": POOL, "out": DROP},
        "drop(self.pool(x))",
        "out(self.down(x))",
        [("pool", "down"), ("drop", "out")],
    ),
    "a container of few": (
        {"tail": f"nn.Sequential({DROP})"},
        {"end": f"nn.Sequential({DROP})"},
        "tail(x)",
        "end(x)",
        [("tail", "end")],
    ),
    "two that are alike, in two places": (
        {"one": POOL, "two": POOL},
        {"first": POOL, "second": POOL},
        "two(self.a(self.one(x)))",
        "second(self.a(self.first(x)))",
        [("one", "first"), ("two", "second")],
    ),
}


@pytest.mark.parametrize("name", IN_ONE_PLACE)
def test_a_layer_without_weights_is_renamed(model, name):
    old, new, before, after, expected = IN_ONE_PLACE[name]
    changes = both_ways(
        model({**LAYERS, **old}, "x = self.lin(x)", f"x = self.{before}", "return self.b(x)"),
        model({**LAYERS, **new}, "x = self.lin(x)", f"x = self.{after}", "return self.b(x)"),
    )
    assert sorted(renamed(changes)) == sorted(expected)
    assert not any([changes.added, changes.removed, changes.dataflow, changes.rewritten])


NO_RENAME = {
    "in another place": (
        {"pool": POOL},
        {"down": POOL},
        "self.b(self.a(self.pool(x)))",
        "self.b(self.down(self.a(x)))",
    ),
    "with another argument": (
        {"pool": POOL},
        {"down": "nn.MaxPool1d(3)"},
        "self.b(self.pool(x))",
        "self.b(self.down(x))",
    ),
    "of two that are alike in one place": (
        {"p": POOL, "q": POOL},
        {"r": POOL, "s": POOL},
        "self.b(self.p(x) + self.q(x))",
        "self.b(self.r(x) + self.s(x))",
    ),
    "which nothing calls": ({"pool": POOL}, {"down": POOL}, "self.b(x)", "self.b(x)"),
}


@pytest.mark.parametrize("name", NO_RENAME)
def test_no_rename_is_claimed(model, name):
    old, new, before, after = NO_RENAME[name]
    changes = both_ways(
        model({**LAYERS, **old}, "x = self.lin(x)", f"return {before}"),
        model({**LAYERS, **new}, "x = self.lin(x)", f"return {after}"),
    )
    assert not renamed(changes)
    assert [one.path for one in changes.removed] == list(old)
    assert [one.path for one in changes.added] == list(new)
