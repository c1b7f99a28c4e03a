"""A diff of models with calls under conditions: it is drawn in every format, and told as what stands in the graphs."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import modgraph
from modgraph.changes import Changes, compare
from modgraph.changes.model import Field, Side
from modgraph.export.diff.facts import field_text
from modgraph.export.diff.formats import render
from modgraph.export.diff.picture import both
from modgraph.export.diff.picture import mermaid as as_mermaid
from modgraph.export.diff.text import flow_text
from modgraph.export.diff.words import lines, verdict
from modgraph.export.picture.choosing import picture_of
from modgraph.export.picture.dot import write_dot

NET = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.act = nn.Linear(4, 4), nn.ReLU()

    def forward(self, x, mask=None):
        if mask is not None:
            x = self.act(x)
        return self.fc(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.drop = nn.Dropout(0.1)
        self.block = Block()
        self.rows = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x, scale=None):
        x = self.a(x)
        if x.shape[0] > 64:
            x = self.drop(x)
        return self.b(x)
"""
WIDER = ("self.a, self.b = nn.Linear(4, 4)", "self.a, self.b = nn.Linear(4, 4, bias=False)")
BRANCH = "        if x.shape[0] > 64:\n            x = self.drop(x)\n"
EDITS = {
    "a call that is kept": [WIDER],
    "a call that is added": [("self.drop(x)", "self.block(self.drop(x))")],
    "a module and its call": [
        ("self.block = Block()", "self.block, self.more = Block(), nn.Tanh()"),
        ("self.drop(x)", "self.more(self.drop(x))"),
    ],
    "a module and its call are gone": [("        self.drop = nn.Dropout(0.1)\n", ""), (BRANCH, "")],
    "a branch that is gone": [(BRANCH, "")],
    "operations": [WIDER, ("self.drop(x)", "torch.tanh(x) * 2")],
    "operations beside a call": [("self.drop(x)", "torch.tanh(self.drop(x))")],
    "another name": [("self.drop", "self.out"), WIDER],
    "nested": [("return self.b(x)", "return self.b(self.block(x, scale))")],
    "nested, under a condition": [("self.drop(x)", "self.block(x, scale)")],
    "one of several": [("self.drop(x)", "self.rows[int(x.sum())](x)"), WIDER],
    "another class": [("nn.Dropout(0.1)", "nn.Identity()")],
    "another condition": [("x.shape[0] > 64", "scale is not None"), WIDER],
}


@pytest.fixture
def graph(tmp_path: Path):
    numbers = itertools.count()

    def made(*edits: tuple[str, str], inputs=None, run: bool = False, text: str = NET) -> modgraph.Graph:
        for before, after in edits:
            assert before in text
            text = text.replace(before, after)
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        (folder / "net.py").write_text(text, encoding="utf-8")
        target = f"{folder / 'net.py'}:Net"
        return modgraph.analyze(target, inputs=["3x4"]) if run else modgraph.predict(target, inputs=inputs)

    return made


def is_drawn(changes: Changes) -> str:
    """The picture as DOT; Mermaid, and the comment that holds it, can be written too."""
    graph, options = both(changes)
    assert as_mermaid(changes).startswith("---")
    assert "```mermaid" in render(changes, "markdown")
    return write_dot(picture_of(graph, options))


def conditions(drawn: str) -> set[str]:
    """What is said to depend on conditions: the name in the card or frame, and the condition."""
    return {note for line in drawn.splitlines() for note in re.findall(r"depends on</b>(.*?)</TR>", line)}


@pytest.mark.parametrize("name", EDITS)
def test_what_depends_on_a_condition_is_marked_as_in_any_picture(graph, name):
    for sides in ((graph(), graph(*EDITS[name])), (graph(*EDITS[name]), graph())):
        changes = compare(*sides)
        assert compare(*reversed(sides)) == changes.reversed()
        if changes:
            alone = write_dot(picture_of(sides[1]))
            assert conditions(is_drawn(changes)) >= conditions(alone)


