"""What cannot be read, is not followed or is no Python is said, and keeps nothing else from being checked."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from modgraph.cli import main
from modgraph.doors import writing

BAD = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(2, 2) for _ in range(2)]
"""
SECRET = 'machine-example = "hunter2"\nignore = ["MG101"]\n'
posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes and owners")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    (root / "net.py").write_text(BAD)
    (root / "sub" / "net.py").write_text(BAD)
    monkeypatch.chdir(root)
    monkeypatch.setenv("MODGRAPH_CACHE", "off")
    return root


def closed(monkeypatch: pytest.MonkeyPatch, name: str, place: Path) -> None:
    """One file or folder cannot be opened: permissions stop no root, which tests may run as."""
    real = getattr(os, name)

    def refuse(path: object, *rest: object, **options: object) -> object:
        if isinstance(path, str | os.PathLike) and os.path.abspath(path) == str(place):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, *rest, **options)

    monkeypatch.setattr(os, name, refuse)


# --- Configurations ------------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("name", ["modgraph.toml", "pyproject.toml"])
@pytest.mark.parametrize("command", [["check"], ["analyze", "--static"], ["diff", "HEAD"], ["analyze", "--all"]])
def test_a_configuration_that_is_a_link_out_of_the_project_is_refused(
    tree: Path, tmp_path: Path, name: str, command: list[str], git, capfd
):
    (tmp_path / "outer.toml").write_text(SECRET if name == "modgraph.toml" else f"[tool.modgraph]\n{SECRET}")
    (tree / name).symlink_to("../outer.toml")
    git("init", "-q")
    git.commit()
    assert main(command) == 2
    said = capfd.readouterr()
    assert "the configuration is a link that leads out of the project" in said.err
    assert name in said.err
    assert "--config FILE" in said.err
    assert "hunter2" not in said.out + said.err
    assert "machine-example" not in said.out + said.err


@posix
def test_a_configuration_that_is_a_link_within_the_repository_or_is_named_is_read(tree: Path, tmp_path: Path, capfd):
    (tmp_path / "outer.toml").write_text('ignore = ["MG101"]\n')
    (tree / "modgraph.toml").symlink_to("../outer.toml")
    assert main(["check"]) == 2
    assert main(["check", "--config", "modgraph.toml"]) == 0
    (tmp_path / ".git").mkdir()
    assert main(["check"]) == 0
    capfd.readouterr()


@posix
@pytest.mark.parametrize("baseline", ["../known.json", "link.json", "{outside}"])
def test_a_baseline_of_a_configuration_lies_in_the_project(tree: Path, tmp_path: Path, baseline: str, capfd):
    outside = tmp_path / "known.json"
    assert main(["check", "--write-baseline", str(outside)]) == 0
    (tree / "link.json").symlink_to(outside)
    (tree / "modgraph.toml").write_text(f'baseline = "{baseline.format(outside=outside)}"\n')
    assert main(["check"]) == 2
    assert "lies outside of the project, and is not read" in capfd.readouterr().err
    assert main(["check", "--baseline", str(outside)]) == 0
    assert main(["check", "--config", "modgraph.toml"]) != 2
    (tmp_path / ".git").mkdir()
    assert main(["check"]) != 2
    assert "lies outside" not in capfd.readouterr().err


@posix
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "dangling", "loop", "permission"])
@pytest.mark.parametrize("name", ["modgraph.toml", "pyproject.toml"])
def test_a_configuration_that_cannot_be_read_is_not_ignored(tree: Path, name: str, kind: str, monkeypatch, capfd):
    place = tree / name
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "permission":
        place.write_text("")
        closed(monkeypatch, "open", place)
    else:
        place.symlink_to({"device": "/dev/zero", "dangling": "nowhere", "loop": name}[kind])
    assert main(["check"]) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert name in said.err


@pytest.mark.parametrize(
    "text", ["ignore = [", "unknown = 1", 'ignore = ["nothing"]', 'per-file-ignores = { "*" = ["nothing"] }']
)
@pytest.mark.parametrize("options", [[], ["--ignore", "MG105"], ["--jobs", "2"]])
def test_a_bad_configuration_further_down_is_one_error_and_the_rest_is_checked(
    tree: Path, text: str, options: list[str], capfd
):
    (tree / "sub" / "modgraph.toml").write_text(text)
    (tree / "sub" / "other.py").write_text(BAD)
    assert main(["check", ".", "--format", "concise", *options]) == 2
    said = capfd.readouterr()
    assert "net.py:6:9" in said.out
    assert "1 finding (1 warning) in 1 file; 2 not checked" in said.out
    assert "sub/net.py" not in said.out
    assert said.err.count("error:") == 1
    assert "sub/modgraph.toml" in said.err
    assert main(["check", "net.py", "sub/net.py", *options]) == 2
    assert "in 1 file; 1 not checked" in capfd.readouterr().out
    assert main(["check", "--show-files", *options]) in (0, 2)
    assert "net.py\n" in capfd.readouterr().out


@pytest.mark.parametrize("arguments", [["sub"], ["sub/net.py"], [".", "--config", "sub/modgraph.toml"], ["sub", "sub"]])
def test_a_bad_configuration_of_all_that_is_checked_is_an_error_at_once(tree: Path, arguments: list[str], capfd):
    (tree / "sub" / "modgraph.toml").write_text("unknown = 1")
    assert main(["check", *arguments]) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.count("error:") == 1


def test_a_whole_tree_says_a_bad_configuration_too(tree: Path, capfd):
    (tree / "sub" / "modgraph.toml").write_text("unknown = 1")
    assert main(["analyze", "--all", "--static", "--format", "json", "-o", "../out/"]) == 2
    said = capfd.readouterr()
    assert "2 models · 2 predicted" in said.out
    assert said.err.count("has no key 'unknown'") == 1
    assert "sub/modgraph.toml" in said.err


