"""`modgraph diff` in a repository with a real history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.cli import main

FIRST = """\
from pathlib import Path
from torch import nn
from parts import Block

Path(__file__).with_name("executed").touch()
Path("executed").touch()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 8)
        self.layers = nn.ModuleList([Block(8, 16) for _ in range(3)])
        self.head = nn.Linear(8, 10)

    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
"""
PARTS = """\
from torch import nn

class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))

    def forward(self, x):
        return x + self.body(x)
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: Any) -> Path:
    monkeypatch.setenv("COLUMNS", "100")
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "-q", "-b", "main")
    git.commit("model.py", FIRST, "parts.py", PARTS)
    # The part's file changes alone: the revision before has its own one, which is not that of the working tree.
    git.commit("parts.py", PARTS.replace("nn.ReLU()", "nn.GELU()"))
    git.commit("model.py", FIRST.replace("16", "32"))
    return folder


def test_each_step_of_the_history_is_told(repository: Path, capsys):
    assert main(["diff", "HEAD~2:model.py:Net", "HEAD~1:model.py:Net"]) == 1
    text = capsys.readouterr().out
    assert "layers.0 – 2.body.1  ReLU → GELU, in 3 places" in text
    assert "3 changed" in text
    assert "a checkpoint of the old model fits" in text
    assert main(["diff", "HEAD~1:model.py:Net", "model.py:Net"]) == 1
    assert "hidden 16 → 32, in 3 places; 6 inside follow" in capsys.readouterr().out
    assert main(["diff", "HEAD:model.py", "model.py"]) == 0
    assert "no difference found · not compared: arguments of operations" in capsys.readouterr().out
    assert not list(repository.rglob("executed"))


