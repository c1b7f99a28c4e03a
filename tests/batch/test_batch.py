"""Every model of a tree: what fails is listed, what is finished is not done again."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.batch import child, running, tasks
from modgraph.batch.manifest import NAME
from modgraph.batch.running import Batch
from modgraph.batch.tasks import run_task, stop_running
from modgraph.cli import main

SAMPLES = Path(__file__).parents[2] / "samples"
LIMIT = 5
"""Seconds for the model that hangs; the others have what a busy machine may take."""
HEAD = "from torch import nn\n"
NET = (
    HEAD
    + "class {name}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, {width})\n    def forward(self, x):\n        return self.fc(x)\n"
)
CRASH = (
    HEAD
    + "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\nclass Crash(nn.Linear):\n    def __init__(self): super().__init__(2, 2)\n"
)
HANG = (
    HEAD
    + "import time\nclass Hang(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, 2)\n    def forward(self, x):\n        time.sleep(600)\n        return self.fc(x)\n"
)


class Counting:
    """An executor that does each task at once, and knows what it did; after `most` of them, Ctrl-C."""

    def __init__(self, most: int = 10**6) -> None:
        self.done: list[str] = []
        self.most = most

    def submit(self, function: Callable[..., Any], /, task: Any) -> Future[Any]:
        if len(self.done) >= self.most:
            raise KeyboardInterrupt
        future: Future[Any] = Future()
        again = pickle.loads(pickle.dumps((function, task)))
        future.set_result(again[0](again[1]))
        self.done.append(task.name)
        return future


class Unable(Counting):
    """Does nothing of what it is given."""

    def submit(self, function: Callable[..., Any], /, task: Any) -> Future[Any]:
        self.done.append(task.name)
        future: Future[Any] = Future()
        future.set_exception(RuntimeError("it cannot"))
        return future


class Later(Counting):
    """Gives its results one by one, as a pool does, until Ctrl-C."""

    def submit(self, function: Callable[..., Any], /, task: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if len(self.done) < self.most:
            self.done.append(task.name)
            future.set_result(function(task))
        else:
            future.set_exception(KeyboardInterrupt())
        return future


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "__init__.py").touch()
    (folder / "pkg" / "sizes.py").write_text("WIDTH = 3\n")
    for name in "ABC":
        (folder / "pkg" / f"{name.lower()}.py").write_text(NET.format(name=name, width=5))
    (folder / "pkg" / "d.py").write_text("from .sizes import WIDTH\n" + NET.format(name="D", width="WIDTH"))
    return folder


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the process of a task does is done in this one: most of its time is its start."""
    monkeypatch.setattr(child, "end_with", lambda parent: None)
    monkeypatch.setattr(child.temporary, "make_folders_in", lambda place: None)
    monkeypatch.setattr(tasks, "_run", lambda directory, task: child.main(str(directory)))


def analyze(tree: Path, executor: Any = None, **options: Any) -> Batch:
    options = {"static": True, "formats": ("json",), "output": tree.parent / "out", **options}
    return modgraph.analyze_all(tree, executor, **options)


