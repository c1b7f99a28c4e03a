"""What one side leaves open is never a difference."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import modgraph
from modgraph.changes import compare
from modgraph.errors import GraphError
from modgraph.export.diff.words import verdict
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import ModelInfo, ModuleNode, ParameterInfo

OPEN = {
    "a size": (
        "self.fc = nn.Linear(int(os.environ['N']), 3)",
        "self.fc = nn.Linear(7, 3)",
        "fc",
        "argument in_features",
    ),
    "an argument": ("self.d = nn.Dropout(float(os.environ['P']))", "self.d = nn.Dropout(0.1)", "d", "argument p"),
    "a class": ("self.a = nn.ReLU() if os.environ.get('A') else nn.Tanh()", "self.a = nn.ReLU()", "a", "class"),
    "how many there are": (
        "self.r = nn.ModuleList([nn.Linear(2, 2) for _ in range(int(os.environ['N']))])",
        "self.r = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])",
        "r.0",
        "module",
    ),
    "a parameter": (
        "self.w = nn.Parameter(torch.zeros(int(os.environ['N'])))",
        "self.w = nn.Parameter(torch.zeros(4))",
        "",
        "shape of w",
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_it_cannot_be_told(predicted, name):
    text, known, path, what = OPEN[name]
    open_graph, known_graph = predicted(text), predicted(known)
    for old, new, side in ((open_graph, known_graph, "old"), (known_graph, open_graph, "new")):
        changes = compare(old, new)
        assert not changes
        assert (path, what, side) in [(one.path, one.what, one.side) for one in changes.undecided]
        assert all("os.environ" in one.reason for one in changes.undecided if one.what == "module")
        assert changes.state.loads is (True if name == "an argument" else None)
        assert json.loads(changes.to_json())["checkpoint_loads"] is changes.state.loads
        assert bool(changes.state.undecided) == (changes.state.loads is None)
        assert "cannot be told" in changes.to_text()


def test_what_is_hidden_on_one_side_and_not_known_on_the_other_is_no_difference(predicted):
    open_graph, known_graph = (
        predicted("self.h = [getattr(nn, os.environ['LAYER'])()]"),
        predicted("self.h = [nn.ReLU()]"),
    )
    for old, new, side in ((open_graph, known_graph, "old"), (known_graph, open_graph, "new")):
        changes = compare(old, new)
        assert not changes
        assert [(one.old or one.new, one.what, one.side) for one in changes.undecided] == [("h[0]", "module", side)]
        assert changes.state.loads is True  # what is hidden is in no state dict
    both = compare(open_graph, open_graph)
    assert [(one.what, one.side) for one in both.undecided] == [("further modules", "both")]


def test_what_is_known_beside_it_is_told(predicted):
    row = "self.r = nn.ModuleList([nn.Linear(2, 2) for _ in range(int(os.environ['N']))])\n"
    changes = compare(predicted(row + "self.head = nn.Linear(2, 3)"), predicted(row + "self.head = nn.Linear(2, 4)"))
    assert [one.new for one in changes.changed] == ["head"]
    assert {one.side for one in changes.undecided} == {"both"}


def test_an_argument_at_its_default_is_known(predicted):
    changes = compare(predicted("self.c = nn.Conv2d(3, 4, 3)"), predicted("self.c = nn.Conv2d(3, 4, 3, stride=2)"))
    (change,) = changes.changed
    assert [(field.name, field.new) for field in change.fields] == [("stride", 2)]
    assert "stride 1 (default) → 2" in changes.to_text()
    assert not changes.undecided


def test_a_model_of_which_nothing_is_known_is_not_comparable(predicted, tmp_path):
    file = tmp_path / "factory.py"
    file.write_text("import os, importlib\ndef build():\n    return importlib.import_module(os.environ['M']).make()\n")
    with pytest.raises(GraphError, match="nothing is known of the old model"):
        compare(modgraph.predict(f"{file}:build"), predicted("pass"))


def test_what_neither_file_can_say_is_no_question():
    """ONNX does not say which parameters are trained: of two such files, nobody asks."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name="m.Net", target=None))
    held = ParameterInfo(name="weight", shape=(2,), dtype="float32", trainable=None)
    builder.modules.append(ModuleNode(path="", class_name="m.Net", observed=True, parameters=(held,)))
    graph = builder.build()
    assert compare(graph, graph).undecided == ()
    builder.modules[0] = replace(builder.modules[0], predicted=True, observed=None)
    graph = builder.build()
    assert [one.what for one in compare(graph, graph).undecided] == ["whether weight is trainable"]