def test_a_pull_request_gets_its_comment(repository: Path, capsys):
    assert main(["diff", "main~1:model.py:Net", "model.py:Net", "-o", "comment.md"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "wrote comment.md" in told.err
    text = Path("comment.md").read_text(encoding="utf-8")
    assert text.startswith("<!-- modgraph:model.py:Net -->\n")
    assert "| ~ | `layers.0 – 2` | hidden 16 → 32, in 3 places; 6 inside follow | +816 |" in text


def test_graphs_are_files_too_also_at_a_revision(repository: Path, git, capsys):
    for name in ("old", "new"):
        revision = {"old": "main~1", "new": "main"}[name]
        git("checkout", "-q", revision)
        modgraph.predict("model.py:Net").save(f"{name}.json")
    git("checkout", "-q", "main")
    assert main(["diff", "old.json", "new.json", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["different"] is True
    assert [one["new"] for one in document["changed"]][:2] == ["layers.0", "layers.0.body.0"]
    git("add", "old.json")
    git("commit", "-q", "-m", "a graph")
    assert main(["diff", "HEAD:old.json", "old.json"]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["HEAD~9:model.py", "model.py"], "'HEAD~9' is no revision of this repository"),
        (["model.py:Net"], "'model.py:Net' is one model, and nothing is named to compare it with"),
        (["HEAD:model.py"], "name both: modgraph diff HEAD:model.py:Net model.py:Net"),
        (["HEAD~9"], "'HEAD~9' is no revision of this repository"),
        (["HEAD:modle.py", "model.py"], "modle.py does not exist (at the revision HEAD)"),
        (["HEAD:model.py:Nte", "model.py"], "has no class or function 'Nte'"),
        (["net.onnx", "model.py"], "is an ONNX file"),
        (["model.py", "nothing.json"], "cannot read the graph"),
        (["model.py", "model.py", "--timeout", "3"], "--timeout is of use with --run alone"),
        (["model.py", "model.py", "-o", "x.png"], "names no format of a diff"),
        (["model.py", "model.py", "-o", "x.md", "--format", "json"], "is a file of format markdown"),
        (["model.py", "model.py", "-o", "x.png", "--format", "svg"], "names no format of a diff"),
    ],
)
def test_what_cannot_be_compared_is_said(repository: Path, capsys, arguments, said):
    assert main(["diff", *arguments]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""
    assert "/modgraph-" not in told.err


def test_several_models_in_a_file_are_named(repository: Path, capsys):
    Path("two.py").write_text("from torch import nn\nclass A(nn.Module): pass\nclass B(nn.Module): pass\n")
    assert main(["diff", "two.py", "model.py"]) == 2
    assert "name one of them: two.py:A, two.py:B" in capsys.readouterr().err


def test_python_gives_the_same(repository: Path, tmp_path: Path):
    changes = modgraph.diff("HEAD~1:model.py:Net", "model.py:Net")
    assert changes
    assert isinstance(changes, modgraph.Changes)
    assert modgraph.diff(changes.graphs[0], changes.graphs[1]) == changes
    changes.save(tmp_path / "changes.json")
    assert (tmp_path / "changes.json").read_text(encoding="utf-8") == changes.to_json()
    with pytest.raises(modgraph.InputError, match="not of a object"):
        modgraph.diff(object(), "model.py")


@pytest.mark.needs_torch
def test_runs_are_compared_where_that_is_asked_for(repository: Path, git, capsys):
    Path("executed").unlink(missing_ok=True)
    git.commit("parts.py", PARTS.replace("x + self", "x * self").replace("nn.ReLU()", "nn.GELU()"))
    arguments = ["HEAD~1:model.py:Net", "HEAD:model.py:Net", "--run", "--input", "ids=1x5:int64"]
    assert main(["diff", *arguments]) == 1
    text = capsys.readouterr().out
    assert "layers.0 – 2  operations add → mul, in 3 places" in text
    assert text.count("predicted and traced") == 2


@pytest.mark.needs_torch
def test_a_revision_runs_in_its_own_files(repository: Path, git, capsys):
    """The working directory of a run is a copy of the revision: it reads and writes nothing of the working tree."""
    Path("width.txt").write_text("3")
    git.commit(
        "wide.py",
        "from torch import nn\nopen('log', 'a').close()\nclass Wide(nn.Linear):\n    def __init__(self):\n        super().__init__(int(open('width.txt').read()), 1)\n",
    )
    Path("width.txt").write_text("5")
    git.commit("wide.py", Path("wide.py").read_text(encoding="utf-8"), "other.txt", "")
    Path("width.txt").unlink()
    assert main(["diff", "HEAD~1:wide.py:Wide", "HEAD:wide.py:Wide", "--run"]) == 1
    told = capsys.readouterr()
    assert "parameters 4 → 6 (+2)" in told.out
    assert not Path("log").exists()


@pytest.mark.needs_torch
def test_onnx_files_are_compared_with_each_other(repository: Path, git, capsys):
    pytest.importorskip("onnx")
    text = "from torch import nn\nclass Net(nn.Sequential):\n    def __init__(self):\n        super().__init__(nn.Linear(4, 2), nn.ReLU())\n"
    Path("net.py").write_text(text)
    assert main(["analyze", "net.py:Net", "--static", "-o", "old.onnx"]) == 0
    git.commit("net.py", text.replace("4, 2", "4, 3").replace("ReLU", "GELU"))
    assert main(["analyze", "net.py:Net", "--static", "-o", "new.onnx"]) == 0
    capsys.readouterr()
    assert main(["diff", "old.onnx", "new.onnx"]) == 1
    text = capsys.readouterr().out
    assert "weight 2×4 → 3×4" in text
    assert "ReLU → GELU" in text
    assert main(["diff", "HEAD:old.onnx", "old.onnx"]) == 0
    assert main(["diff", "old.onnx", "net.py"]) == 2
    assert "another ONNX file alone" in capsys.readouterr().err


MODES = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        x = self.a(x)
        if self.training:
            x = self.b(x)
        return x
"""


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_predictions_are_compared_in_the_mode_that_is_asked_for(tmp_path: Path, monkeypatch, capsys, mode: str):
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(MODES, encoding="utf-8")
    Path("new.py").write_text(MODES.replace("x = self.b(x)", "pass"), encoding="utf-8")
    status = main(["diff", "old.py:Net", "new.py:Net", "--input", "x=2x8", "--mode", mode])
    assert ("calls 1 → 0" in capsys.readouterr().out) is (mode == "train")
    changes = modgraph.diff("old.py:Net", "new.py:Net", inputs=["x=2x8"], mode=mode)
    assert bool(changes) is (mode == "train") is bool(status)


@pytest.mark.parametrize(
    ("old", "new", "mode", "is_refused"),
    [
        ("eval.json", "eval.json", "train", True),
        ("eval.json", "new.py:Net", "train", True),
        ("new.py:Net", "eval.json", "train", True),
        ("train.json", "eval.json", "train", True),
        ("train.json", "new.py:Net", "eval", True),
        ("train.json", "new.py:Net", "train", False),
        ("eval.json", "new.py:Net", "eval", False),
        ("train.json", "train.json", "eval", False),  # as they are, where nothing is said
        ("eval.json", "train.json", "eval", False),
    ],
)
def test_a_graph_of_another_mode_is_refused(tmp_path: Path, monkeypatch, capsys, old, new, mode, is_refused):
    monkeypatch.chdir(tmp_path)
    Path("new.py").write_text(MODES, encoding="utf-8")
    for each in ("eval", "train"):
        modgraph.predict("new.py:Net", inputs=["x=2x8"], mode=each).save(f"{each}.json")
    status = main(["diff", old, new, "--input", "x=2x8", "--mode", mode])
    assert (status == 2) is is_refused
    assert (f"are to be compared in {mode} mode" in capsys.readouterr().err) is is_refused
    sides = [modgraph.load(each) if each.endswith(".json") else each for each in (old, new)]
    for one, other in ((old, new), sides):
        if is_refused:
            with pytest.raises(modgraph.GraphError, match=f"compared in {mode} mode"):
                modgraph.diff(one, other, inputs=["x=2x8"], mode=mode)
        else:
            modgraph.diff(one, other, inputs=["x=2x8"], mode=mode)
