"""What changed, in every format."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import modgraph
from modgraph.changes import Changes, compare
from modgraph.changes.model import ABSENT, Changed, Field, FindingChange, Side, StateChanges
from modgraph.errors import ExportError
from modgraph.export.diff import markdown as diff_markdown
from modgraph.export.diff.facts import field_text
from modgraph.export.diff.formats import render
from modgraph.export.diff.markdown import MOST_CHARACTERS
from modgraph.export.diff.picture import both
from modgraph.export.diff.text import checkpoint_verdict
from modgraph.export.diff.words import delta_text, lines, verdict
from modgraph.export.look.parts import Card, Frame
from modgraph.export.look.style import STATES
from modgraph.export.picture import images
from modgraph.export.picture.choosing import picture_of
from modgraph.export.picture.dot import write_dot
from modgraph.export.picture.mermaid import render as as_mermaid
from modgraph.graph.model import ModelInfo, ModuleNode, ParameterInfo

OLD = """\
import os
from torch import nn

class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(hidden, width)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 8)
        self.layers = nn.ModuleList([Block(8, 16) for _ in range(12)])
        self.stage = nn.Sequential(nn.Conv2d(3, 64, 3), nn.BatchNorm2d(64), nn.Conv2d(64, 64, 3, stride=2))
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
        self.pool = nn.AvgPool2d(2)
        self.norm = nn.BatchNorm1d(8)
        self.fc = nn.Linear(8, 10)
        self.open = nn.Linear(int(os.environ["WIDTH"]), 2)