def test_where_both_leave_open_how_many_there_are_nobody_knows_whether_a_checkpoint_fits(predicted):
    row = predicted("self.r = nn.ModuleList([nn.Linear(2, 2) for _ in range(int(os.environ['N']))])")
    state = compare(row, row).state
    assert (state.loads, state.undecided) == (None, ("r.?",))
    assert "left open: further keys of r\n" in compare(row, row).to_text()


def test_what_breaks_a_checkpoint_does_so_whatever_is_open(predicted):
    size = "self.a = nn.Linear(int(os.environ['N']), 3)\n"
    state = compare(predicted(size), predicted(f"{size}self.b = nn.Linear(2, 2)")).state
    assert state.undecided
    assert state.loads is False


# --- open on both sides --------------------------------------------------------------------------------------------

OPEN_ON_BOTH = {
    "a size": "self.fc = nn.Linear(int(os.environ['N']), 3)",
    "a class": "self.fc = nn.ReLU() if os.environ.get('A') else nn.Tanh()",
    "how many there are": "self.fc = nn.ModuleList([nn.Linear(2, 2) for _ in range(int(os.environ['N']))])",
    "a parameter": "self.w = nn.Parameter(torch.zeros(int(os.environ['N'])))",
    "what nobody can read": "self.fc = nn.Linear(4, elsewhere.width)",
}


@pytest.mark.parametrize("name", OPEN_ON_BOTH)
def test_what_both_leave_open_is_not_the_same(predicted, name):
    """Each place is counted, and the first has its line; the status stays that of no known difference."""
    text = OPEN_ON_BOTH[name]
    changes = compare(predicted(text, "import elsewhere"), predicted(f"pass\n{text}", "import elsewhere"))
    assert not changes
    said = verdict(changes)
    assert said.startswith("no difference found")
    assert "1 place could not be compared: " in said
    assert "(model.py:8 and model.py:9)" in said


def test_the_places_are_counted_by_line_and_not_by_fact(predicted):
    open_graph = predicted("self.fc = nn.Linear(3, int(os.environ['N']))\nself.d = nn.Dropout(float(os.environ['P']))")
    changes = compare(open_graph, open_graph)
    assert len(changes.undecided) > 2
    assert "2 places could not be compared, the first: " in verdict(changes)


BRANCHES = {
    "data": ("if x.sum() > 0:", "x.sum() > 0"),
    "the surroundings": ("if os.environ.get('FAST'):", "os.environ.get('FAST')"),
    "another arm": ("if x.sum() <= 0:\n            pass\n        else:", ""),
    "a loop": ("for _ in range(int(x.sum())):", ""),
}


@pytest.mark.parametrize("name", BRANCHES)
@pytest.mark.parametrize(
    ("old", "new"), [("torch.relu(x)", "torch.tanh(x)"), ("self.a(x)", "self.b(x)"), ("x + 1", "y")]
)
def test_another_step_in_a_branch_that_is_undecided_cannot_be_told(tmp_path, name, old, new):
    test, condition = BRANCHES[name]
    graphs = []
    for step in (old, new):
        file = tmp_path / f"{len(graphs)}" / "model.py"
        file.parent.mkdir()
        file.write_text(
            "import os\nimport torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.a = nn.Linear(4, 4)\n        self.b = nn.Linear(4, 4)\n"
            "    def forward(self, x):\n        x, y = self.a(self.b(x)), x\n"
            f"        {test}\n            x = {step}\n        return self.b(x)\n",
            encoding="utf-8",
        )
        graphs.append(modgraph.predict(f"{file}:Net"))
    changes = compare(*graphs)
    assert compare(*reversed(graphs)) == changes.reversed()
    assert not changes
    assert changes.forward == "predicted"
    assert {one.path for one in changes.undecided} == {""}
    (open_one,) = [one for one in changes.undecided if one.old_place]
    assert condition in open_one.reason
    assert open_one.old_place in verdict(changes)
    same = compare(graphs[0], graphs[0])
    assert bool(same.undecided) is (name == "a loop")  # of which nobody says that both are as long


def test_where_a_forward_is_not_followed_is_said(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(
        "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(4, 4)\n    def forward(self, x, then):\n        then(self)\n        return self.a(x)\n"
    )
    graph = modgraph.predict(f"{file}:Net")
    (left,) = compare(graph, graph).not_compared
    assert (left.what, left.side) == ("what forward does", "both")
    assert ", model.py:8: " in left.reason
    assert verdict(compare(graph, graph)).count("forward") == 1
