"""The options of pictures and of ONNX hold for every model of a tree, and are part of what a result depends on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.batch import child, running
from modgraph.batch.tasks import Outcome, Task
from modgraph.cli import main
from modgraph.graph.model import Graph
from modgraph.options import OnnxOptions

NET = "from torch import nn\nclass Net(nn.Linear):\n    def __init__(self): super().__init__(2, 2)\n"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """The tasks that are run, which do nothing here."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(NET)
    tasks: list[Task] = []

    def run(task: Task) -> Outcome:
        tasks.append(task)
        return Outcome("complete", files={f"{task.stem}.json": b"{}"})

    monkeypatch.setattr(running, "run_task", run)
    return tasks


def analyze(*options: str) -> int:
    return int(main(["analyze", "--all", ".", "--jobs", "1", *options]))


def test_pictures(asked: list[Task]):
    assert analyze("--static") == 0
    given = ("--direction", "LR", "--color", "parameters", "--depth", "2", "--no-fold", "--no-idioms", "--show-views")
    assert analyze("--static", *given) == 0
    screen = {"style": "screen", "width": None}
    assert [task.picture for task in asked] == [
        {**screen, "depth": None, "fold": True, "direction": "TB", "views": False, "idioms": True, "color": "kind"},
        {**screen, "depth": 2, "fold": False, "direction": "LR", "views": True, "idioms": False, "color": "parameters"},
    ]
    assert analyze("--static", *given) == 0
    assert len(asked) == 2
    analyze("--static", *given, "--style", "paper", "--width", "4in")
    assert asked[-1].picture["style"] == "paper"
    assert asked[-1].picture["width"] is not None
    for number in range(0, 6, 2):  # each of them is part of what the result depends on
        analyze("--static", *given[:number], *given[number + 2 :])
    assert len({task.key for task in asked}) == 6


def test_onnx(asked: list[Task]):
    given = ("--onnx-weights", "none", "--onnx-depth", "0", "--onnx-leaf", "function", "--onnx-dedup", "structure")
    assert analyze("--format", "onnx") == 0
    assert analyze("--format", "onnx", *given) == 0
    assert OnnxOptions(**asked[0].onnx) == OnnxOptions()
    assert OnnxOptions(**asked[1].onnx) == OnnxOptions(weights="none", depth=0, leaf="function", dedup="structure")
    assert asked[0].key != asked[1].key


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--static", "--color", "flops"), "--color flops needs figures that only --profile measures"),
        (("--onnx-depth", "0"), "--onnx-depth belongs to the onnx format"),
        (("--static", "--format", "onnx", "--onnx-depth", "0"), "--onnx-depth is of no use with --static"),
        (("--focus", "fc"), "--focus belongs to one model"),
        (("--columns", "class"), "--columns belongs to one model"),
        (("--format", "onnx", "--dynamic", "batch"), "--dynamic belongs to one model"),
    ],
)
def test_what_does_nothing_is_refused(asked: list[Task], capsys: pytest.CaptureFixture[str], options: Any, said: str):
    assert analyze(*options) == 2
    assert said in capsys.readouterr().err
    assert asked == []


def test_the_process_of_a_task_heeds_them(asked: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    analyze("--format", "onnx,dot", "--direction", "LR", "--onnx-depth", "0")
    (task,) = asked
    seen: list[Any] = []
    graph = modgraph.predict("net.py:Net")

    def analyzed(*_: Any, exporting: Any, **__: Any) -> Graph:
        seen.append(exporting.options)
        return graph

    monkeypatch.setattr("modgraph.api.analyze_target", analyzed)
    place = tmp_path / "task"
    (place / "files").mkdir(parents=True)
    names = ("target", "options", "static", "formats", "asked", "picture", "onnx", "forward", "seek", "stem")
    child._analyzed(json.loads(json.dumps({name: getattr(task, name) for name in names})), place)
    assert seen == [OnnxOptions(depth=0)]
    assert "rankdir=LR" in (place / "files" / "Net.dot").read_text("utf-8")
