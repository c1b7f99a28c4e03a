"""`modgraph diff` of source of which `forward` cannot be followed: methods whose text changed are named, and nothing is
said of what they do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.cli import main

BLOCK = '''\
from torch import nn

class Base(nn.Module):
    def tail(self, x):
        return x

class Block(Base):
    def __init__(self, width):
        super().__init__()
        self.fc = self.layer(width)

    def layer(self, width):
        return nn.Linear(width, width)

    def forward(self, x):
        return self.inner(x)

    def inner(self, x):
        text = """
  as it is"""
        return self.tail(self.fc(x))
'''
FOLLOWED = """\
from torch import nn
from block import Block

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(Block(4), Block(4), Block(4))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.layers(x))
"""
NET = FOLLOWED.replace("def forward(self, x):", "def forward(self, x, then):\n        x = then(x)")
"""What `then` calls is not known."""
EFFECT = "(its effect is not known without --run)"


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: Any) -> Callable[..., modgraph.Changes]:
    """What a change of the text of block.py, or of net.py, is told as."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    git("init", "-q", "-b", "main")
    git.commit("block.py", BLOCK, "net.py", NET)

    def change(old: str, new: str, file: str = "block.py") -> modgraph.Changes:
        text = Path(file).read_text(encoding="utf-8")
        assert old in text
        Path(file).write_text(text.replace(old, new), encoding="utf-8")
        return modgraph.diff("HEAD:net.py:Net", "net.py:Net")

    return change


def told(changes: modgraph.Changes) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.new, one.methods) for one in changes.rewritten]


def test_a_change_of_forward_alone_is_told_in_every_format(changed, capsys):
    changes = changed("return self.inner(x)", "return self.inner(x) + x")
    assert told(changes) == [(f"layers.{number}", ("forward",)) for number in range(3)]
    assert not changes
    assert main(["diff", "HEAD:net.py:Net", "net.py:Net"]) == 0
    text = capsys.readouterr().out
    assert f"forward of Block changed {EFFECT} · no difference in modules, arguments and tensors\n" in text
    assert "source changed; its effect is not known without --run\n  forward of Block, in layers.0 – 2\n" in text
    assert "dataflow" not in text
    assert main(["diff", "HEAD:net.py:Net", "net.py:Net", "--format", "markdown"]) == 0
    markdown = capsys.readouterr().out
    assert f"**forward of Block changed {EFFECT}" in markdown
    assert "- `forward of Block, in layers.0 – 2`" in markdown
    assert "source of forward changed" in markdown.partition("```mermaid")[2]
    document = json.loads(changes.to_json())
    assert document["different"] is False
    assert document["rewritten"][0] == {
        "old": "layers.0", "new": "layers.0", "class_name": "block.Block", "methods": ["forward"],
    }  # fmt: skip
    assert changes.reversed() == modgraph.diff("net.py:Net", "HEAD:net.py:Net")


@pytest.mark.parametrize(
    ("old", "new", "methods"),
    [
        ("return self.tail(self.fc(x))", "return self.tail(self.fc(self.fc(x)))", ("inner",)),
        ("  as it is", "    as it is", ("inner",)),
        ("def tail(self, x):\n        return x", "def tail(self, x):\n        return -x", ("tail",)),
        ("def inner(self, x):", "def inner(self, x, y=1):", ("inner",)),
    ],
)
def test_every_method_that_a_run_may_reach_counts(changed, old: str, new: str, methods: tuple[str, ...]):
    assert told(changed(old, new)) == [(f"layers.{number}", methods) for number in range(3)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def forward(self, x):", "\n    # What a block does.\n    def forward( self,\n                 x ):"),
        ("def forward(self, x):", "def forward(self, x: object) -> object:"),
        ("def forward(self, x):", 'def forward(self, x):\n        """What a block does."""'),
        ("return nn.Linear(width, width)", "made = nn.Linear(width, width)\n        return made"),
        ("super().__init__()", "super().__init__()\n        self.width = width"),
        ("class Base(nn.Module):", "LIMIT = 3\n\nclass Base(nn.Module):"),
    ],
)
def test_what_changes_no_method_that_runs_is_not_told(changed, old: str, new: str):
    changes = changed(old, new)
    assert told(changes) == []
    assert "forward not compared (--run does)" in changes.to_text()


HEADS = """\
from torch import nn

class Block(nn.Module):
    scale = 1

    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = self.many(heads)
        self.fc = nn.Linear(width, width)

    def many(self, heads):
        return heads

    def forward(self, x):
        return self.fc(x).view(-1, self.heads) * self.scale
"""


@pytest.mark.parametrize(
    ("old", "new", "methods"),
    [
        ("self.many(heads)", "self.many(heads * 2)", "__init__"),
        ("return heads", "return heads * 2", "__init__"),
        ("scale = 1", "scale = 2", "class body"),
    ],
)
def test_a_constructor_counts_for_what_a_method_reads(changed, git, capsys, old: str, new: str, methods: str):
    git.commit("block.py", HEADS)
    changes = changed(old, new)
    assert told(changes) == [(f"layers.{number}", (methods,)) for number in range(3)]
    assert main(["diff", "HEAD:net.py:Net", "net.py:Net"]) == 0
    assert f"{methods} of Block changed {EFFECT} · no difference in modules, arguments" in capsys.readouterr().out