def files_of(folder: Path) -> dict[str, bytes]:
    """Without the marks of the manifest, which are those of the folder."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return found | {NAME: re.sub(rb'"mark":"\w+"', b"", found[NAME])}


def test_each_model_has_its_files_and_its_place_in_the_index(tree: Path, request: pytest.FixtureRequest):
    batch = analyze(tree, formats=("svg", "json"))
    assert [(one.name, one.state) for one in batch.records] == [(f"pkg/{x.lower()}.py:{x}", "complete") for x in "ABCD"]
    assert (batch.status, batch.executed) == (0, 4)
    graph = json.loads((batch.output / "pkg/d/D.json").read_text())
    assert graph["model"]["parameters"] == 4 * 3 + 3
    page, text = (batch.output / "index.html").read_text("utf-8"), (batch.output / "index.md").read_text("utf-8")
    assert "4 models · 4 predicted · 0 findings" in page
    assert "✓ predicted · 15 parameters · 2 modules" in re.sub("<.*?>", "", page)
    assert "| `pkg/d.py:D` | ✓ predicted | 15 | 2 | 0 | [json](pkg/d/D.json) [svg](pkg/d/D.svg) |" in text
    assert "tree" not in page
    # The same tree gives the same bytes, whoever does it.
    request.getfixturevalue("in_this_process")
    second = analyze(tree, Counting(), output=tree.parent / "two", formats=("svg", "json"))
    assert files_of(batch.output) == files_of(second.output)


def test_finished_work_is_not_done_again_and_changed_files_are(tree: Path, in_this_process: None):
    first = Counting()
    whole = files_of(analyze(tree, first).output)
    assert len(first.done) == 4
    again = Counting()
    assert analyze(tree, again).executed == 0
    assert again.done == []
    assert files_of(tree.parent / "out") == whole
    # What a model imports is part of it; a comment in another model is not.
    (tree / "pkg" / "sizes.py").write_text("WIDTH = 7\n")
    (tree / "pkg" / "a.py").write_text(NET.format(name="A", width=6))
    changed = Counting()
    batch = analyze(tree, changed)
    assert changed.done == ["pkg/a.py:A", "pkg/d.py:D"]
    assert next(one for one in batch.records if one.name == "pkg/d.py:D").facts["parameters"] == 4 * 7 + 7
    (batch.output / "pkg/b/B.json").unlink()
    lost = Counting()
    analyze(tree, lost)
    assert lost.done == ["pkg/b.py:B"]
    other = Counting()
    analyze(tree, other, formats=("json", "dot"))
    assert len(other.done) == 4
    (tree / "pyproject.toml").write_text('[tool.modgraph]\nignore = ["MG101"]\nexclude = ["a.py", "b.py", "c.py"]\n')
    checked = Counting()
    analyze(tree, checked, formats=("json", "dot"))
    assert checked.done == ["pkg/d.py:D"]


@pytest.mark.parametrize("kind", [Counting, Later])
def test_an_interruption_costs_only_what_was_running(tree: Path, kind: type[Counting], in_this_process: None):
    whole = files_of(analyze(tree, Counting(), output=tree.parent / "whole").output)
    first = kind(most=2)
    with pytest.raises(KeyboardInterrupt):
        analyze(tree, first)
    there = (tree.parent / "out" / "index.md").read_text("utf-8")
    n_kept = len((tree.parent / "out" / NAME).read_text("utf-8").splitlines())
    assert f"{4 - n_kept} not done yet" in there
    second = Counting()
    analyze(tree, second)
    assert len(second.done) == 4 - n_kept
    assert n_kept == (2 if kind is Later else 0)
    assert files_of(tree.parent / "out") == whole


def test_a_line_that_was_cut_off_is_done_again(tree: Path, in_this_process: None):
    analyze(tree, Counting())
    manifest = tree.parent / "out" / NAME
    manifest.write_text(manifest.read_text("utf-8")[:-40], "utf-8")
    again = Counting()
    analyze(tree, again)
    assert again.done == ["pkg/d.py:D"]


def test_a_manifest_of_somebody_else_counts_for_nothing(
    tree: Path, in_this_process: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("MODGRAPH_CACHE", str(tmp_path / "theirs"))
    monkeypatch.setenv("HOME", str(tmp_path / "theirs"))
    batch = analyze(tree, Counting())
    for picture in batch.output.rglob("*.svg"):
        picture.write_text("<svg>of another model</svg>")
    monkeypatch.setenv("MODGRAPH_CACHE", str(tmp_path / "ours"))
    monkeypatch.setenv("HOME", str(tmp_path / "ours"))
    again = Counting()
    analyze(tree, again)
    assert len(again.done) == 4
    assert not any("another" in each.read_text("utf-8") for each in batch.output.rglob("*.svg"))
    once_more = Counting()
    analyze(tree, once_more)
    assert once_more.done == []


def test_what_cannot_be_built_or_read_is_listed(tree: Path, in_this_process: None):
    (tree / "broken.py").write_text("class\n")
    (tree / "open.py").write_text(NET.replace("(self):", "(self, config):").format(name="Open", width=1))
    batch = analyze(tree, Counting())
    assert [one.place for one in batch.left_out] == ["broken.py", "open.py:Open"]
    index = (batch.output / "index.html").read_text("utf-8")
    assert "invalid syntax, line 1" in index
    assert "invalid syntax: invalid syntax" not in index


def test_a_notebook_with_a_model_is_listed_and_not_read(tree: Path, in_this_process: None):
    cell = {"cell_type": "code", "source": ["class Net(nn.Module):\n", "    pass\n"]}
    (tree / "net.ipynb").write_text(json.dumps({"cells": [cell]}))
    (tree / "plots.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": ["import torch"]}]}))
    batch = analyze(tree, Counting())
    typed = f"modgraph analyze {os.path.relpath(tree / 'net.ipynb')}"
    left = [(one.place, one.reason.endswith(typed)) for one in batch.left_out]
    assert left == [("net.ipynb", True)]
    assert "net.ipynb" in (batch.output / "index.md").read_text("utf-8")
    assert "1 left out" in (batch.output / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "there is no file of Python below tree"),
        ({"a.py": "x = 1\n"}, "no model found below tree: 1 file of Python read"),
        (
            {"a.py": "x = 1\n", "b.py": NET.replace("(self):", "(self, c):").format(name="N", width=1)},
            "2 files of Python",
        ),
    ],
)
def test_a_tree_without_a_model_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, files: dict[str, str], said: str
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree").mkdir()
    for name, text in files.items():
        (tmp_path / "tree" / name).write_text(text)
    assert main(["analyze", "--all", "tree", "--static", "--format", "json"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert ("b.py:N is left out: it needs arguments" in told) == ("b.py" in files)
    assert (tmp_path / "modgraph-out" / "index.html").is_file()
    assert modgraph.analyze_all("tree", static=True).status == 2


def test_git_ignores_the_default_folder_and_no_other(tree: Path, monkeypatch: pytest.MonkeyPatch, git: Any):
    monkeypatch.chdir(tree)
    git("init", "-q", "-b", "main")
    git.commit()

    def untracked() -> list[str]:
        command = ["git", "status", "--porcelain"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    assert main(["analyze", "pkg/a.py", "--static", "--format", "json"]) == 0
    assert main(["analyze", "--all", ".", "--static", "--format", "json"]) == 0
    assert Path("modgraph-out/A.json").is_file()
    assert untracked() == []
    assert main(["analyze", "pkg/a.py", "--static", "--format", "json", "-o", "graphs"]) == 0
    assert untracked() == ["?? graphs/"]
    Path("modgraph-out/.gitignore").unlink()
    assert main(["analyze", "pkg/a.py", "--static", "--format", "json"]) == 0
    assert not Path("modgraph-out/.gitignore").exists()  # whoever takes it away means it


@pytest.mark.needs_torch
def test_a_crash_and_a_hang_are_failures_beside_the_others(tree: Path, monkeypatch: pytest.MonkeyPatch):
    def impatient(task: Any) -> Any:
        limit = LIMIT if task.name == "hang.py:Hang" else task.options["timeout"]
        return run_task(replace(task, options={**task.options, "timeout": limit}))

    monkeypatch.setattr(running, "run_task", impatient)
    for name in "abcd":
        (tree / "pkg" / f"{name}.py").unlink()
    (tree / "good.py").write_text(NET.format(name="Good", width=2))
    (tree / "crash.py").write_text(CRASH)
    (tree / "hang.py").write_text(HANG)
    seen: list[tuple[str, str]] = []
    batch = analyze(tree, static=False, jobs=2, on_result=lambda one, *_: seen.append((one.name, one.state)))
    states = {"crash.py:Crash": "failed", "good.py:Good": "complete", "hang.py:Hang": "failed"}
    assert dict(seen) == states == {one.name: one.state for one in batch.records}
    assert batch.status == 1  # the predictions are there
    reasons = {one.name: one.reason or "" for one in batch.records}
    assert "SIGSEGV" in reasons["crash.py:Crash"]
    assert f"the time limit of {LIMIT} s was reached" in reasons["hang.py:Hang"]
    text = (batch.output / "index.md").read_text("utf-8")
    assert text.index("## Failures") < text.index("SIGSEGV")
    assert analyze(tree, Unable(), static=False).executed == 0
    again = Unable()
    analyze(tree, again, static=False, retry=True)
    assert again.done == ["crash.py:Crash", "hang.py:Hang"]


def test_a_task_that_hangs_outside_the_run_is_ended(tree: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tasks, "_BOOTSTRAP", "import time; time.sleep(600)")
    keeper: list[Any] = []
    stuck = Counting()
    stuck.submit = lambda function, task: keeper.append(task) or done()  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        analyze(tree, stuck)
    timed = pickle.loads(pickle.dumps(keeper[0]))
    slow = threading.Thread(target=lambda: keeper.append(run_task(timed)))
    slow.start()
    began = time.monotonic()
    while slow.is_alive() and time.monotonic() - began < 60:
        stop_running()
        time.sleep(0.05)
    assert keeper[-1].state == "failed"
    assert "SIGKILL" in (keeper[-1].reason or "")


def done() -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "said"), [({"jobs": 0}, "jobs=0"), ({"jobs": 2, "executor": Counting()}, "of no use with an executor")]
)
def test_what_cannot_be_used_is_said(tree: Path, options: dict[str, Any], said: str):
    with pytest.raises(modgraph.ConfigError, match=said):
        analyze(tree, **options)


def test_dask_runs_the_tasks(tree: Path, request: pytest.FixtureRequest):
    distributed = pytest.importorskip("distributed")
    for name in "ab":
        (tree / "pkg" / f"{name}.py").unlink()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        batch = analyze(tree, executor)
    assert [one.state for one in batch.records] == ["complete"] * 2
    request.getfixturevalue("in_this_process")
    assert files_of(batch.output) == files_of(analyze(tree, output=tree.parent / "here").output)


def test_a_class_that_its_project_gives_arguments_is_a_model_of_the_tree(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "net.py": """
            from dataclasses import dataclass
            from torch import nn

            @dataclass
            class Config:
                width: int = 5

            class Net(nn.Module):
                def __init__(self, config):
                    super().__init__()
                    self.layer = nn.Linear(config.width, config.width)

                def forward(self, x):
                    return self.layer(x)
            """,
        "train.py": """
            from net import Config, Net

            raise SystemExit("no data")
            model = Net(Config())
            """,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    batch = modgraph.analyze_all(".", static=True, formats=["json"], output="out")
    assert [record.name for record in batch.records] == ["net.py:Net"]  # and not what a script makes of it
    assert batch.records[0].state == "complete"
    assert batch.records[0].facts["parameters"] == 30
    again = modgraph.analyze_all(".", static=True, formats=["json"], output="out")
    assert again.executed == 0
    (tmp_path / "net.py").unlink()
    (tmp_path / "net.py").write_text(textwrap.dedent(texts["net.py"]).replace("= 5", "= 2"))
    assert modgraph.analyze_all(".", static=True, formats=["json"], output="out").records[0].facts["parameters"] == 6