"""
EDITS = (
    ("Block(8, 16)", "Block(8, 64)"),
    ("self.emb ", "self.embedding "),
    ("64", "128"),
    ("nn.Linear(8, 8), nn.ReLU()", "nn.Linear(8, 8), nn.Dropout(0.1), nn.GELU(), nn.LayerNorm(8)"),
    ("        self.pool = nn.AvgPool2d(2)\n", ""),
    ("nn.BatchNorm1d(8)", "nn.LayerNorm(8)"),
    ("self.fc = nn.Linear(8, 10)", "self.head = nn.ModuleDict({'drop': nn.Dropout(), 'fc': nn.Linear(8, 10)})"),
    ('nn.Linear(int(os.environ["WIDTH"]), 2)', "nn.Linear(9, 2)"),
)


@pytest.fixture(scope="module")
def changes(tmp_path_factory) -> Changes:
    """A change of every kind."""
    new = OLD
    for before, after in EDITS:
        assert before in new
        new = new.replace(before, after)
    graphs = []
    for text in (OLD, new):
        file = tmp_path_factory.mktemp("diff") / "model.py"
        file.write_text(text, encoding="utf-8")
        graphs.append(modgraph.predict(f"{file}:Net"))
    return compare(*graphs)


@pytest.mark.parametrize("format", ["text", "markdown", "json"])
def test_golden(changes, golden, format, monkeypatch):
    monkeypatch.setattr(diff_markdown, "_diagram", lambda _: "")  # pictures have goldens of their own
    golden(f"diff.{'md' if format == 'markdown' else format}", render(changes, format))


def test_words(changes):
    said = {(line.sign, line.place): (line.words, delta_text(line.delta)) for line in lines(changes)}
    assert said["changed", "layers.0 – 11"] == ("hidden 16 → 128, in 12 places; 24 inside follow", "+22.8 K")
    assert said["changed", "stage"] == ("widened 64 → 128, in 3 layers", "+113 K")
    assert said["renamed", "emb → embedding"] == ("Embedding", "")
    assert said["moved", "fc"] == ("moved from the model to head", "")
    assert said["removed", "pool"] == ("AvgPool2d 2×2", "")
    assert said["changed", "norm"] == ("BatchNorm1d → LayerNorm", "")


def states(picture) -> dict[str, list[str]]:
    """The states of a diff by the path that is written beside them."""
    found: dict[str, list[str]] = {}
    pending = list(picture.items)
    while pending:
        item = pending.pop()
        marks = []
        if isinstance(item, Frame):
            pending.extend(item.items)
            marks = [(item.title, item.marks)]
        elif isinstance(item, Card):
            marks = [(row.path, (*row.marks, *item.marks)) for row in item.rows]
        for path, said in marks:
            for mark in said:
                found.setdefault(path, []).append(f"{mark.state} {mark.note}".strip())
    return found


def test_the_picture_has_the_states_of_a_diff(changes):
    graph, options = both(changes)
    picture = picture_of(graph, options)
    said = states(picture)
    assert said["embedding"] == ["changed renamed from emb"]
    assert said["pool"] == ["removed"]
    assert said["norm"] == ["changed BatchNorm1d → LayerNorm"]
    assert said["layers.0 – 11"] == ["changed hidden 16 → 128"]
    assert said["1 (old)"] == ["removed"]
    assert said["2"] == ["added"]
    dot = write_dot(picture)
    assert "#006B4F" in dot
    assert re.search(r'style="?filled,dashed', dot)
    assert "what changed in" in dot


def test_a_fold_hides_no_change(changes):
    """Of alike blocks, one that changed stands by itself."""
    old, _ = changes.graphs
    narrow = [
        replace(node, arguments={**node.arguments, "hidden": 99}) if node.path == "layers.5" else node
        for node in old.modules
    ]
    graph, options = both(compare(old, replace(old, modules=tuple(narrow))))
    said = states(picture_of(graph, options))
    assert [path for path in said if path.startswith("layers")] == ["layers.5"]


@pytest.mark.needs_dot
def test_svg_and_page(changes, tmp_path: Path):
    changes.save(tmp_path / "changes.svg")
    svg = (tmp_path / "changes.svg").read_text(encoding="utf-8")
    assert "renamed from emb" in svg
    page = render(changes, "html")

    tags, addresses = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            tags.append(tag)
            addresses.extend(value for name, value in attributes if name in ("src", "href", "xlink:href") and value)

    Reader().feed(page)
    assert tags.count("svg") == 1
    assert "script" not in tags
    assert not [address for address in addresses if not address.startswith("#")]
    assert "<code>emb → embedding</code>" in page


def test_a_page_without_graphviz_has_the_tables(changes, monkeypatch):
    def missing(*_: object, **__: object) -> bytes:
        raise ExportError("no Graphviz found")

    monkeypatch.setattr(images, "render", missing)
    page = render(changes, "html")
    assert "No picture: no Graphviz found" in page
    assert "<code>layers.0 – 11</code>" in page


def test_names_from_the_model_are_only_text(graphs_with_hostile_names):
    changes = compare(*graphs_with_hostile_names)
    page, comment = render(changes, "html"), render(changes, "markdown")
    assert "<img" not in page
    assert "<img" not in re.sub(r"`[^`\n]*`", "", comment)
    assert comment.count("\n<!-- modgraph") == 0
    assert all(line.count("|") - line.count("\\|") == 5 for line in comment.splitlines() if line.startswith("| "))
    assert "\x1b" not in render(changes, "text")


@pytest.fixture
def graphs_with_hostile_names():
    names = ['<img src=x onerror="1">', "a|b", "`c`", "--> d", "\x1b[31mred", "@someone"]
    root = ModuleNode(path="", class_name="m.Net", predicted=True)
    inner = tuple(ModuleNode(path=name, class_name="m.<b>Class", predicted=True) for name in names)
    model = modgraph.graph.model.ModelInfo(name="<i>Net", class_name="m.Net", target="x --> y.py:Net")
    return (
        modgraph.Graph(model=model, modules=(root,)),
        modgraph.Graph(model=model, modules=(root, *inner)),
    )


def linear(path: str, inside: int, out: int) -> ModuleNode:
    return ModuleNode(
        path=path,
        class_name="torch.nn.modules.linear.Linear",
        predicted=True,
        arguments={"in_features": inside, "out_features": out},
        parameters=(ParameterInfo(name="weight", shape=(out, inside), dtype="float32"),),
    )


def model_of(*nodes: ModuleNode) -> modgraph.Graph:
    total = sum(math.prod(held.shape or ()) for node in nodes for held in node.parameters)
    model = ModelInfo(name="Net", class_name="m.Net", target="m.py:Net", parameters=total)
    return modgraph.Graph(model=model, modules=(ModuleNode(path="", class_name="m.Net", predicted=True), *nodes))


def test_what_goes_takes_its_parameters_along():
    gone = model_of(linear("kept", 2, 3), linear("fc", 4, 5))
    left = model_of(linear("kept", 2, 3))
    assert "| − | `fc` | Linear | −20 |" in render(compare(gone, left), "markdown")
    assert "| + | `fc` | Linear | +20 |" in render(compare(left, gone), "markdown")


def test_a_bar_in_a_name_ends_a_cell_of_a_table_and_nothing_else():
    changes = compare(model_of(linear("a|b", 4, 5)), model_of(linear("a|b", 4, 6)))
    written = render(changes, "markdown").splitlines()
    assert any(line.startswith("| ~ | `a\\|b` | ") for line in written)
    assert "- `a|b.weight: 5×4 → 6×4`" in written


GITHUB_TAKES = 65_536
"""Characters of the body of a comment: a longer one is refused with status 422."""


def words(count: int) -> list[str]:
    """Names that have nothing in common, digits neither."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(letters[place // 26**power % 26] for power in range(3)) + "_layer" for place in range(count)]


