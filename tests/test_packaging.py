"""What a wheel holds: everything that is read at run time, the licences of what is not ours, and no tests."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

FILES = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "action.yml", "pyproject.toml"}
TOP = FILES | {"docs", "modgraph", "samples", "tests"}


def test_nothing_but_what_is_meant_lies_at_the_top_level() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no repository says what belongs to the tree")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = {name.partition("/")[0] for name in listed.stdout.split("\0") if name}
    assert {name for name in found if not name.startswith(".")} == TOP


def built(kind: str, folder: Path, tree: Path = ROOT) -> Path:
    """A wheel or an sdist of a tree."""
    code = f"import sys; from hatchling.build import build_{kind}; build_{kind}(sys.argv[1])"
    run = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=tree, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> list[str]:
    """Names of the files in a wheel of this tree."""
    with zipfile.ZipFile(wheel_file) as archive:
        return archive.namelist()


def files_below(folder: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_wheel_holds_the_whole_package(wheel: list[str]):
    assert {name for name in wheel if name.startswith("modgraph/")} == files_below("modgraph")


def test_what_is_read_at_run_time_is_part_of_the_package():
    package = files_below("modgraph")
    assert "modgraph/py.typed" in package
    assert "modgraph/graph/modgraph-1.schema.json" in package
    assert "modgraph/graph/modgraph-diff-1.schema.json" in package
    assert {f"modgraph/export/page/viewer/{name}" for name in ("template.html", "style.css", "src/main.js")} <= package
    assert any(name.startswith("modgraph/export/look/fonts/") and name.endswith(".ttf") for name in package)
    assert "modgraph/prediction/knowledge/torch_stubs/torch/nn/modules/linear.py" in package


def test_every_licence_goes_along(wheel: list[str]):
    licences = {name.partition("/licenses/")[2] for name in wheel if "/licenses/" in name}
    export = ROOT / "modgraph" / "export"
    texts = [*(export / "look" / "fonts").glob("*.txt"), *(export / "page" / "viewer" / "vendor").glob("*.txt")]
    assert licences == {"LICENSE", *(path.relative_to(ROOT).as_posix() for path in texts)}
    assert "modgraph/export/look/fonts/OFL.txt" in licences
    assert "modgraph/export/page/viewer/vendor/LICENSE-dagre.txt" in licences


def test_nothing_else_is_in_it(wheel: list[str]):
    assert {name.partition("/")[0].partition("-")[0] for name in wheel} == {"modgraph"}


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_tree(wheel: list[str], tmp_path: Path):
    (tmp_path / "sdist").mkdir()
    (tmp_path / "wheel").mkdir()
    with tarfile.open(built("sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "tree", filter="data")
    (tree,) = (tmp_path / "tree").iterdir()
    read_by_tests = {path.name for path in ROOT.iterdir() if path.suffix in (".md", ".toml", ".yaml", ".yml")}
    assert read_by_tests | {"LICENSE"} <= {path.name for path in tree.iterdir()}
    with zipfile.ZipFile(built("wheel", tmp_path / "wheel", tree)) as archive:
        assert archive.namelist() == wheel
