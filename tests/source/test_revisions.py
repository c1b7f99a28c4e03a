"""Files of a revision, from a real repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from modgraph.errors import TargetError
from modgraph.source.checkouts import files_of
from modgraph.source.revisions import parse_revision

ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    monkeypatch.chdir(folder)
    return folder


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a step")


def test_files_are_those_of_the_revision_and_nothing_is_checked_out(repository: Path):
    commit(repository, model_dot_py="a = 1\n", pkg__part_dot_py="b = 1\n", data_dot_bin="x")
    commit(repository, model_dot_py="a = 2\n")
    (repository / "model.py").write_text("a = 3\n", encoding="utf-8")
    before = sorted(repository.rglob("*"))
    revision = parse_revision("HEAD~1:model.py:Net")
    assert revision is not None
    assert (revision.name, revision.target) == ("HEAD~1", "model.py:Net")
    with files_of(revision) as files:
        assert (files.cwd / "model.py").read_text(encoding="utf-8") == "a = 1\n"
        assert (files.cwd / "pkg" / "part.py").is_file()
        assert not (files.cwd / "data.bin").exists()
        there = files.root
    assert not there.exists()
    with files_of(revision, everything=True) as files:
        assert (files.cwd / "data.bin").is_file()
    assert (repository / "model.py").read_text(encoding="utf-8") == "a = 3\n"
    assert sorted(path for path in repository.rglob("*") if path in before) == before


def test_the_working_directory_and_the_search_path_are_those_of_the_revision(repository: Path, monkeypatch):
    commit(repository, src__pkg__model_dot_py="a = 1\n")
    monkeypatch.chdir(repository / "src" / "pkg")
    revision = parse_revision("main:model.py")
    assert revision is not None
    with files_of(revision) as files:
        assert (files.cwd / "model.py").is_file()
        own, foreign = str(repository / "src"), "/usr/lib/python3"
        ours = [str(files.cwd), str(files.root / "src"), str(files.root)]
        assert files.search_path([own, foreign]) == [*ours, foreign]
        environment = str(repository / ".venv" / "lib" / "site-packages")
        assert files.search_path([environment]) == [*ours, environment]


def test_a_link_does_not_lead_out_of_the_folder(repository: Path, tmp_path: Path):
    (tmp_path / "secret.py").write_text("s = 1\n", encoding="utf-8")
    (repository / "link.py").symlink_to(tmp_path / "secret.py")
    commit(repository, model_dot_py="a = 1\n")
    revision = parse_revision("HEAD:model.py")
    assert revision is not None
    with files_of(revision, everything=True) as files:
        assert not (files.root / "link.py").exists()


def test_attributes_of_the_repository_change_nothing(repository: Path):
    """`git archive` and a checkout would leave out, replace or run something."""
    rules = "*.py export-ignore filter=evil\n"
    git(repository, "config", "filter.evil.smudge", "touch ran; cat")
    commit(repository, _dot_gitattributes=rules, model_dot_py="$Format:%H$\n")
    revision = parse_revision("HEAD:model.py")
    assert revision is not None
    with files_of(revision) as files:
        assert (files.root / "model.py").read_text(encoding="utf-8") == "$Format:%H$\n"
        assert not list(files.root.rglob("ran"))
    assert not (repository / "ran").exists()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("model.py:Net", None),
        ("model.py:Net(size='a:b')", None),
        ("pkg.mod:Net", None),
        ("main:Net", None),
        ("HEAD", None),
        ("main:model.py", ("main", "model.py")),
        ("main:pkg.mod:Net", ("main", "pkg.mod:Net")),
        ("v1.0:model.py:Net(depth=4)", ("v1.0", "model.py:Net(depth=4)")),
        ("main:net.json", ("main", "net.json")),
        ("odd:name.py", None),
    ],
)
def test_what_is_a_revision_and_what_is_a_target(repository: Path, text: str, meant):
    commit(repository, **{"model_dot_py": "a = 1\n", "odd:name_dot_py": "a = 1\n"})
    git(repository, "tag", "v1.0")
    revision = parse_revision(text)
    assert (None if revision is None else (revision.name, revision.target)) == meant


def test_what_is_no_revision_is_said(repository: Path, tmp_path: Path):
    commit(repository, model_dot_py="a = 1\n")
    with pytest.raises(TargetError, match="'nowhere' is no revision of this repository"):
        parse_revision("nowhere:model.py")
    with pytest.raises(TargetError, match="is no revision"):
        parse_revision("--help:model.py")
    with pytest.raises(TargetError, match="in no repository"):
        parse_revision("HEAD:model.py", cwd=tmp_path)


@pytest.mark.parametrize("name", ["HEAD^{/fix: it}", "main@{2026-01-31 10:00:00}", "HEAD^{}"])
def test_a_colon_in_braces_is_one_of_the_revision(repository: Path, name: str):
    commit(repository, model_dot_py="a = 1\n")
    git(repository, "commit", "-q", "--allow-empty", "-m", "fix: it")
    revision = parse_revision(f"{name}:model.py:Net")
    assert revision is not None
    assert (revision.name, revision.target) == (name, "model.py:Net")


def test_many_braces_take_no_time(repository: Path):
    commit(repository, model_dot_py="a = 1\n")
    assert parse_revision("{}" * 5000) is None


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to("model.py"), Path.mkdir])
@pytest.mark.parametrize("target", ["model.py", "model.py:Net", "net.json"])
def test_a_file_does_not_stand_in_for_a_revision(repository: Path, target: str, make):
    """A pull request may have put it there, to be compared with itself."""
    commit(repository, model_dot_py="a = 1\n")
    base = git(repository, "rev-parse", "HEAD").strip()
    for name in (base, "main"):
        make(repository / f"{name}:{target}")
        with pytest.raises(TargetError, match="is a file here, and can be read as") as caught:
            parse_revision(f"{name}:{target}")
        assert f"./{name}:{target}" in (caught.value.hint or "")
        assert parse_revision(f"./{name}:{target}") is None
        revision = parse_revision(f"{name}^{{}}:{target}")
        assert revision is not None
        assert revision.commit == base
    make(repository / f"nowhere:{target}")
    assert parse_revision(f"nowhere:{target}") is None
