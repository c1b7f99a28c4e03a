"""Nothing that the user's code puts into the folder of its process is opened or followed by the process that waits."""

from __future__ import annotations

import contextlib
import os
import signal
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from modgraph import isolation
from modgraph.doors import temporary
from modgraph.isolation import TraceResult, trace_in_process
from modgraph.options import TraceOptions
from modgraph.source.targets import parse_target

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes")

MODEL = """
import ctypes, glob, os
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        for folder in glob.glob({place!r} + "/modgraph-*"):
{plant}
        {end}
        return self.layer(x)
"""
PLANTED = {
    "pipe": "os.path.lexists(path) and os.unlink(path); os.mkfifo(path)",
    "link": "os.path.lexists(path) and os.unlink(path); os.symlink({victim!r}, path)",
    "folder": "os.path.lexists(path) and os.unlink(path); os.mkdir(path)",
}


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    def late(_number: int, _frame: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: str, end: str) -> TraceResult:
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(temporary, "_place", lambda: str(place))
    text = MODEL.format(place=str(place), plant=textwrap.indent(plant, " " * 12), end=end)
    (tmp_path / "model.py").write_text(text)
    with within(90):
        return trace_in_process(parse_target("model.py:Net", cwd=tmp_path), [], TraceOptions())


@pytest.mark.parametrize("kind", PLANTED)
def test_the_second_request_is_not_written_into_what_took_its_place(tmp_path: Path, kind: str, monkeypatch) -> None:
    """The first process crashes while inputs are tried out, and a second one is asked."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    plant = f"path = os.path.join(folder, 'request.json')\n{PLANTED[kind].format(victim=str(victim))}"
    if kind != "link":  # the second process plants it anew
        plant = f"path = os.path.join(folder, 'request.json')\nif not os.path.exists(path): {PLANTED[kind]}"
    result = traced(tmp_path, monkeypatch, f"os.chdir(folder)\n{plant}", "ctypes.string_at(0)")
    assert "SIGSEGV" in result.graph.problems[0].message
    assert victim.read_text() == "mine"
    assert list((tmp_path / "place").iterdir()) == []


def test_files_are_not_read_where_nothing_was_asked_for(tmp_path: Path, monkeypatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr(isolation, "_files_in", lambda folder: read.append(folder) or {})
    plant = "os.makedirs(folder + '/captured', exist_ok=True)\nopen(folder + '/captured/x', 'w').close()"
    assert traced(tmp_path, monkeypatch, plant, "pass").captured_files == {}
    assert read == []


def test_a_keeper_that_was_stopped_is_woken(tmp_path: Path, monkeypatch) -> None:
    result = traced(tmp_path, monkeypatch, "pass", "import signal; os.kill(os.getppid(), signal.SIGSTOP)")
    assert result.graph.complete
