"""`modgraph bisect`: over made histories the commit that breaks a checkpoint is named, whatever lies around it."""

from __future__ import annotations

import json
import math
import os
import random
import shlex
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.cli import main

NET = """\
from torch import nn
from parts import Part


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear({stem}, 4)
        self.blocks = nn.ModuleList([Part() for _ in range({count})])
        self.{head} = nn.Linear(4, 2)
"""
PART = """\
from torch import nn


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, {width})
        self.back = nn.Linear({width}, 4)
"""
PLAIN: dict[str, Any] = {"stem": 3, "count": 2, "head": "head", "width": 8}
BREAKS: list[dict[str, Any]] = [{"stem": 5}, {"count": 3}, {"count": 1}, {"head": "out"}, {"width": 6}]


def files(facts: dict[str, Any], note: int) -> dict[str, str]:
    """The project at a commit; `note` makes it one that changes nothing of the model."""
    return {
        "net.py": f"{NET.format(**facts)}\n# {note}\n",
        "parts.py": PART.format(**facts),
        "other.py": f"x = {note}\n",
        "README": f"{note}\n",
    }


def write_checkpoint(file: Path, facts: dict[str, Any]) -> None:
    """A safetensors file, written by the letter of its format."""
    shapes: dict[str, list[int]] = {
        "stem.weight": [4, facts["stem"]],
        "stem.bias": [4],
        f"{facts['head']}.weight": [2, 4],
        f"{facts['head']}.bias": [2],
    }
    for number in range(facts["count"]):
        width = facts["width"]
        shapes |= {f"blocks.{number}.fc.weight": [width, 4], f"blocks.{number}.fc.bias": [width]}
        shapes |= {f"blocks.{number}.back.weight": [4, width], f"blocks.{number}.back.bias": [4]}
    header, end = {}, 0
    for key, shape in shapes.items():
        size = 4 * math.prod(shape)
        header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))


def imported(folder: Path, branches: dict[str, list[tuple[str, dict[str, str]]]]) -> dict[str, list[str]]:
    """A repository of these branches, made by one call of git; the ids of their commits."""
    lines: list[bytes] = []
    mark = 0
    marks: dict[str, list[int]] = {}
    for branch, commits in branches.items():
        for subject, content in commits:
            mark += 1
            begin = f"commit refs/heads/{branch}\nmark :{mark}\n"
            who = f"author A <a@example.org> {1_700_000_000 + mark} +0000\n"
            lines.append((begin + who + who.replace("author", "committer")).encode())
            lines.append(f"data {len(subject.encode())}\n{subject}\n".encode())
            if marks.get(branch):
                lines.append(f"from :{mark - 1}\n".encode())
            marks.setdefault(branch, []).append(mark)
            lines.append(b"deleteall\n")
            for name, text in content.items():
                written = json.dumps(name).encode()
                lines.append(b"M 100644 inline " + written + f"\ndata {len(text.encode())}\n{text}\n".encode())
    folder.mkdir(exist_ok=True)
    for arguments, given in (
        (["init", "-q", "-b", "main"], b""),
        (["fast-import", "--quiet", "--export-marks=m"], b"".join(lines)),
    ):
        subprocess.run(["git", *arguments], cwd=folder, input=given, check=True, timeout=60)
    ids = dict(line.split() for line in (folder / "m").read_text().splitlines())
    return {branch: [ids[f":{one}"] for one in own] for branch, own in marks.items()}


