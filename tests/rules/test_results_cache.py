"""Findings from the cache are those of a fresh check: whatever they depend on, and whatever became of the cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from modgraph.rules import one_file, results_cache
from modgraph.rules.options import CheckOptions
from modgraph.rules.paths import check_paths
from modgraph.source.cache_home import kept_in

NET = """\
from torch import nn
from .base import Base

class Net(Base):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(2, 2), nn.Linear(2, 2)]
"""
MODULE = "from torch import nn\n\nclass Base(nn.Module):\n    pass\n"
OTHER = "from torch import nn\n\nclass Base:\n    pass\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "net.py").write_text(NET)
    (package / "base.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(one_file, "ALWAYS_KEPT_FROM", 0)
    monkeypatch.setattr(results_cache, "_RACY", 0)
    return package


def found(*, select: tuple[str, ...] | None = None) -> list[str]:
    report = check_paths(["package"], CheckOptions(cache="kept", select=select))
    assert report.failures == []
    return [each.code for each in report.findings]


def refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing is checked anew."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a file is checked again")

    monkeypatch.setattr(one_file, "check_text", fail)


def change(path: Path, text: str) -> None:
    """A change that a look at size and time shows."""
    path.write_text(text)
    later = os.stat(path).st_mtime_ns + 5_000_000_000
    os.utime(path, ns=(later, later))


def test_nothing_is_checked_twice(project, monkeypatch):
    fresh = check_paths(["package"], CheckOptions(cache="kept"))
    refuse(monkeypatch)
    kept = check_paths(["package"], CheckOptions(cache="kept"))
    assert kept.failures == []
    assert kept.findings == fresh.findings
    assert [each.code for each in kept.findings] == ["MG101"]
    assert kept.findings[0].fix is not None


def test_a_new_time_alone_changes_nothing(project, monkeypatch):
    assert found() == ["MG101"]
    change(project / "net.py", NET)
    refuse(monkeypatch)
    assert found() == ["MG101"]


def test_a_file_is_checked_again_when_its_base_class_changes(project):
    assert found() == ["MG101"]
    change(project / "base.py", OTHER)
    assert found() == []
    change(project / "base.py", MODULE)
    assert found() == ["MG101"]


def test_a_file_is_checked_again_when_a_base_class_further_away_changes(project):
    (project / "base.py").write_text("from .root import Root\n\nclass Base(Root):\n    pass\n")
    (project / "root.py").write_text("class Root:\n    pass\n")
    (project / "twin.py").write_text(NET.replace("Net", "Twin"))
    assert found() == []
    change(project / "root.py", MODULE.replace("Base", "Root"))
    assert found() == ["MG101", "MG101"]


def test_a_file_is_checked_again_when_what_it_imports_appears_or_goes(project):
    (project / "base.py").unlink()
    assert found() == []
    (project / "base.py").write_text(MODULE)
    assert found() == ["MG101"]
    (project / "base.py").unlink()
    assert found() == []


def test_other_settings_are_another_question(project):
    assert found() == ["MG101"]
    assert found(select=("MG105",)) == []
    assert found() == ["MG101"]
    (project.parent / "pyproject.toml").write_text('[tool.modgraph]\nper-file-ignores = {"net.py" = ["MG101"]}\n')
    assert found() == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}", b"null", b"\xff\x00", b'{"files": 3}', b'{"salt": "x"}'])
def test_a_damaged_cache_counts_as_absent(project, damage):
    assert found() == ["MG101"]
    for file in Path("kept").rglob("*.json"):
        file.write_bytes(damage)
    assert found() == ["MG101"]
    assert found() == ["MG101"]


@pytest.mark.parametrize("place", ["files", "stamps"])
def test_damaged_entries_count_as_absent(project, place):
    import json

    assert found() == ["MG101"]
    for damage in (None, 1, [], {}, ["a"], [[], [], []], ["x", ["y"], [["z"]]]):
        for file in Path("kept").rglob("*.json"):
            name, kept = file.relative_to("kept").as_posix(), kept_in("kept")
            data = json.loads(kept.read(name))
            data[place] = dict.fromkeys(data[place], damage)
            kept.write(name, json.dumps(data).encode())
        assert found() == ["MG101"]


def test_a_cache_that_cannot_be_written_is_no_error(project):
    Path("kept").write_text("a file in its place")
    assert found() == ["MG101"]
