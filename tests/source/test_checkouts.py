"""Files of a revision: none outside of its folder, none held in memory, and its own modules before installed ones."""

from __future__ import annotations

import os
import subprocess
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from modgraph.errors import TargetError
from modgraph.source.checkouts import files_of, working_tree
from modgraph.source.revisions import parse_revision, the_revision


@pytest.fixture
def repository(git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "-q", "-b", "main")
    return folder


def said(*arguments: str, given: bytes = b"") -> str:
    return subprocess.run(["git", *arguments], input=given, check=True, capture_output=True).stdout.decode().strip()


def test_a_tree_that_leads_out_of_its_folder_does_not(repository: Path, tmp_path: Path, monkeypatch):
    """git itself makes no such tree, and reads it."""
    blob = said("hash-object", "-w", "--stdin", given=b"evil = 1\n")
    inner = said("mktree", given=f"100644 blob {blob}\tevil.py\n".encode())
    lines = [
        f"040000 tree {inner}\t..",
        f"040000 tree {inner}\t.GIT",
        f"100644 blob {blob}\tmodel.py",
    ]
    tree = said("mktree", given="".join(f"{line}\n" for line in lines).encode())
    commit = said("commit-tree", "-m", "evil", tree)
    around = tmp_path / "around"
    around.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(around))
    with files_of(the_revision(commit), everything=True) as files:
        written = [path.relative_to(around).parts[1:] for path in around.rglob("*") if path.is_file()]
        assert written == [("model.py",)]
        assert files.root.parent == around


@pytest.mark.parametrize("everything", [False, True])
def test_a_large_file_is_never_held_in_memory(repository: Path, git, everything: bool):
    size = 48 * 1024**2
    Path("weights.onnx").write_bytes(bytes(size))
    git.commit("model.py", "a = 1\n")
    revision = parse_revision("HEAD:weights.onnx")
    assert revision is not None
    tracemalloc.start()
    with files_of(revision, everything=everything) as files:
        peak = tracemalloc.get_traced_memory()[1]
        assert (files.root / "weights.onnx").stat().st_size == size
        assert (files.root / "model.py").read_text() == "a = 1\n"
    tracemalloc.stop()
    assert peak < size / 8


def test_a_file_may_be_named_from_the_working_directory_the_top_or_the_root(repository: Path, git, monkeypatch):
    git.commit("sub/model.py", "a = 1\n", "other.py", "a = 2\n", "large.json", " " * (5 * 1024**2), "deep/x.onnx", "x")
    monkeypatch.chdir(repository / "sub")
    for written, meant in {
        "model.py": "sub/model.py",
        "./model.py": "sub/model.py",
        "sub/model.py": "sub/model.py",
        "../other.py": "other.py",
        "other.py": "other.py",
        "../large.json": "large.json",
        "../deep/x.onnx": "deep/x.onnx",
        str(repository / "deep" / "x.onnx"): "deep/x.onnx",
        str(repository / "sub" / ".." / "other.py"): "other.py",
    }.items():
        revision = parse_revision(f"HEAD:{written}")
        assert revision is not None
        with files_of(revision) as files:
            assert files.place_of(written) == meant
            assert (files.root / meant).is_file()


def test_nothing_outside_of_the_repository_is_a_file_of_a_revision(repository: Path, git, tmp_path: Path, monkeypatch):
    git.commit("sub/model.py", "a = 1\n")
    (tmp_path / "model.py").write_text("a = 2\n")
    (tmp_path / "link").symlink_to(repository)
    with files_of(the_revision("HEAD"), cwd=repository / "sub") as files:
        for written in (str(tmp_path / "model.py"), "../../model.py", "/etc/model.py"):
            with pytest.raises(TargetError, match="lies outside of the repository"):
                files.place_of(written)
        assert files.place_of(str(tmp_path / "link" / "sub" / "model.py")) == "sub/model.py"


def test_links_within_the_repository_are_those_of_the_revision(repository: Path, git, tmp_path: Path):
    """What a link leads to is looked up in the tree alone, whatever lies in the working tree or around it."""
    links = {
        "lib": "real", "deep/up": "../real", "deep/again": "up/inner", "net.py": "real/a.py", "to/net.py": "../net.py",
        "absolute": "/etc", "out": "../outside", "through/out.py": "../lib/../../outside/x.py", "git": ".git/config",
        "one": "two", "two": "one", "top": ".", "gone.py": "nothing.py", "binary.py": "weights.bin",
    }  # fmt: skip
    for name, target in links.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).symlink_to(target)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.py").write_text("secret = 1\n")
    git.commit("real/a.py", "a = 1\n", "real/inner/b.py", "b = 1\n", "weights.bin", "x")
    Path("nothing.py").write_text("")
    with files_of(the_revision("HEAD")) as files:
        for place in ("lib/a.py", "deep/up/a.py", "deep/again/b.py", "net.py", "to/net.py"):
            assert (files.root / place).is_file()
            assert (files.root / place).resolve().is_relative_to(files.root)
        left = {path: why.partition(": ")[2] for path, why in files.left_out.items()}
        assert {path for path, why in left.items() if "out of the repository" in why} == {
            "absolute", "out", "through/out.py", "git",
        }  # fmt: skip
        assert {path for path, why in left.items() if "in a circle" in why} == {"one", "two", "top"}
        assert {path for path, why in left.items() if "not there" in why} == {"gone.py", "binary.py"}
        assert not any(os.path.lexists(files.root / path) for path in left)