@pytest.mark.needs_torch
def test_what_a_run_did_not_take_is_drawn_too(graph):
    other = ("x.shape[0] > 64", "scale is not None")
    drawn = is_drawn(compare(graph(other, run=True), graph(other, WIDER, run=True)))
    assert "not taken" in drawn


@pytest.mark.needs_dot
def test_a_picture_and_a_page_of_a_call_under_a_condition(graph):
    changes = compare(graph(), graph(WIDER))
    assert "depends on" in render(changes, "svg")
    assert "<figure" in render(changes, "html")


# --- ways of data ----------------------------------------------------------------------------------------------------

WRAP = """
class Wrap(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base, self.drop = base, nn.Dropout(0.1)

    def forward(self, x):
        return BODY

class Net("""
BODIES = ["self.base(x)", "self.base(x) + self.drop(x)", "self.drop(self.base(x)) * 2", "torch.relu(self.base(x))"]


@pytest.mark.parametrize("body", BODIES)
def test_a_layer_in_a_wrapper_is_told_as_that(graph, body):
    wrapped = (("\nclass Net(", WRAP.replace("BODY", body)), ("self.a, self.b = nn.Linear(4, 4)", "self.a, self.b = W"))
    wrap = (*wrapped, ("= W,", "= Wrap(nn.Linear(4, 4)),"))
    changes = compare(graph(), graph(*wrap))
    assert changes.dataflow == ()
    assert "Linear → Wrap around Linear (base)" in [line.words for line in lines(changes)]


CERTAIN = NET.replace(BRANCH, "        x = self.drop(x)\n        x = torch.tanh(x) + x\n")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("torch.tanh(x) + x", "torch.tanh(x)"), ["− drop → (add in the model) → b"]),
        (("        x = torch.tanh(x) + x\n", ""), []),
    ],
)
def test_steps_that_are_on_one_side_alone_are_named(graph, edit, said):
    changes = compare(graph(text=CERTAIN), graph(edit, text=CERTAIN))
    told = [flow_text(flow) for flow in changes.dataflow]
    assert told == said


def test_a_way_that_is_there_under_a_condition_is_not_gone(graph):
    changes = compare(graph((BRANCH, "")), graph())
    (flow,) = changes.dataflow
    assert flow_text(flow) == "~ a → b: in the new model where `batch <= 64`"


def test_calls_under_a_condition_are_counted_beside_the_others(graph):
    changes = compare(graph((BRANCH, "        x = self.drop(x)\n")), graph())
    assert "calls 1 → 0 + 1 conditional" in [line.words for line in lines(changes)]


# --- words -----------------------------------------------------------------------------------------------------------


def test_a_call_of_what_is_added_is_the_effect_of_the_text(graph, tmp_path):
    targets = []
    added = [
        ("self.block = Block()", "self.block, self.more = Block(), nn.Tanh()"),
        ("self.b(x)", "self.b(self.more(x))"),
    ]
    for number, edits in enumerate([[], added]):
        text = NET
        for before, after in edits:
            text = text.replace(before, after)
        (tmp_path / f"m{number}").mkdir()
        (tmp_path / f"m{number}" / "net.py").write_text(text, encoding="utf-8")
        targets.append(f"{tmp_path / f'm{number}' / 'net.py'}:Net")
    changes = modgraph.diff(*targets)
    assert [one.path for one in changes.added] == ["more"]
    assert "as far as is known" not in verdict(changes)


def test_which_child_is_taken_reads_as_a_condition(graph):
    old = graph(("self.drop(x)", "self.rows[int(x.sum())](x)"))
    texts = {call.condition.text for call in old.calls if call.condition is not None}
    assert not any(text.endswith("is not known") for text in texts)


