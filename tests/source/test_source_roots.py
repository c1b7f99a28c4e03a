"""Where a project's own modules are imported from: found from the file, wherever a command is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import modgraph
from modgraph.source.source_roots import roots_around

SMALL = """\
from torch import nn

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
"""
NET = """\
from torch import nn
from mynet import Small

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [Small()]
        self.part = Small()
"""


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a script beside `src`, in a folder of its own."""
    top = tmp_path / "around" / "project"
    put(top, **{"src/mynet/__init__.py": SMALL, "scripts/run.py": NET, "pyproject.toml": ""})
    (top / ".git").mkdir()
    return top


@pytest.mark.parametrize("start", [".", "..", "scripts", "src", "../.."])
def test_a_check_finds_the_same_wherever_it_is_started(project, start: str, monkeypatch):
    monkeypatch.chdir(project / start)
    found = modgraph.check([os.path.relpath(project / "scripts")])
    assert [one.code for one in found] == ["MG101"]


@pytest.mark.parametrize("start", [".", "..", "scripts"])
def test_a_prediction_and_a_search_find_the_same_wherever_they_are_started(project, start: str, monkeypatch, capsys):
    from modgraph.cli import main

    monkeypatch.chdir(project / start)
    assert modgraph.predict(os.path.relpath(project / "scripts" / "run.py")).complete
    assert main(["analyze", "--all", str(project), "--static", "-o", str(project / "out")]) == 0
    assert "Small" in (project / "out" / "scripts" / "run" / "Net.json").read_text()


@pytest.mark.parametrize("start", [".", "scripts"])
def test_a_module_is_named_from_anywhere_in_its_project(project, start: str, monkeypatch):
    monkeypatch.chdir(project / start)
    assert modgraph.predict("mynet:Small").model.parameters == 20


@pytest.mark.parametrize(
    ("saying", "place"),
    [
        ("[tool.setuptools.packages.find]\nwhere = ['lib']\n", "lib"),
        ("[tool.setuptools.package-dir]\n'' = 'code/py'\n", "code/py"),
        ("[project]\nname = 'x'\n", "."),
    ],
)
def test_what_the_project_says_is_where_it_is_imported_from(tmp_path, saying: str, place: str):
    (tmp_path / ".git").mkdir()
    put(tmp_path, **{f"{place}/mynet/__init__.py": SMALL, "a/b/run.py": NET, "pyproject.toml": saying})
    assert modgraph.predict(str(tmp_path / "a" / "b" / "run.py")).complete


def test_the_nearest_project_comes_first(tmp_path):
    (tmp_path / ".git").mkdir()
    put(tmp_path, **{"src/mynet/__init__.py": SMALL, "libs/one/src/mynet/__init__.py": SMALL.replace("4, 4", "4, 8")})
    put(tmp_path, **{"libs/one/run.py": NET, "libs/one/pyproject.toml": "", "pyproject.toml": ""})
    assert modgraph.predict(str(tmp_path / "libs" / "one" / "run.py")).model.parameters == 40


def test_nothing_outside_of_the_repository_is_read(tmp_path, monkeypatch):
    """Neither what the file of a project names, nor a link, nor a project around a repository, leads out of it."""
    top = tmp_path / "outer" / "clone"
    put(tmp_path / "outer", **{"src/mynet/__init__.py": SMALL, "pyproject.toml": ""})
    put(tmp_path / "secret", **{"mynet/__init__.py": SMALL})
    put(top, **{"run.py": NET, "pyproject.toml": "[tool.x]\nwhere = ['../../secret', '/etc', 'linked']\n"})
    (top / ".git").mkdir()
    (top / "linked").symlink_to(tmp_path / "secret")
    (top / "src").symlink_to(tmp_path / "secret")
    monkeypatch.chdir(top)
    assert roots_around(str(top)).folders == (str(top),)
    assert not modgraph.predict("run.py").complete
    assert modgraph.check(["run.py"]) == []


def test_a_check_that_was_kept_depends_on_what_the_project_says(tmp_path):
    (tmp_path / ".git").mkdir()
    put(tmp_path, **{"lib/mynet/__init__.py": SMALL, "scripts/run.py": NET, "pyproject.toml": ""})
    for number in range(10):
        put(tmp_path, **{f"scripts/other{number}.py": SMALL})
    check = [sys.executable, "-m", "modgraph", "check", "scripts"]
    assert subprocess.run(check, cwd=tmp_path, capture_output=True).returncode == 0
    put(tmp_path, **{"pyproject.toml": "[tool.setuptools.packages.find]\nwhere = ['lib']\n"})
    assert subprocess.run(check, cwd=tmp_path, capture_output=True).returncode == 1