def test_what_is_left_out_is_not_called_missing(repository: Path, git):
    Path("link.py").symlink_to("/etc/model.py")
    git.commit("model.py", "a = 1\n")
    said("update-index", "--add", "--cacheinfo", f"160000,{said('rev-parse', 'HEAD')},module.py")
    git("commit", "-q", "-m", "a submodule")
    with files_of(the_revision("HEAD")) as files:
        with pytest.raises(TargetError, match=r"link\.py is a link"):
            files.place_of("link.py")
        with pytest.raises(TargetError, match=r"module\.py is a submodule"):
            files.place_of("module.py")
        with pytest.raises(TargetError, match=r"module\.py is a submodule"):
            files.place_of("module.py/inside/net.py")


def test_a_branch_may_begin_with_a_dash_and_an_option_is_none(repository: Path, git):
    git.commit("model.py", "a = 1\n")
    git.commit("model.py", "a = 2\n")
    git("update-ref", "refs/heads/-q", "HEAD~1")
    assert the_revision("-q").commit == said("rev-parse", "HEAD~1")
    for name in ("--all", "--git-dir", "^HEAD", "HEAD~1..HEAD", "--show-toplevel"):
        with pytest.raises(TargetError, match="is no revision of this repository"):
            the_revision(name)


SRC = '[project]\nname = "Our.Project"\n'


@pytest.mark.parametrize(
    ("files", "roots"),
    [
        (["src/pkg/__init__.py"], ["src"]),
        (["pkg/__init__.py"], [""]),
        (["pyproject.toml", '[tool.setuptools.packages.find]\nwhere = ["lib"]\n', "lib/pkg/__init__.py"], ["lib"]),
        (["pyproject.toml", '[tool.setuptools]\npackage-dir = {"" = "python"}\n', "python/pkg.py"], ["python"]),
        (["pyproject.toml", '[tool.setuptools.package-dir]\npkg = "code/pkg"\n', "code/pkg/__init__.py"], ["code"]),
        (["pyproject.toml", '[tool.hatch.build.targets.wheel]\npackages = ["code/pkg"]\n', "code/pkg/a.py"], ["code"]),
        (["pyproject.toml", '[tool.poetry]\npackages = [{include = "pkg", from = "lib"}]\n', "lib/pkg/a.py"], ["lib"]),
        (["pyproject.toml", '[tool.x]\nwhere = ["..", "/etc", "gone"]\n', "a.py"], [""]),
        (["pyproject.toml", "no TOML", "src/a.py"], ["src"]),
        (["tests/torch/__init__.py", "", "stubs/x/pyproject.toml", SRC, "stubs/x/src/torch/__init__.py"], [""]),
    ],
)
def test_directories_from_which_a_project_imports(repository: Path, git, files: list[str], roots: list[str]):
    files = files if len(files) % 2 == 0 else [*files, ""]
    git.commit(*files)
    python = os.path.dirname(os.__file__)
    installed = ["/opt/site-packages"]
    with files_of(the_revision("HEAD")) as checkout:
        own = [str(checkout.root / root) if root else str(checkout.root) for root in roots]
        assert checkout.search_path([*installed, python]) == list(
            dict.fromkeys([str(checkout.root), python, *own, *installed])
        )
    tree = working_tree(the_revision("HEAD"))
    assert tree.root == repository
    own = [str(repository / root) if root else str(repository) for root in roots]
    assert tree.search_path(installed) == list(dict.fromkeys([str(repository), *own, *installed]))


def test_another_project_of_the_repository_counts_where_it_is_installed(repository: Path, git, tmp_path: Path):
    git.commit("libs/x/pyproject.toml", SRC, "libs/x/src/pkg/__init__.py", "", "app/pyproject.toml", "", "app/a.py", "")
    with files_of(the_revision("HEAD"), cwd=repository / "app") as files:
        assert files.search_path([str(tmp_path)])[1:] == [str(files.root), str(tmp_path)]
        (tmp_path / "our_project-1.0.dist-info").mkdir()
        (tmp_path / "our_project-1.0.dist-info" / "METADATA").write_text("Name: our_project\nVersion: 1.0\n")
        own = str(files.root / "libs" / "x" / "src")
        assert files.search_path([str(tmp_path)])[1:] == [str(files.root), own, str(tmp_path)]