def test_a_comment_on_thousands_of_changed_modules_is_one_that_github_takes():
    old, new = (model_of(*(linear(name, 4, out) for name in words(3000))) for out in (5, 6))
    changes = compare(old, new)
    assert len(changes.changed) == 3000
    whole = sum(len(line.place) + len(line.words) for line in lines(changes))
    assert whole > GITHUB_TAKES  # it would be too long
    text = render(changes, "markdown")
    assert len(text) < GITHUB_TAKES
    assert re.search(r"… 2,\d+ more", text)
    assert "3,000 changed" in text
    assert text.count("<details>") == text.count("</details>")
    assert text.rstrip().endswith("</sub>")


def test_a_comment_stays_within_what_github_takes():
    root = ModuleNode(path="", class_name="m.Net", predicted=True)
    model = modgraph.graph.model.ModelInfo(name="Net", class_name="m.Net", target="m.py:Net")
    many = tuple(
        ModuleNode(path=f"layer_{place}_{'x' * 300}", class_name=f"m.Class{place}", predicted=True)
        for place in range(3000)
    )
    changes = compare(modgraph.Graph(model=model, modules=(root,)), modgraph.Graph(model=model, modules=(root, *many)))
    text = render(changes, "markdown")
    assert len(text) <= MOST_CHARACTERS < GITHUB_TAKES
    assert "more | |" in text
    assert text.count("<details>") == text.count("</details>")


def test_an_unknown_format_is_said(changes, tmp_path: Path):
    with pytest.raises(ExportError, match="unknown format 'markdwon'"):
        render(changes, "markdwon")
    with pytest.raises(ExportError, match="names no format of a diff"):
        changes.save(tmp_path / "changes.png")


def test_one_is_not_many():
    side = Side(name="Net", class_name=None, target=None, known_by="traced", complete=True, modules=2)
    other = Field(kind="outputs", old=[[1, 16]], new=[[1, 32]])
    changes = Changes(
        old=side,
        new=side,
        changed=(Changed(old="drop", new="drop", old_class="x.D", new_class="x.D", fields=(other,)),),
        findings=tuple(FindingChange(side=side, code="MG101", message="m") for side in ("old", "new")),
    )
    assert [line.words for line in lines(changes)] == ["outputs 1×16 → 1×32"]
    assert verdict(changes) == "1 changed · 1 new finding · 1 finding gone"
    assert checkpoint_verdict(StateChanges(misplaced=("a",))).endswith(": keys 1 that is another layer's now")
    assert checkpoint_verdict(StateChanges(misplaced=("a", "b"))).endswith("keys 2 that are another layer's now")
    given = {"old_class": "x.D", "new_class": "x.D"}
    size = Field(kind="argument", name="width", old=1, new=2)
    inner = Field(kind="argument", name="in_features", old=1, new=2)
    follows = replace(
        changes,
        changed=(
            Changed(old="block", new="block", fields=(size,), **given),
            Changed(old="block.fc", new="block.fc", fields=(inner,), **given),
        ),
        pairs=(("block", "block"), ("block.fc", "block.fc")),
    )
    assert [line.words for line in lines(follows)] == ["width 1 → 2; 1 inside follows"]


