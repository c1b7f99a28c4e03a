"""Where a person looks, one line says where the run is; where nobody does, nothing is written."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from modgraph.cli.progress import Progress, Stage
from modgraph.graph.events import EnterEvent, StartEvent
from modgraph.graph.model import ModelInfo, ModuleNode

ROOT = Path(__file__).parents[2]
SLOW = """
import time
from torch import nn

time.sleep(0.3)

class Slow(nn.Module):
    def forward(self, x):
        time.sleep(0.15)
        return x + 1

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Slow()
        self.second = Slow()

    def forward(self, x):
        return self.second(self.first(x))
"""


class Screen:
    """A stream that keeps what was written; with `fails`, one of a terminal that has gone."""

    def __init__(self, *, fails: bool = False) -> None:
        self.text = ""
        self.fails = fails

    def write(self, text: str) -> None:
        if self.fails:
            raise OSError("no terminal")
        self.text += text

    def flush(self) -> None:
        pass


def run_of(stage: Stage, progress: Progress, paths: list[str]) -> None:
    nodes = tuple(ModuleNode(path=path, class_name="m.M") for path in paths)
    model = ModelInfo(name="Net", class_name="m.Net", target=None)
    stage.event(StartEvent(model=model, modules=nodes))
    for index, path in enumerate(paths):
        progress._last = 0.0  # long ago
        stage.event(EnterEvent(call=index, module=path))


def test_the_bar_counts_modules_and_names_the_last() -> None:
    screen = Screen()
    progress = Progress(screen, shown=True, verbose=False)
    with Stage("trace", progress, lambda _: None) as stage:
        run_of(stage, progress, ["", "a", "a.b", "c"])

    looks = screen.text.split("\r\033[K")
    assert looks[0] == "trace ..."
    assert looks[-2] == f"trace [{'#' * 20}] 4/4 c"
    assert looks[-3] == f"trace [{'#' * 15}{'.' * 5}] 3/4 a.b"
    assert looks[-1] == ""


def test_a_line_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    screen = Screen()
    progress = Progress(screen, shown=True, verbose=False)
    with Stage("trace", progress, lambda _: None) as stage:
        run_of(stage, progress, ["", "a" * 100])

    assert max(map(len, screen.text.split("\r\033[K"))) == 39


class Clock:
    """A clock that stands until it is moved on."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_a_stage_that_lasts_says_what_it_waits_for_and_for_how_long() -> None:
    screen, clock = Screen(), Clock()
    notes: list[str] = []
    progress = Progress(screen, shown=True, verbose=False)
    with Stage("predict", progress, notes.append, clock) as stage:
        stage.doing("following the code of Net, looking into torch.nn")
        clock.seconds += 1
        stage.tick()
        clock.seconds += 2
        progress._last = 0.0  # long ago
        stage.tick()
        assert notes == []
        clock.seconds += 20
        stage.tick()
        stage.tick()
    clock.seconds += 20
    stage.tick()

    looks = screen.text.split("\r\033[K")
    assert "predict: following the code of Net, looking into torch.nn (3 s)" in looks
    assert not any("(1 s)" in look for look in looks)
    (note,) = notes
    assert note.startswith("predict: still following the code of Net, looking into torch.nn, for 23 s now; ")
    assert "model.py:Net" in note
    assert looks[-1] == ""


def test_each_stage_of_ours_that_may_last_is_told_of_without_a_terminal_too() -> None:
    screen, clock = Screen(), Clock()
    notes: list[str] = []
    for name in ("predict", "trace", "merge", "draw"):
        with Stage(name, Progress(screen, shown=False, verbose=False), notes.append, clock) as stage:
            clock.seconds += 60
            stage.tick()
    # Of a run the worker tells, which knows what it waits for.
    assert [note.partition(":")[0] for note in notes] == ["predict", "draw"]
    assert screen.text == ""


@pytest.mark.parametrize(("shown", "fails"), [(False, False), (True, True)])
def test_without_a_terminal_nothing_is_written(shown: bool, fails: bool) -> None:
    screen = Screen(fails=fails)
    progress = Progress(screen, shown=shown, verbose=False)
    with Stage("trace", progress, lambda _: None) as stage:
        stage.doing("importing torch")
        run_of(stage, progress, ["", "a"])
    assert screen.text == ""


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "COLUMNS")}
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm"}


COMMAND = [sys.executable, "-m", "modgraph", "analyze", "model.py:Net", "--input", "1x4:float32", "--format", "json"]


@pytest.mark.needs_torch
@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")
def test_a_terminal_is_told_where_the_run_is_and_left_clean(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(SLOW, "utf-8")
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        COMMAND, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, stdin=subprocess.DEVNULL, env=environment()
    )
    os.close(theirs)
    seen = b""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        elif process.poll() is not None:
            break
    os.close(ours)
    process.communicate(timeout=60)

    text = seen.decode()
    assert process.returncode == 0, text
    assert re.search(r"trace: \w+", text)  # the import lasts: one of both comes late enough to be told
    assert re.search(r"trace \[#+\.*\] [23]/3 (first|second)", text)
    assert text.endswith("\r\x1b[Kwrote modgraph-out/Net.json\r\n")


@pytest.mark.needs_torch
def test_a_pipe_is_told_nothing(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(SLOW, "utf-8")
    done = subprocess.run(COMMAND, cwd=tmp_path, capture_output=True, text=True, env=environment(), check=True)
    assert "trace" not in done.stderr
    assert "\r" not in done.stderr
