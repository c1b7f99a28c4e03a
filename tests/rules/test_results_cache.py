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


@pytest.mark.parametrize("way", ["in place", "renamed"])
@pytest.mark.parametrize("name", ["net.py", "base.py"])
def test_a_copy_of_the_same_size_and_time_is_checked_again(project: Path, way: str, name: str):
    """As `tar` and `rsync` write it."""
    assert found() == ["MG101"]
    file = project / name
    before, text = file.stat(), file.read_text()
    other = "x = 1\n#" + "-" * (len(text) - 8) + "\n"
    assert len(other) == len(text)
    made = file if way == "in place" else project.parent / "made"
    made.write_text(other)
    os.utime(made, ns=(before.st_atime_ns, before.st_mtime_ns))
    made.replace(file)
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    fresh = check_paths(["package"], CheckOptions()).findings
    assert found() == [each.code for each in fresh] == []


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


FAR = NET.replace("from .base import Base", "from vendored.base import Base")


@pytest.fixture
def vendored(project: Path) -> Path:
    """Of which a class is imported that only an interpretation follows."""
    folder = project.parent / "vendored"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "base.py").write_text(MODULE)
    (project / "base.py").unlink()
    (project / "net.py").write_text(FAR)
    return folder


def test_a_link_to_itself_costs_no_other_entry_of_its_folder(project, vendored):
    (project / "net.py").write_text(f"from made.maker import make\n{FAR}        make(self)\n")
    (project.parent / "made").mkdir()
    (project.parent / "made" / "maker.py").write_text("def make(module):\n    pass\n")
    loop = project.parent / "loop"
    loop.symlink_to("loop")
    assert found() == ["MG101"]
    loop.unlink()
    assert found() == ["MG101"]


def test_what_was_looked_for_in_a_folder_counts(project, vendored, monkeypatch):
    (project / "net.py").write_text(f"from made.maker import make\n{FAR}        make(self)\n")
    silent = found()
    made = project.parent / "made"
    made.mkdir()
    (made / "maker.py").write_text("def make(module):\n    pass\n")
    fresh = [each.code for each in check_paths(["package"], CheckOptions()).findings]
    assert fresh == ["MG101"] != silent
    assert found() == fresh
    for path in (made / "maker.py", made):
        path.unlink() if path.is_file() else path.rmdir()
    assert found() == silent
    (project.parent / "notes.txt").write_text("nothing that an import finds")
    refuse(monkeypatch)
    assert found() == silent


@pytest.mark.parametrize("name", ["vendored", "vendored/base.py"])
def test_a_folder_that_becomes_a_link_is_another_one(project, vendored, tmp_path_factory, name):
    assert found() == ["MG101"]
    outside = tmp_path_factory.mktemp("outside") / "moved"
    (project.parent / name).rename(outside)
    (project.parent / name).symlink_to(outside)
    fresh = check_paths(["package"], CheckOptions()).findings
    assert found() == [each.code for each in fresh] == []
    (project.parent / name).unlink()
    outside.rename(project.parent / name)
    assert found() == ["MG101"]


def test_a_link_is_judged_again_when_the_repository_becomes_another(project, monkeypatch):
    (project / "base.py").rename(project.parent / "shared.py")
    (project / "__init__.py").unlink()  # else its parent is where it is imported from
    (project / "base.py").symlink_to("../shared.py")
    monkeypatch.chdir(project)
    within = CheckOptions(cache="../kept")
    assert check_paths(["net.py"], within).findings == []
    (project.parent / ".git").mkdir()
    assert [each.code for each in check_paths(["net.py"], within).findings] == ["MG101"]
    (project.parent / ".git").rmdir()
    assert check_paths(["net.py"], within).findings == []