@pytest.fixture
def bisect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Callable[..., Any]:
    """The command in this process, from within the repository: status, output, and what is said beside it."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(tmp_path / "repository")
        status = main(["bisect", str(tmp_path / "old.safetensors"), *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def history(number: int) -> tuple[list[tuple[str, dict[str, str]]], int]:
    """Commits, and the place of the one that breaks it."""
    choice = random.Random(number)
    length = choice.randint(2, 9)
    place = choice.randrange(1, length)
    broken = {**PLAIN, **BREAKS[number % len(BREAKS)]}
    commits = []
    content: dict[str, str] = {}
    for at in range(length):
        now = files(broken if at >= place else PLAIN, at)
        # Some commits touch the model's file, some another one, some none that is Python.
        touched = choice.choice([["net.py"], ["other.py"], ["README"], ["net.py", "other.py"]])
        must = list(now) if at == 0 else ["net.py", "parts.py"] if at == place else []
        content = {**content, **{name: now[name] for name in (*must, *(touched if at != place else ["README"]))}}
        commits.append((f"commit {at}", dict(content)))
    return commits, place


@pytest.mark.long
def test_the_commit_that_breaks_it_is_named_in_each_of_thirty_histories(tmp_path: Path, bisect):
    made = {f"h{number}": history(number) for number in range(30)}
    ids = imported(tmp_path / "repository", {name: commits for name, (commits, _) in made.items()})
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    for name, (_, place) in made.items():
        status, out, err = bisect("net.py:Net", f"{ids[name][0]}..{name}", "--format", "json")
        assert status == 0, (name, err)
        found = json.loads(out)
        assert (found["first"]["commit"], found["fits_at"]) == (ids[name][place], ids[name][place - 1]), (name, err)
        assert found["first"]["subject"] == f"commit {place}"
        assert found["notes"] == []


def test_what_is_told_of_it(tmp_path: Path, bisect):
    wider = {**PLAIN, "head": "out", "stem": 5}
    commits = [("a", files(PLAIN, 0)), ("b\x1b[31m::error::x", files(wider, 1)), ("c", files(wider, 2))]
    ids = imported(tmp_path / "repository", {"main": commits})["main"]
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    status, out, err = bisect("net.py:Net", f"{ids[0]}..main")
    assert status == 0
    assert out.startswith(f"{ids[1]} is the first commit at which ")
    assert "date     2023-11-14T" in out
    assert "\x1b" not in out
    for word in (
        "missing from the checkpoint\n    out.*",
        "head.*",
        "stem.weight · 4×5 in the model, 4×3 in the checkpoint",
    ):
        assert word in out
    assert "--fail-on checkpoint" in err
    assert not {path.name for path in (tmp_path / "repository").iterdir()} - {".git", "m"}, "something was checked out"


@pytest.mark.parametrize(
    ("facts", "status", "said"),
    [
        ([PLAIN, PLAIN], 1, "fits net.py:Net at both ends"),
        ([BREAKS[0], BREAKS[1]], 1, "does not fit net.py:Net at either end"),
        ([BREAKS[0], {}], 2, "fits at the end of"),
    ],
)
def test_where_there_is_no_such_commit(tmp_path: Path, bisect, facts, status: int, said: str):
    commits = [(f"{n}", files({**PLAIN, **each}, n)) for n, each in enumerate(facts)]
    ids = imported(tmp_path / "repository", {"main": commits})["main"]
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    found, out, err = bisect("net.py:Net", f"{ids[0]}..main")
    assert found == status
    assert said in out + err


OPEN = NET.replace(
    "super().__init__()",
    "super().__init__()\n        import os\n        self.add_module(os.environ['X'], nn.Linear(1, 1))",
)


@pytest.mark.parametrize("unknown", ["def broken(:\n", "x = 1\n", OPEN], ids=["no Python", "no model", "open keys"])
@pytest.mark.parametrize("at", [1, 2])
def test_a_revision_that_cannot_be_told_is_passed_over(tmp_path: Path, bisect, unknown: str, at: int):
    """As git says it: where neighbours tell it, it is found; else the first is one of several, which are named."""
    broken = {**PLAIN, "stem": 5}
    facts = [PLAIN, PLAIN, PLAIN, broken, broken]
    commits = [(f"commit {n}", files(each, n)) for n, each in enumerate(facts)]
    commits[at][1]["net.py"] = unknown.format(**PLAIN) if unknown == OPEN else unknown
    ids = imported(tmp_path / "repository", {"main": commits})["main"]
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    status, out, err = bisect("net.py:Net", f"{ids[0]}..main", "--format", "json")
    found = json.loads(out)
    if at == 1:
        assert (status, found["first"]["commit"]) == (0, ids[3]), err
    else:
        assert status == 2
        assert [each["commit"] for each in found["candidates"]] == [ids[2], ids[3]]
        assert found["candidates"][0]["why"]


def test_a_history_that_is_not_in_two_parts_is_said_to_be_so(tmp_path: Path, bisect):
    broken = {**PLAIN, "stem": 5}
    facts = [PLAIN, PLAIN, broken, PLAIN, broken]
    ids = imported(tmp_path / "repository", {"main": [(f"{n}", files(each, n)) for n, each in enumerate(facts)]})[
        "main"
    ]
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    status, out, err = bisect("net.py:Net", f"{ids[0]}..main")
    assert status == 0
    assert out.split()[0] in (ids[2], ids[4])
    assert "the history is not in two parts" in err


def test_the_commit_of_a_merged_branch(tmp_path: Path, bisect, git):
    broken = {**PLAIN, "head": "out"}
    folder = tmp_path / "repository"
    side = [("a", files(PLAIN, 0)), ("b", files(PLAIN, 1)), ("c", files(broken, 2)), ("d", files(broken, 3))]
    ids = imported(folder, {"topic": side})["topic"]
    (folder / "m").unlink()
    git("checkout", "-q", "-b", "main", ids[0], cwd=folder)
    git.commit("more.py", "x = 1\n", cwd=folder)
    git("merge", "-q", "--no-edit", "topic", cwd=folder)
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    status, out, err = bisect("net.py:Net", f"{ids[0]}..main")
    assert (status, out.split()[0]) == (0, ids[2]), err


def test_a_file_under_another_name_is_followed(tmp_path: Path, bisect):
    before = [("a", files(PLAIN, 0)), ("b", files(PLAIN, 1)), ("c", files({**PLAIN, "count": 3}, 1))]
    moved = [("d", {("model.py" if name == "net.py" else name): text for name, text in before[2][1].items()})]
    ids = imported(tmp_path / "repository", {"main": before + moved})["main"]
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    status, out, err = bisect("model.py:Net", f"{ids[0]}..main")
    assert (status, out.split()[0]) == (0, ids[2]), err


@pytest.mark.parametrize("renamed_with_the_break", [False, True])
def test_the_command_that_it_prints_has_the_names_of_the_time(
    tmp_path: Path, bisect, capsys: pytest.CaptureFixture, renamed_with_the_break: bool
):
    def renamed(found: dict[str, str]) -> dict[str, str]:
        return {("model.py" if name == "net.py" else name): text for name, text in found.items()}

    broken = files({**PLAIN, "count": 3}, 1)
    between = [] if renamed_with_the_break else [("b", broken)]
    history = [("a", files(PLAIN, 1)), *between, ("c", renamed(broken))]
    ids = imported(tmp_path / "repository", {"main": history})["main"]
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    status, _, err = bisect("model.py:Net", f"{ids[0]}..main")
    assert status == 0, err
    command = next(line for line in err.splitlines() if "modgraph diff" in line).partition("modgraph ")[2]
    assert main(shlex.split(command)) == 1  # it compares, and they differ
    assert "it has no values for blocks.2.fc.weight" in capsys.readouterr().out


def test_a_break_in_a_file_that_the_ends_do_not_read(tmp_path: Path, bisect):
    """Between them the model comes from a file that neither of the ends has."""

    def at(part: str, facts: dict[str, Any], note: int) -> dict[str, str]:
        content = files(facts, note)
        content["net.py"] = NET.format(**PLAIN).replace("from parts", f"from {part}")
        content[f"{part}.py"] = content.pop("parts.py")
        return content

    broken = {**PLAIN, "width": 6}
    commits = [at("parts", PLAIN, 0), at("pieces", PLAIN, 1), at("pieces", broken, 2), at("parts", broken, 3)]
    ids = imported(tmp_path / "repository", {"main": [(f"{n}", each) for n, each in enumerate(commits)]})["main"]
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    status, out, err = bisect("net.py:Net", f"{ids[0]}..main")
    assert (status, out.split()[0]) == (0, ids[2]), err


HOSTILE = (
    "--upload-pack=touch pwned",
    "-x",
    "--output=pwned",
    "$(touch pwned)",
    "a\nb",
    "HEAD^{/x}",
    "..",
    "...",
    "a...b",
)


@pytest.mark.parametrize("word", HOSTILE, ids=ascii)
def test_revisions_and_targets_are_no_options(tmp_path: Path, bisect, word: str):
    ids = imported(tmp_path / "repository", {"main": [("a", files(PLAIN, 0))]})["main"]
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    for arguments in (
        ("--", "net.py:Net", f"{word}..main"),
        ("--", "net.py:Net", word),
        ("--", word, f"{ids[0]}..main"),
    ):
        status, out, _ = bisect(*arguments)
        assert (status, out) == (2, "")
    assert not list(tmp_path.rglob("*pwned*"))


def test_names_of_files_with_line_breaks(tmp_path: Path, bisect):
    """They are read as they are, also where they look like git's own words."""
    odd = ("a\nb.py", "\x01" + "0" * 40 + ".py", "M\t.py", ":(top)x.py", "*.py", "ü.py")
    commits = [
        (f"{n}", {**files({**PLAIN, "stem": 3 + 2 * (n > 1)}, n), **dict.fromkeys(odd, f"x = {n}\n")}) for n in range(4)
    ]
    ids = imported(tmp_path / "repository", {"main": commits})["main"]
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    status, out, err = bisect("net.py:Net", f"{ids[0]}..main")
    assert (status, out.split()[0]) == (0, ids[2]), err


def test_no_more_revisions_are_read_than_it_says(tmp_path: Path, bisect, monkeypatch: pytest.MonkeyPatch):
    commits = [(f"{n}", files({**PLAIN, "stem": 3 + 2 * (n > 40)}, n)) for n in range(64)]
    ids = imported(tmp_path / "repository", {"main": commits})["main"]
    write_checkpoint(tmp_path / "old.safetensors", PLAIN)
    _, out, _ = bisect("net.py:Net", f"{ids[0]}..main", "--format", "json")
    found = json.loads(out)
    assert found["first"]["commit"] == ids[41]
    assert found["commits_searched"] == 63
    assert found["revisions_read"] <= 2 + 7 + 3
    monkeypatch.setattr("modgraph.past.MOST_READ", 3)
    monkeypatch.setattr("modgraph.past.Past.__init__.__kwdefaults__", {"cwd": None, "most": 3})
    status, _, err = bisect("net.py:Net", f"{ids[0]}..main")
    assert status == 2
    assert "as many revisions as one command reads (3)" in err
    assert os.path.isdir(tmp_path)
