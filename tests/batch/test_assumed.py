"""Models whose arguments nothing says, and what the index calls a model of which not all is known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import modgraph
from modgraph.batch import child, tasks
from modgraph.batch.running import Batch
from modgraph.cli import main

HEAD = "from torch import nn\n"
PLAIN = "class {}(nn.Module):\n    def __init__(self, in_channels, num_classes):\n        super().__init__()\n        self.f = nn.Linear(in_channels, num_classes)\n        self.rest = [nn.Linear(2, 2)]\n    def forward(self, x):\n        return self.f(x)\n"
READY = "class {}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.f = nn.Linear(3, 4)\n    def forward(self, x):\n        return self.f(x)\n"
OPEN = PLAIN.replace("in_channels, num_classes", "first, second")
CALLER = "from net import Net\ndef build(data):\n    return data.fit(Net(in_channels=7, num_classes=data.n))\n"
LOST = READY.replace("return self.f(x)", "return elsewhere.run(self.f(x))").replace("class", "import elsewhere\nclass")
BRANCH = READY.replace("return self.f(x)", "return self.f(x) if x.sum() > 0 else x")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the process of a task does is done in this one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(child, "end_with", lambda parent: None)
    monkeypatch.setattr(child.temporary, "make_folders_in", lambda place: None)
    monkeypatch.setattr(tasks, "_run", lambda directory, task: child.main(str(directory)))


def analyzed(files: dict[str, str], **options: bool) -> Batch:
    folder = Path("tree")
    for name, text in files.items():
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(HEAD + text, encoding="utf-8")
    return modgraph.analyze_all(folder, static=True, formats=["json"], output="out", **options)


TREES: dict[str, tuple[dict[str, str], dict[str, str], list[str]]] = {
    # files; the models with assumed arguments, and which; those left out
    "alone in its file": (
        {"net.py": PLAIN.format("Net")},
        {"net.py:Net": "in_channels=3, num_classes=10"},
        [],
    ),
    "two that need some": (
        {"net.py": PLAIN.format("Net") + PLAIN.format("Other")},
        {"net.py:Net": "in_channels=3, num_classes=10", "net.py:Other": "in_channels=3, num_classes=10"},
        [],
    ),
    "beside one that needs none": ({"net.py": PLAIN.format("Net") + READY.format("Other")}, {}, ["net.py:Net"]),
    "names that say nothing": ({"net.py": OPEN.format("Net"), "b.py": READY.format("B")}, {}, ["net.py:Net"]),
    "a call that says some": (
        {"net.py": PLAIN.format("Net") + READY.format("Other"), "train.py": CALLER},
        {"net.py:Net": "in_channels=7, num_classes=10"},
        [],
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_what_nothing_says_is_assumed_as_for_a_single_file(name: str) -> None:
    files, assumed, left_out = TREES[name]
    batch = analyzed(files)
    found = {one.name: one.facts["assumed"] for one in batch.records if one.facts["assumed"]}
    assert found == assumed
    assert [one.place for one in batch.left_out] == left_out
    for record in batch.records:
        graph = json.loads((batch.output / record.files[0]).read_text("utf-8"))
        assert ("arguments_from" in graph["model"]) == (record.name in assumed)
        assert (record.state == "complete") == (record.name not in assumed)
        assert bool(record.facts["findings"]) == (record.name in assumed)


def test_they_are_marked_and_no_assume_leaves_them_out(capsys: pytest.CaptureFixture[str]) -> None:
    files = {"net.py": PLAIN.format("Net"), "other.py": READY.format("Other")}
    batch = analyzed(files)
    assert batch.status == 1
    text, page = ((batch.output / f"index.{each}").read_text("utf-8") for each in ("md", "html"))
    assert "| `net.py:Net` | ◐ partial, arguments assumed |" in text
    assert "◐ partial, arguments assumed" in re.sub("<.*?>", "", page)
    assert "arguments of 1 assumed" in text
    assert '"assumed":"in_channels=3, num_classes=10"' in (batch.output / "manifest.jsonl").read_text("utf-8")
    for again in (analyzed(files, assume=False), analyzed({}, assume=False)):
        assert [one.name for one in again.records] == ["other.py:Other"]
        assert [one.place for one in again.left_out] == ["net.py:Net"]
        assert again.status == 0
    assert main(["analyze", "--all", "tree", "--static", "--no-assume", "--format", "json", "-o", "out"]) == 0
    assert "assumed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "word", "verdict"),
    [
        (READY, "✓ predicted", "1 model · 1 predicted · "),
        (BRANCH, "✓ predicted", "1 model · 1 predicted · "),
        (LOST, "◐ predicted", "1 model · 1 predicted (1 without forward) · "),
        (READY.replace("4", "int(elsewhere)"), "◐ partial", "1 model · 1 partial · "),
    ],
)
def test_nothing_that_was_not_run_is_called_complete(text: str, word: str, verdict: str) -> None:
    batch = analyzed({"net.py": text.format("Net")})
    written = (batch.output / "index.md").read_text("utf-8")
    assert f"| {word} |" in written
    assert verdict in written
    assert "complete" not in written
    assert "complete" not in re.sub("<.*?>", "", (batch.output / "index.html").read_text("utf-8"))
    assert ("forward not predicted, " in written) == (text is LOST)
    assert batch.status == (word == "◐ partial")  # the tree of modules is known


def test_without_a_prediction_of_forward_nothing_is_said_of_it() -> None:
    batch = analyzed({"net.py": LOST.format("Net")}, forward=False)
    assert "✓ predicted" in (batch.output / "index.md").read_text("utf-8")