def test_a_word_of_the_command_line_is_its_own_mistake(tree: Path, capfd):
    (tree / "modgraph.toml").write_text('ignore = ["MG105"]')
    assert main(["check", "--ignore", "nothing"]) == 2
    said = capfd.readouterr().err
    assert "there is no rule 'nothing'" in said
    assert "modgraph.toml" not in said


# --- Folders -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [["check", "--format", "concise"], ["analyze", "--all", "--static", "--format", "json", "-o", "../out/"]]
)
def test_a_folder_that_cannot_be_read_is_named(tree: Path, command: list[str], monkeypatch, capfd):
    closed(monkeypatch, "scandir", tree / "sub")
    assert main([*command, "."] if command[0] == "check" else command) == 2
    said = capfd.readouterr()
    assert "net.py:" in said.out
    assert said.err.count("error: the folder cannot be read") == 1
    assert "--> sub" in said.err
    (tree / "modgraph.toml").write_text('exclude = ["sub"]\n')
    assert main(command) < 2
    assert "cannot be read" not in capfd.readouterr().err


@posix
def test_the_note_of_links_names_one_and_counts_folders(tree: Path, tmp_path: Path, capfd):
    (tmp_path / "outside").mkdir()
    (tree / "data").symlink_to(tmp_path / "outside")
    (tree / "inner").symlink_to("sub")
    (tree / "x.py").symlink_to(tmp_path / "outside" / "x.py")
    assert main(["check", "--exit-zero"]) == 0
    assert "note: 1 link is skipped: data leads out of the folder" in capfd.readouterr().err
    (tmp_path / "outside" / "x.py").write_text("")
    assert main(["check", "--exit-zero"]) == 0
    assert "note: 2 links are skipped: data leads out of the folder" in capfd.readouterr().err
    assert main(["check", "--exit-zero", "--exclude", "data", "--exclude", "x.py"]) == 0
    assert "skipped" not in capfd.readouterr().err


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("command", [["check", "--exit-zero"], ["analyze", "--all", "--static", "-o", "../out/"]])
def test_that_it_is_not_known_what_git_ignores_is_said(tree: Path, command: list[str], capfd):
    subprocess.run(["git", "init", "-q"], check=True)
    (tree / ".gitignore").write_text("sub\n")
    assert main(command) == 0
    assert "note:" not in capfd.readouterr().err
    for path in (tree, tree / ".git"):
        os.chown(path, 12345, 12345)
    assert main(command) == 0
    said = capfd.readouterr()
    assert "belongs to another user" in said.err
    assert "git config --global --add safe.directory" in said.err


@posix
@pytest.mark.parametrize(
    "command", [["check"], ["analyze", "x.py"], ["analyze", "--all"], ["diff", "a", "b"], ["render", "x"]]
)
def test_a_working_directory_that_is_gone_is_one_line(tmp_path: Path, command: list[str], monkeypatch, capfd):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    try:
        assert main(command) == 2
    finally:
        os.chdir(tmp_path)
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: the working directory is not there any more")
    assert said.err.count("\n") == 1


# --- Files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["notes.txt", "pyproject.toml", "LICENSE", "net.ipynb.bak"])
def test_a_named_file_that_is_no_python_is_not_counted_as_checked(tree: Path, name: str, capfd):
    (tree / name).write_text("[tool.other]\n")
    assert main(["check", name]) == 2
    said = capfd.readouterr()
    assert "nothing found in 1 file" not in said.out
    assert "it is no file of Python" in said.err
    assert main(["check", name, "net.py", "--format", "concise"]) == 2
    assert "in 1 file" in capfd.readouterr().out
    assert main(["check", "--force-exclude", "--", name]) == 0  # as pre-commit calls it
    said = capfd.readouterr()
    assert "in 0 files" in said.out
    assert f"note: {name} is not checked" in said.err


@pytest.mark.parametrize(("name", "first"), [("train", "#!/usr/bin/env python3\n"), ("net.pyw", ""), ("NET.PY", "")])
def test_a_named_file_is_python_by_its_ending_or_its_first_line(tree: Path, name: str, first: str, capfd):
    (tree / name).write_text(first + BAD)
    assert main(["check", name]) == 1
    assert "MG101" in capfd.readouterr().out


@pytest.mark.parametrize("cause", ["a folder that is closed", "a change meanwhile"])
def test_what_cannot_be_fixed_is_still_found(tree: Path, cause: str, monkeypatch, capfd):
    (tree / "net.py").write_text(BAD + "        self.more = [nn.Linear(2, 2)] * 2\n")
    assert main(["check", "net.py", "--format", "json"]) == 1
    before = capfd.readouterr().out

    def put(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    def encoding_of(_: bytes) -> str:
        (tree / "net.py").write_text("x = 1\n")
        return "utf-8"

    if cause == "a change meanwhile":
        monkeypatch.setattr("modgraph.rules.one_file.encoding_of", encoding_of)
    else:
        monkeypatch.setattr(writing, "put", put)
    assert main(["check", "net.py", "--fix", "--unsafe-fixes", "--format", "json"]) == 2
    said = capfd.readouterr()
    assert json.loads(said.out)["findings"] == json.loads(before)["findings"] != []
    assert "fixed" in said.err
    (tree / "net.py").write_text(BAD)
    assert main(["check", "net.py", "--fix", "--unsafe-fixes"]) == 2
    said = capfd.readouterr()
    assert "1 finding (1 warning) in 1 file" in said.out
    assert "not checked" not in said.out