def test_a_constructor_of_which_the_graph_shows_the_change_is_not_told(changed, git):
    git.commit("block.py", HEADS)
    changes = changed("nn.Linear(width, width)", "nn.Linear(width, 8)")
    assert changes
    assert told(changes) == []


def test_a_default_that_is_left_out_nowhere_is_no_change(changed, git):
    git.commit("block.py", HEADS, "net.py", NET.replace("Block(4)", "Block(4, 4)"))
    changes = changed("heads=4", "heads=2")
    assert not changes
    assert told(changes) == []


@pytest.mark.parametrize("name", ["lib", "lib/mylib"])
def test_a_package_behind_a_link_is_compared(git, tmp_path, monkeypatch, name: str):
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    Path("mylib").symlink_to(name)
    net = "from torch import nn\nfrom mylib import Small\n\nclass Net(nn.Module):\n    def __init__(self):\n"
    small = "from torch import nn\n\nclass Small(nn.Linear):\n    def __init__(self):\n        super().__init__(4, 4)\n"
    git.commit("net.py", f"{net}        super().__init__()\n        self.s = Small()\n", f"{name}/__init__.py", small)
    Path(name, "__init__.py").write_text(small.replace("4, 4", "4, 8"))
    changes = modgraph.diff("HEAD:net.py:Net", "net.py:Net")
    assert [one.new for one in changes.changed] == ["s"]
    assert not changes.undecided


def test_a_link_that_is_not_followed_is_the_reason(git, tmp_path, monkeypatch, capsys):
    top = tmp_path / "repository"
    top.mkdir()
    monkeypatch.chdir(top)
    monkeypatch.setenv("COLUMNS", "300")
    git("init", "-q", "-b", "main")
    Path("mylib").symlink_to("../outside")
    net = "from torch import nn\nfrom mylib.small import Small\n\nclass Net(nn.Module):\n    def __init__(self):\n"
    git.commit("net.py", f"{net}        super().__init__()\n        self.s = Small()\n")
    Path("mylib").unlink()
    Path("mylib").mkdir()
    Path("mylib/small.py").write_text("from torch import nn\n\nclass Small(nn.Module):\n    pass\n")
    assert main(["diff", "HEAD:net.py:Net", "net.py:Net"]) == 0
    said = capsys.readouterr().out
    why = "No module named 'mylib.small': mylib is a link that is not followed: it leads out of the repository"
    assert f"s: class (the old side leaves it open in net.py:7: the model may have a child 's': {why})" in said
    assert "left open: further keys of s\n" in said


def test_a_forward_that_takes_the_place_of_an_inherited_one_is_told(changed, git):
    init = "    def __init__(self, width):\n        super().__init__(width, width)\n"
    git.commit("block.py", f"from torch import nn\n\nclass Block(nn.Linear):\n{init}")
    changes = changed(
        init, f"{init}\n    def forward(self, x):\n        return x\n\n    def more(self):\n        return 1\n"
    )
    assert told(changes) == [(f"layers.{number}", ("forward",)) for number in range(3)]


@pytest.mark.parametrize(
    ("above", "names"), [("", ()), ("super().forward(x)", ("forward",)), ("Base.forward(self, x)", ("forward",))]
)
def test_what_is_overridden_counts_where_it_is_called(changed, git, above: str, names: tuple[str, ...]):
    base = "class Base(nn.Module):\n    def forward(self, x):\n        return x\n"
    block = f"class Block(Base):\n    def __init__(self, width):\n        super().__init__()\n\n    def forward(self, x):\n        return {above or 'x'}\n"
    git.commit("block.py", f"from torch import nn\n\n{base}\n{block}")
    found = told(
        changed("def forward(self, x):\n        return x\n\nclass", "def forward(self, x):\n        return -x\n\nclass")
    )
    assert found == [(f"layers.{number}", names) for number in range(3) if names]


def test_a_rename_is_told_once(changed):
    changes = changed("self.head", "self.classifier", "net.py")
    assert [(one.old, one.new) for one in changes.renamed] == [("head", "classifier")]
    assert told(changes) == []
    assert told(changed("self.classifier(self.layers(x))", "self.layers(self.classifier(x))", "net.py")) == [
        ("", ("forward",))
    ]


def test_beside_other_changes_it_stands_last(changed):
    changed("return self.head(self.layers(x))", "return self.layers(self.head(x))", "net.py")
    changes = changed("nn.Linear(4, 2)", "nn.Linear(4, 3)", "net.py")
    assert changes
    text = " ".join(changes.to_text().split())
    assert f"1 changed · parameters 70 → 75 (+5) · forward of Net changed {EFFECT}" in text


def test_a_saved_graph_has_no_source_to_compare(changed):
    modgraph.predict("net.py:Net").save("net.json")
    changed("return self.inner(x)", "return self.inner(x) + x")
    assert told(modgraph.diff("net.json", "net.py:Net")) == []


@pytest.mark.needs_torch
def test_what_a_run_tells_is_not_told_of_the_text(changed, git):
    git.commit("net.py", FOLLOWED)
    changed("return self.inner(x)", "return self.inner(x) + x")
    changes = modgraph.diff("HEAD:net.py:Net", "net.py:Net", run=True, inputs=["3x4"])
    assert told(changes) == []
    assert {field.kind for one in changes.changed for field in one.fields} == {"operations"}