SIGNATURES = {
    "another default": ("scale=None", "scale=2", "default of forward's scale None → 2"),
    "one more": ("scale=None", "scale=None, mode='train'", "argument mode of forward new (default 'train')"),
    "one less": (", scale=None", "", "argument scale of forward gone"),
    "no default any more": ("scale=None", "scale", "default of forward's scale None → none"),
    "keywords": ("scale=None", "*, scale=1", "default of forward's scale None → 1"),
    "another layout": ("scale=None", "scale = (None)", ""),
    "an annotation": ("scale=None", "scale: float | None = None", ""),
    "what no literal is": ("scale=None", "scale=SCALE", ""),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_what_forward_takes_is_told(tmp_path, name):
    before, after, said = SIGNATURES[name]
    targets = []
    for number, edit in enumerate([(before, before), (before, after)]):
        (tmp_path / str(number)).mkdir()
        file = tmp_path / str(number) / "net.py"
        head, arguments, rest = NET.replace("\nclass", "\nSCALE = None\n\nclass", 1).partition(
            "def forward(self, x, scale=None)"
        )
        file.write_text(head + arguments.replace(*edit) + rest, encoding="utf-8")
        targets.append(f"{file}:Net")
    changes = modgraph.diff(*targets)
    assert [line.words for line in lines(changes) if "forward" in line.words] == [said] * bool(said)
    assert modgraph.diff(*reversed(targets)) == changes.reversed()


@pytest.mark.parametrize("place", [0, 5, 40, 200, 399])
@pytest.mark.parametrize("longest", [44, 72])
def test_a_cut_keeps_where_two_values_differ(place, longest):
    old = "x" * 400
    new = old[:place] + "y" + old[place + 1 :]
    text = field_text(Field(kind="argument", name="cfg", old=old, new=new), longest=longest)
    assert "…" in text
    assert len(text) <= longest
    before, _, after = text.partition(" → ")
    assert "y" in after
    assert before.removeprefix("cfg ") != after


def test_no_change_reads_the_same_on_both_sides():
    pairs = [
        Field(kind="output_dtypes", old=["float32"] * 4, new=["float32"]),
        Field(kind="output_dtypes", old=["float32", "float32", "int64"], new=["float32", "int64", "int64"]),
        Field(kind="argument", name="act", old={"$ref": "a.ReLU"}, new={"$ref": "b.ReLU"}),
        Field(kind="class", old="a.Net", new="b.Net"),
    ]
    said = [field_text(field) for field in pairs]
    assert said[0] == "dtype of outputs 4 × float32 → float32"
    assert said[3] == "a.Net → b.Net"
    assert said[1] == "dtype of 1 of 3 outputs float32 → int64"
    assert "a.ReLU" in said[2]
    assert "b.ReLU" in said[2]


@pytest.mark.parametrize("place", range(4))
def test_the_dtype_of_one_of_several_outputs_is_told_alone(place):
    old = ["float32", "int64", "float32", "float64"]
    new = [*old[:place], "bool", *old[place + 1 :]]
    said = field_text(Field(kind="output_dtypes", old=old, new=new))
    assert said == f"dtype of 1 of 4 outputs {old[place]} → bool"


@pytest.mark.parametrize("gone", ["word0", "word7", "word19"])
def test_of_many_operations_those_that_are_others_stay(gone):
    old = {f"word{number}": 1 for number in range(20)}
    new = {**{word: count for word, count in old.items() if word != gone}, "another": 2}
    said = field_text(Field(kind="operations", old=old, new=new))
    assert said == f"operations {gone}, … → 2 × another, …"


@pytest.mark.parametrize(("old", "new"), [("nn.Dropout(0.2)", "nn.Dropout()"), ("nn.Dropout(0.2)", "nn.Dropout(0.5)")])
def test_the_default_of_a_layer_is_written_out(graph, old, new):
    changes = compare(graph(("nn.Dropout(0.1)", old)), graph(("nn.Dropout(0.1)", new)))
    (line,) = lines(changes)
    assert line.words == "p 0.2 → 0.5 (default)"


def test_two_headers_are_told_apart():
    names = [
        f"MlpMixer(image_size={size}, patch=16, dim=512, depth=8, num_classes=10, dropout=0.1)" for size in (32, 64)
    ]
    sides = [
        Side(name=name, class_name="m.M", target=f"net.py:{name}", known_by="predicted", complete=True, modules=1)
        for name in names
    ]
    text = render(Changes(old=sides[0], new=sides[1]), "text").splitlines()
    assert "image_size=32" in text[0]
    assert "image_size=64" in text[1]
