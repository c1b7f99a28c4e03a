"""What a changed `forward` does, told of source alone: the same as two runs of torch tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.cli import main
from modgraph.export.diff.words import verdict

NET = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return torch.relu(self.norm(self.fc(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4) for _ in range(3)])
        self.head = nn.Linear(4, 2)

    def forward(self, x, scale=None):
        for block in self.blocks:
            x = block(x)
        if scale is not None:
            x = x * scale
        return self.head(x)
"""
Change = Callable[[str, str], None]


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: Any) -> Change:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    git("init", "-q", "-b", "main")
    git.commit("net.py", NET)

    def changed(old: str, new: str) -> None:
        assert old in NET
        Path("net.py").write_text(NET.replace(old, new), encoding="utf-8")

    return changed


CHANGES = [
    ("return torch.relu(self.norm(self.fc(x)))", "return torch.tanh(self.norm(self.fc(x)))"),
    ("return torch.relu(self.norm(self.fc(x)))", "return torch.relu(self.fc(self.norm(x)))"),
    ("return torch.relu(self.norm(self.fc(x)))", "return x + torch.relu(self.norm(self.fc(x)))"),
    ("return torch.relu(self.norm(self.fc(x)))", "return torch.relu(self.fc(x))"),
    ("return torch.relu(self.norm(self.fc(x)))", "return torch.relu(self.norm(self.fc(x)))[..., :4]"),
    ("x = block(x)", "x = block(block(x))"),
    ("x = block(x)", "x = x - block(x)"),
    ("return self.head(x)", "return self.head(x).unsqueeze(0)"),
    ("return self.head(x)", "return self.head(x).double()"),
    ("return self.head(x)", "return self.head(x), x"),
    ("range(3)", "range(2)"),
    ("nn.Linear(4, 2)", "nn.Linear(4, 3)"),
    ("for block in self.blocks:", "for block in reversed(self.blocks):"),
]


@pytest.fixture(scope="module")
def run_before(tmp_path_factory: pytest.TempPathFactory) -> modgraph.Graph:
    """A run of what every change begins with."""
    file = tmp_path_factory.mktemp("before") / "net.py"
    file.write_text(NET, encoding="utf-8")
    return modgraph.analyze(f"{file}:Net", inputs=["5x4"])


@pytest.mark.needs_torch
@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_source_alone_tells_what_two_runs_tell(change: Change, run_before: modgraph.Graph, old: str, new: str) -> None:
    change(old, new)
    predicted = modgraph.diff("HEAD:net.py:Net", "net.py:Net", inputs=["5x4"])
    ran = modgraph.diff(run_before, "net.py:Net", inputs=["5x4"], run=True)
    assert (predicted.forward, ran.forward) == ("predicted", "run")
    assert predicted
    assert predicted.changed == ran.changed
    assert predicted.dataflow == ran.dataflow
    assert predicted.totals == ran.totals
    assert ran.undecided == ()
    # What comes into the branch that a run with the default does not take may be changed with the rest.
    assert {each.reason for each in predicted.undecided} <= {"depends on `scale is not None`"}
    assert predicted.reversed() == modgraph.diff("net.py:Net", "HEAD:net.py:Net", inputs=["5x4"])


@pytest.mark.needs_torch
def test_a_run_of_a_revision_is_that_of_what_it_was(change: Change, run_before: modgraph.Graph) -> None:
    change("x = block(x)", "x = x - block(x)")
    ran = modgraph.diff("HEAD:net.py:Net", "net.py:Net", inputs=["5x4"], run=True)
    before = modgraph.diff(run_before, "net.py:Net", inputs=["5x4"], run=True)
    assert ran.forward == before.forward == "run"
    assert ran.changed
    assert (ran.changed, ran.dataflow, ran.totals) == (before.changed, before.dataflow, before.totals)


