"""Command lines with which a project starts its scripts: bash itself says which words a script is given."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from modgraph.arguments.command_lines import MAX_FOUND, command_lines

STARTED = [
    "python train.py --depth 3",
    "python3 train.py --depth=3 --name 'a b' \"c d\"",
    "CUDA_VISIBLE_DEVICES=0 python -u train.py --depth 3 --flag",
    "python ./train.py --depth 3 && echo done",
    "python train.py --depth 3 > log.txt 2>&1",
    "python train.py --depth 3 2>log.txt",
    "python train.py --depth 3 | tee log.txt",
    "python train.py --depth 3; echo done",
    "python train.py --depth 3 # the small one",
    "python train.py \\\n  --depth 3 \\\n  --width 4",
    "nohup python train.py --depth 3 &",
    "python train.py --depth -3 --lr 1e-4 --sizes 1 2 3",
]


def given_by_bash(command: str, folder: Path) -> tuple[str, ...]:
    """The words behind the script, as a program named python is given them."""
    stub = folder / "bin" / "python"
    stub.parent.mkdir()
    given = folder / "given"
    stub.write_text(f'#!/bin/bash\nprintf "%s\\0" "$@" > {given}\n')
    stub.chmod(0o755)
    shutil.copy(stub, stub.with_name("python3"))
    subprocess.run(["bash", "-c", f"PATH={stub.parent}:$PATH\n{command}\nwait"], cwd=folder, check=True, timeout=60)
    words = given.read_text().split("\0")[:-1]
    return tuple(words[next(i for i, word in enumerate(words) if word.endswith("train.py")) + 1 :])


def found(folder: Path, text: str, file: str = "README.md", script: str = "train.py") -> list[tuple[str, ...]]:
    (folder / ".git").mkdir(exist_ok=True)
    place = folder / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    (folder / script).parent.mkdir(parents=True, exist_ok=True)
    (folder / script).write_text("")
    return [each.words for each in command_lines(folder / script)]


@pytest.mark.parametrize("command", STARTED)
def test_the_words_are_those_that_bash_gives(tmp_path, command):
    expected = given_by_bash(command, tmp_path)
    assert expected
    assert found(tmp_path, f"# A network\n\n```\n{command}\n```\n") == [expected]


@pytest.mark.parametrize("file", ["README.md", "README.rst", "scripts/train.sh", "Makefile", "docs/start.md"])
def test_files_that_start_scripts(tmp_path, file):
    assert found(tmp_path, "\tpython train.py --depth 3\n", file) == [("--depth", "3")]


def test_the_line_is_that_where_the_command_begins(tmp_path):
    text = "one\n\n    python train.py \\\n        --depth 3\n"
    found(tmp_path, text)
    (only,) = command_lines(tmp_path / "train.py")
    assert (only.file, only.line) == (str(tmp_path / "README.md"), 3)


def test_in_a_sentence_it_ends_with_its_quotes(tmp_path):
    assert found(tmp_path, "Run `python train.py --depth 3` to train.\n") == [("--depth", "3")]


@pytest.mark.parametrize(
    "text",
    [
        "python train.py --depth $DEPTH",
        "python train.py --depth <depth>",
        "python train.py --depth ${1:-3}",
        "python train.py --data *.txt",
        "python train.py --depth 3 ...",
        "python train.py [--depth DEPTH]",
        "python train.py --name 'open",
        "python train.py",
        "python other_train.py --depth 3",
        "python elsewhere/train.py --depth 3",
        "edit train.py to your needs",
        "mypython_train.py --depth 3",
    ],
)
def test_what_is_no_command_line_that_says_its_words_is_none(tmp_path, text):
    assert found(tmp_path, f"{text}\n") == []


def test_a_script_in_a_folder_is_started_from_above_or_from_there(tmp_path):
    text = "python tools/train.py --depth 3\ncd tools; python train.py --depth 4\npython scripts/train.py --depth 5\n"
    assert found(tmp_path, text, script="tools/train.py") == [("--depth", "3"), ("--depth", "4")]


def test_the_nearest_file_comes_first_and_few_are_taken(tmp_path):
    (tmp_path / "README.md").write_text("python train.py --depth 1\n")
    lines = "".join(f"python train.py --depth {number}\n" for number in (2, 2, 3, 4, 5))
    words = found(tmp_path, lines, "tools/run.sh", "tools/train.py")
    assert words == [("--depth", "2"), ("--depth", "3")]
    assert len(words) == MAX_FOUND


def test_nothing_is_read_beyond_the_border_of_the_project(tmp_path):
    (tmp_path / "README.md").write_text("python train.py --depth 3\n")
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "train.py").write_text("")
    (project / "notes.md").symlink_to(tmp_path / "README.md")
    assert list(command_lines(project / "train.py")) == []
