"""Folders within folders, thousands of them: they are made, walked and removed all the same, and stop no other command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from modgraph.cli import main
from modgraph.doors import folders, keeper, temporary, writing
from modgraph.errors import TargetError
from modgraph.source import checkouts
from modgraph.source.revisions import the_revision

pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders are made by their descriptors")

NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, {size})
"""
DEEP = 1500
"""More than Python calls within each other."""


def nest(folder: Path, count: int, *, files: bool = False) -> None:
    """Folders within each other, whose path is longer than any call takes."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(count):
        os.mkdir("folder", dir_fd=handle)
        if files:
            os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=handle))
        inner = os.open("folder", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made; in memory, where a folder is removed in no time."""
    monkeypatch.setattr(temporary, "_place", lambda: str(tmp_path))
    return tmp_path


def test_a_deep_folder_is_removed(place: Path):
    with temporary.folder() as made:
        nest(made, DEEP)
    assert list(place.iterdir()) == []


def test_a_deep_folder_that_was_left_stops_nothing(place: Path):
    stale = place / f"modgraph-{'0' * 16}"
    stale.mkdir(mode=0o700)
    nest(stale, DEEP)
    with temporary.folder() as made:
        assert list(place.iterdir()) == [made]


@pytest.mark.parametrize("error", [RecursionError, MemoryError, OSError, ValueError])
def test_what_comes_of_a_folder_that_was_left_stops_nothing(place: Path, error: type[Exception], monkeypatch):
    def fails(path: str) -> None:
        if path.endswith("0" * 16):
            raise error("no")

    (place / f"modgraph-{'0' * 16}").mkdir(mode=0o700)
    monkeypatch.setattr(temporary, "remove_tree", fails)
    with temporary.folder() as made:
        assert made.is_dir()


def test_removal_follows_no_link_and_stops_at_nothing_it_may_not_remove(tmp_path: Path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (top / "link").symlink_to(kept)
    (top / "a" / "b" / "link").symlink_to(kept)
    os.mkfifo(top / "a" / "pipe")
    (top / "a" / "b").chmod(0)
    (top / "a").chmod(0o100)
    for number in range(30):
        (top / f"{number}").mkdir()
        (top / f"{number}" / "x").touch()
    keeper.remove_tree(str(top))
    assert not os.path.lexists(top)
    assert [path.name for path in kept.iterdir()] == ["file"]


def test_many_names_in_one_folder_are_removed_in_parts(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(keeper, "_ENTRIES", 3)
    for number in range(20):
        (tmp_path / "top" / f"d{number}" / "inner").mkdir(parents=True)
        (tmp_path / "top" / f"f{number}").touch()
    keeper.remove_tree(str(tmp_path / "top"))
    assert not (tmp_path / "top").exists()


def test_a_link_in_its_place_is_removed_itself(place: Path):
    (place / "kept").mkdir()
    with temporary.folder() as made:
        made.rmdir()
        made.symlink_to(place / "kept")
    assert [path.name for path in place.iterdir()] == ["kept"]


def test_files_of_a_deep_folder_are_found_down_to_a_bound(tmp_path: Path):
    nest(tmp_path, DEEP, files=True)
    found = [each.parts for each in folders.regular_files(tmp_path)]
    assert found == [(*("folder",) * depth, "file") for depth in range(folders.MOST_DEEP + 1)]
    assert [each.parts for each in folders.regular_files(tmp_path, deep=0)] == [("file",)]
    keeper.remove_tree(str(tmp_path / "folder"))  # else pytest fails at it


def test_a_deep_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    writing.make_folder("/".join("a" * DEEP))
    assert os.path.isdir("/".join("a" * DEEP))
    writing.make_folder("/".join("a" * DEEP))
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        writing.make_folder("file")
    with pytest.raises(NotADirectoryError):
        writing.make_folder("file/x")
    keeper.remove_tree(str(tmp_path / "a"))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git) -> Path:
    """Whose revision has what is too deep, or has too long a name; made by git alone, as it lies on no disk."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "-q")
    git.commit("net.py", NET.format(size=2))
    lines = [
        f"M 644 inline {name}\ndata 0\n" for name in (deep(DEEP), deep(100), "n" * 300 + ".py", "b" * 200 + "/x.py")
    ]
    stream = "".join(["commit refs/heads/deep\ncommitter x <x@y> 0 +0000\ndata 0\n", "from HEAD\n", *lines, "\n"])
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["git", "fast-import", "--quiet"], input=stream.replace("HEAD", head), text=True, check=True)
    return folder


def deep(count: int) -> str:
    return "d/" * count + "x.py"


def test_a_deep_revision_is_compared_without_what_is_too_deep(repository: Path, capfd):
    assert main(["diff", "deep:net.py:Net", "net.py:Net"]) == 0
    assert "no difference" in capfd.readouterr().out
    with checkouts.files_of(the_revision("deep")) as files:
        assert (files.root / deep(100)).is_file()
        assert (files.root / ("b" * 200) / "x.py").is_file()
        with pytest.raises(TargetError, match="lies more than 100 folders deep"):
            files.place_of(deep(DEEP))
        with pytest.raises(TargetError, match="a path too long"):
            files.place_of("n" * 300 + ".py")


def test_what_a_trace_leaves_is_removed_though_it_is_deep(tmp_path: Path):
    """The keeper does so where the process was killed, as a program of its own."""
    top = tmp_path / "top"
    top.mkdir()
    nest(top, DEEP)
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", keeper.__file__, "keep", str(top)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.communicate()
    assert not top.exists()


def test_a_chain_of_links_is_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(DEEP):
        (tmp_path / f"l{number}.py").symlink_to(f"l{number + 1}.py")
    (tmp_path / f"l{DEEP}.py").write_text("size = 2\n")
    (tmp_path / "m.py").write_text("from l0 import size\n" + NET.format(size="size"))
    monkeypatch.chdir(tmp_path)
    assert main(["analyze", "--static", "m.py", "-q", "-o", "out"]) == 1
    assert main(["check", "-q", "--no-cache", "."]) == 0