@pytest.mark.parametrize(("old", "new"), [change for change in CHANGES if "Linear(4, 3)" not in change[1]])
def test_without_inputs_the_sizes_are_left_open(change: Change, old: str, new: str) -> None:
    change(old, new)
    given = modgraph.diff("HEAD:net.py:Net", "net.py:Net", inputs=["5x4"])
    found = modgraph.diff("HEAD:net.py:Net", "net.py:Net")
    kinds = [[(one.new, field.kind) for one in changes.changed for field in one.fields] for changes in (found, given)]
    assert kinds[0] == kinds[1]
    assert found.dataflow == given.dataflow


def test_the_effect_is_said_and_counts_as_a_difference(change: Change, capsys: pytest.CaptureFixture[str]) -> None:
    change("return torch.relu(self.norm(self.fc(x)))", "return x + torch.tanh(self.norm(self.fc(x)))")
    assert main(["diff", "HEAD:net.py:Net", "net.py:Net"]) == 1
    text = capsys.readouterr().out
    assert "blocks.0 – 2  operations relu → add, tanh, in 3 places" in text
    assert "its effect is not known" not in text
    assert "  + blocks.0" in text.partition("other ways of data")[2]


def test_a_text_without_a_known_effect_is_still_told(change: Change, capsys: pytest.CaptureFixture[str]) -> None:
    change("return self.head(x)", "out = self.head(x)\n        return out")
    changes = modgraph.diff("HEAD:net.py:Net", "net.py:Net")
    assert [(one.new, one.methods) for one in changes.rewritten] == [("", ("forward",))]
    assert not changes
    assert main(["diff", "HEAD:net.py:Net", "net.py:Net"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "forward of Net changed (the same calls, operations and shapes, as far as is known)" in said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x = self.act(x)", "if flag:\n            x = self.act(x)"),
        ("if flag:\n            x = self.act(x)", "x = self.act(x)"),
        ("x = x * 2", "if flag:\n            x = x * 2"),
        ("x = self.act(x)", "x = self.act(x)\n        if flag:\n            x = x + 1"),
        ("x = self.act(x)", "x = self.act(x) if flag else x"),
    ],
)
def test_of_an_effect_that_is_left_open_it_is_not_said_that_it_is_the_same(tmp_path: Path, old: str, new: str) -> None:
    text = (
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.act = nn.ReLU()\n\n    def forward(self, x, flag=False):\n        x = self.act(x)\n        x = x * 2\n        return x\n"
    )
    for name, body in (("old", old), ("new", new)):
        (tmp_path / f"{name}.py").write_text(
            text.replace("x = self.act(x)" if "act" in old else "x = x * 2", body), encoding="utf-8"
        )
    changes = modgraph.diff(f"{tmp_path}/old.py:Net", f"{tmp_path}/new.py:Net")
    assert changes.rewritten
    assert changes.undecided
    assert "as far as is known" not in verdict(changes)
    assert "forward of Net changed (whether it does the same cannot be told)" in verdict(changes)


def test_of_a_branch_that_is_undecided_nothing_is_told(change: Change) -> None:
    change(
        "return self.head(x)",
        "if x.sum() > 0:\n            x = self.head(x)\n            return x\n        return x[:, :2]",
    )
    changes = modgraph.diff("HEAD:net.py:Net", "net.py:Net")
    assert changes.forward == "predicted"
    (head,) = [one for one in changes.changed if one.new == "head"]
    assert [field.kind for field in head.fields] == ["calls"]


def test_a_forward_that_cannot_be_followed_is_known_of_its_text_alone(change: Change) -> None:
    change("def forward(self, x, scale=None):", "def forward(self, x, then, scale=None):\n        then(self)")
    changes = modgraph.diff("HEAD:net.py:Net", "net.py:Net")
    assert changes.forward == "unknown"
    ((field,),) = [one.fields for one in changes.changed]
    assert (field.kind, field.name, field.new) == ("forward_argument", "then", "")
    assert [one.methods for one in changes.rewritten] == [("forward",)]
