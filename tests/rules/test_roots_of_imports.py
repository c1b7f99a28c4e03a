"""What a file imports is found from where the file lies, wherever the check is started; and nothing beyond its border."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.rules.options import CheckOptions
from modgraph.rules.paths import check_paths

NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 2)
"""
SCRIPT = "from lib.net import Net\n\nNet().get_submodule('tail')\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a package, and a script beside it that imports it."""
    top = tmp_path / "work"
    for name, text in {"lib/__init__.py": "", "lib/net.py": NET, "scripts/t.py": SCRIPT}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text, encoding="utf-8")
    return top


def n_found(path: Path) -> int:
    return len(check_paths([str(path)], CheckOptions(select=("MG4",))).findings)


@pytest.mark.parametrize("here", [".", "work/scripts", "work", "work/lib"])
def test_a_folder_that_is_named_is_one_to_import_from(work: Path, monkeypatch: pytest.MonkeyPatch, here: str):
    monkeypatch.chdir(work.parent / here)
    assert n_found(work) == 1


@pytest.mark.parametrize("mark", ["pyproject.toml", "setup.py", "setup.cfg", ".git/HEAD"])
@pytest.mark.parametrize("layout", ["", "src"])
@pytest.mark.parametrize("here", [".", "work/scripts"])
def test_a_project_is_known_by_its_files(
    work: Path, monkeypatch: pytest.MonkeyPatch, mark: str, layout: str, here: str
):
    (work / mark).parent.mkdir(exist_ok=True)
    (work / mark).write_text("")
    if layout:
        (work / layout).mkdir()
        (work / "lib").rename(work / layout / "lib")
    monkeypatch.chdir(work.parent / here)
    assert n_found(work / "scripts") == n_found(work / "scripts/t.py") == 1


def test_without_any_of_these_what_lies_around_is_not_read(work: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(work / "scripts")
    assert n_found(work / "scripts") == 0


def test_a_repository_within_a_named_folder_imports_nothing_of_it(work: Path, monkeypatch: pytest.MonkeyPatch):
    (work / "scripts/.git").mkdir()
    (work / "scripts/.git/HEAD").write_text("")
    (work / "pyproject.toml").write_text("")
    monkeypatch.chdir(work.parent)
    assert n_found(work) == 0


def test_a_project_that_others_may_have_said_is_none(work: Path, monkeypatch: pytest.MonkeyPatch):
    (work / "pyproject.toml").write_text("")
    work.chmod(0o777)
    monkeypatch.chdir(work / "scripts")
    assert n_found(work / "scripts") == 0


def test_imports_that_are_not_found_are_told_where_that_is_asked_for(work: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(work / "scripts")
    assert check_paths(["."], CheckOptions()).notices == []
    assert check_paths(["."], CheckOptions(tells_imports=True)).notices == ["t.py imports what is not found: lib.net"]