def test_what_was_removed_keeps_its_order_in_the_picture(tmp_path: Path):
    file = tmp_path / "net.py"
    file.write_text(
        "from torch import nn\n"
        "def old(): return nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Tanh(), nn.Sigmoid())\n"
        "def new(): return nn.Sequential(nn.Linear(2, 2))\n",
        encoding="utf-8",
    )
    graph, _ = both(modgraph.diff(f"{file}:old", f"{file}:new"))
    assert [node.path for node in graph.modules] == ["", "0", "1", "2", "3"]


MERGED = """\
from torch import nn

class Attn(nn.Module):
    def __init__(self, joined):
        super().__init__()
        if joined:
            self.qkv = nn.Linear(10, 30, bias=False)
        else:
            self.q, self.k = nn.Linear(10, 10, bias=False), nn.Linear(10, 10, bias=False)
            self.v = nn.Sequential(nn.Linear(10, 10, bias=False))
        self.out = nn.Linear(10, 10, bias=False)

class Net(nn.Module):
    def __init__(self, joined):
        super().__init__()
        self.attn, self.more = Attn(joined), nn.ModuleList([Attn(True) for _ in range(2)])
"""


def frames(items) -> list[Frame]:
    return [each for item in items if isinstance(item, Frame) for each in (item, *frames(item.items))]


@pytest.mark.parametrize("joined", [False, True])
def test_a_frame_counts_what_the_new_model_has(tmp_path: Path, joined: bool):
    """300 + 100 on both sides: what was removed counts for itself alone."""
    (tmp_path / "net.py").write_text(MERGED, encoding="utf-8")
    targets = [f"{tmp_path / 'net.py'}:Net({flag})" for flag in (joined, not joined)]
    picture = picture_of(*both(modgraph.diff(*targets)))
    attn = next(each for each in frames(picture.items) if each.name == "attn")
    assert attn.detail.split(" · ")[-1] == "400"
    removed = [row for item in attn.items if isinstance(item, Card) for row in item.rows if row.marks]
    assert {row.count for row in removed} <= {"100", "300"}


def test_a_fold_in_which_nothing_changed_has_not_the_colour_of_what_did(tmp_path: Path):
    (tmp_path / "net.py").write_text(MERGED, encoding="utf-8")
    targets = [f"{tmp_path / 'net.py'}:Net({flag})" for flag in (False, True)]
    graph, options = both(modgraph.diff(*targets))
    picture = picture_of(graph, options)
    fold = next(each for each in frames(picture.items) if each.copies > 1)
    assert fold.state is None
    changed = STATES["changed"].frame_color
    head = write_dot(picture).partition(f'subgraph "cluster_{fold.id}"')[2].partition("\n")[2].partition("\n")[0]
    border = re.search(r' color="?(#\w+)', head)
    assert border is not None
    assert border[1] != changed
    line = next(line for line in as_mermaid(graph, options).splitlines() if "stroke-width:2px" in line)
    assert f"stroke:{changed}" not in line


def test_words_of_what_is_tied():
    tied = [("a.weight", ABSENT), (ABSENT, "a.weight"), ("a.weight", "b.weight")]
    assert [field_text(Field(kind="tied", name="weight", old=old, new=new)) for old, new in tied] == [
        "weight tied to a.weight no longer",
        "weight tied to a.weight now",
        "weight tied to a.weight → b.weight",
    ]
