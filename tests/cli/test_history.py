"""`modgraph history`: the commits at which keys changed, and no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.cli import main

NET = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
{lines}
"""


def net(*lines: str) -> str:
    return NET.format(lines="\n".join(f"        {line}" for line in lines))


STEPS = [
    ("read me first", "README", "x"),
    ("a model", "net.py", net("self.a = nn.Linear(2, 3)", "self.b = nn.Linear(3, 4)")),
    ("a comment", "net.py", net("self.a = nn.Linear(2, 3)  # first", "self.b = nn.Linear(3, 4)")),
    ("another file", "other.py", "x = 1\n"),
    ("a layer more", "net.py", net("self.a = nn.Linear(2, 3)", "self.b = nn.Linear(3, 4)", "self.c = nn.Linear(4, 5)")),
    ("nothing | that is *Python*", "net.py", "class (\n"),
    (
        "another name",
        "net.py",
        net("self.first = nn.Linear(2, 3)", "self.b = nn.Linear(3, 4)", "self.c = nn.Linear(4, 5)"),
    ),
    ("wider, and one gone", "net.py", net("self.first = nn.Linear(2, 3)", "self.b = nn.Linear(3, 9)")),
]


@pytest.fixture
def history(tmp_path: Path, git, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Callable[..., Any]:
    """The command in this process, in a repository of `STEPS`."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    for subject, name, text in STEPS:
        (folder / name).write_text(text, "utf-8")
        git("add", "-A", cwd=folder)
        git("commit", "-q", "-m", subject, cwd=folder)
    monkeypatch.chdir(folder)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["history", *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_each_change_of_keys_is_a_step(history):
    status, out, err = history("net.py:Net", "--format", "json")
    assert status == 0
    found = json.loads(out)
    told = {
        step["subject"]: {name: step[name] for name in ("added", "removed", "renamed", "reshaped") if step[name]}
        for step in found["steps"]
    }
    assert told == {
        "a model": {"added": ["a.weight", "a.bias", "b.weight", "b.bias"]},
        "a layer more": {"added": ["c.bias", "c.weight"]},
        "another name": {"renamed": [["a.bias", "first.bias"], ["a.weight", "first.weight"]]},
        "wider, and one gone": {"removed": ["c.bias", "c.weight"], "reshaped": ["b.bias", "b.weight"]},
    }
    assert [step["keys"] for step in found["steps"]] == [4, 6, 6, 4]
    assert len(found["passed_over"]) == 1
    assert "passed over" in err
    # That of a comment is read; that of another file is a new one, to which an import could lead.
    assert "7 commits touch sources" in err


def test_text_and_markdown_have_the_same_rows(history):
    _, text, _ = history("net.py:Net", "--since", "HEAD~3")
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[:1]] == ["commit"]
    assert len(lines) == 3
    assert "another name" in lines[1]
    assert "a.bias → " in lines[1]
    _, page, _ = history("net.py:Net", "--since", "HEAD~3", "--format", "markdown")
    assert [line.count("|") for line in page.splitlines()] == [9, 9, 9, 9]
    assert "wider, and one gone" in page


def test_only_the_newest_commits_are_looked_at_and_that_is_said(history):
    status, text, err = history("net.py:Net", "--most", "2", "--format", "json")
    assert status == 0
    assert [step["subject"] for step in json.loads(text)["steps"]] == ["another name", "wider, and one gone"]
    assert "older commits are left out" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["net.py:Nope"],
        ["nowhere.py:Net"],
        ["net.py:Net", "--since", "nowhere"],
        ["net.py:Net", "--since=--upload-pack=touch pwned"],
        ["net.py:Net", "--until=-x"],
        ["HEAD:net.py:Net"],
        ["--", "--output=pwned"],
    ],
)
def test_what_cannot_be_told(history, arguments: list[str]):
    status, out, err = history(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert not list(Path().rglob("*pwned*"))


def test_no_change_is_none(history):
    assert history("net.py:Net", "--since", "HEAD")[:2] == (0, "the keys did not change\n")


NORM = """\
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.NAME = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x USE self.NAME


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [("*", {"renamed": [["norm.weight", "norm.scale"]]}), ("+", {"added": ["norm.scale"], "removed": ["norm.weight"]})],
)
def test_a_tensor_that_is_used_as_another_was_is_renamed(tmp_path: Path, git, monkeypatch, capsys, use, expected):
    git("init", "-q", "-b", "main", cwd=tmp_path)
    for name, how in (("weight", "*"), ("scale", use)):
        (tmp_path / "net.py").write_text(NORM.replace("NAME", name).replace("USE", how), "utf-8")
        git("add", "-A", cwd=tmp_path)
        git("commit", "-q", "-m", name, cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["history", "net.py:Net", "--format", "json"]) == 0
    step = json.loads(capsys.readouterr().out)["steps"][-1]
    assert {name: step[name] for name in ("added", "removed", "renamed", "reshaped") if step[name]} == expected
