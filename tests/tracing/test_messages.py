"""What an exception of the user's code says, on whatever machine: no addresses, and no absolute paths."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from modgraph.tracing.basics.failures import MAX_MESSAGE, describe, said, without_places

pytestmark = pytest.mark.needs_torch


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a directory on the path (`lib`, a package's parent in it) and one to work in (`work`)."""
    for name in ("lib/inner", "work"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "lib"), "", *sys.path])
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("no file '{home}/work/data/w.pt'", "no file 'data/w.pt'"),
        ("{home}/lib/net.py:3", "net.py:3"),
        ("{home}/lib/inner/net.py", "inner/net.py"),
        ("{home}/other/w.pt and {home}", "~/other/w.pt and ~"),
        ("cannot list {home}/work", "cannot list ."),
        ("{home}/workshop/w.pt", "~/workshop/w.pt"),
        ("file://{home}/work/w.pt", "file://{home}/work/w.pt"),
        ("/data/w.pt", "/data/w.pt"),
        ("a/b of c/d, 1/2", "a/b of c/d, 1/2"),
        ("<Net object at 0x7f00deadbeef>", "<Net object>"),
        ("pointer 0x7f00deadbeef", "pointer "),
        ("mask 0xff", "mask 0xff"),
    ],
)
def test_what_differs_from_machine_to_machine_is_taken_out(home: Path, text: str, cleaned: str):
    assert without_places(text.format(home=home)) == cleaned.format(home=home)


def test_a_long_text_is_cut_after_it_was_cleaned(home: Path):
    text = said(ValueError(f"{home}/work/" + "x" * MAX_MESSAGE))
    assert text == "x" * MAX_MESSAGE


class Reads(nn.Module):
    def forward(self, x):
        return x + torch.load(os.path.join(os.getcwd(), "missing", "weights.pt"))


def test_paths_do_not_reach_the_graph(traced, home: Path):
    graph = traced(nn.Sequential(Reads()), torch.ones(1), complete=False)
    message = "FileNotFoundError: [Errno 2] No such file or directory: 'missing/weights.pt'"
    assert [problem.message for problem in graph.problems] == [message]
    assert {call.error for call in graph.calls} == {message}
    assert str(home) not in graph.to_json()


def test_a_name_without_a_text():
    assert describe(KeyError()) == "KeyError"
