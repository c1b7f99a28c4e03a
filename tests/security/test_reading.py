"""Only regular files are read, none beyond its limit, and none outside of what was named."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from modgraph import config
from modgraph.batch.keys import Keys
from modgraph.batch.manifest import Manifest
from modgraph.cli import main
from modgraph.doors import reading
from modgraph.errors import ConfigError, GraphError, InputError
from modgraph.graph import lfs, serial
from modgraph.rules import names
from modgraph.rules.baseline import Baseline
from modgraph.rules.options import CheckOptions
from modgraph.rules.paths import check_paths
from modgraph.source import checkpoints, source_roots, tree_roots
from modgraph.source.modules import SourceError, SourceModule, finder_for
from modgraph.source.targets import Target

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and devices are files")

SECRET = "machine example.org login me password hunter2\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("MODGRAPH_CACHE", "off")
    return root


@pytest.fixture
def netrc(tmp_path: Path) -> Path:
    file = tmp_path / ".netrc"
    file.write_text(SECRET)
    return file


def pipe(path: Path) -> None:
    os.mkfifo(path)


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def listening(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100 * 1000**3)


def kernels(path: Path) -> None:
    path.symlink_to("/proc/self/environ")


def folder(path: Path) -> None:
    path.mkdir()


STRANGE = [pipe, zeros, listening, sparse, kernels, folder]


def opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is opened from now on."""
    names: list[str] = []
    real = os.open

    def watch(name, *rest, **options):
        names.append(os.fspath(name))
        return real(name, *rest, **options)

    monkeypatch.setattr(os, "open", watch)
    return names


@pytest.mark.parametrize("make", STRANGE)
def test_what_is_no_file_is_not_even_opened(tree: Path, make, monkeypatch):
    make(tree / "x.py")
    names = opened(tree, monkeypatch)
    with pytest.raises(OSError, match=r"regular|larger than|[Dd]irectory"):
        reading.read(tree / "x.py")
    assert names == []


@pytest.mark.parametrize("make", STRANGE)
def test_a_place_that_reads_files_takes_no_other(tree: Path, make):
    """Each place of the package that reads what belongs to others; a pipe that was opened would keep it for ever."""
    path = tree / "x.json"
    make(path)
    with pytest.raises(GraphError):
        serial.load(path)
    assert lfs.is_pointer(path) is False
    with pytest.raises(SourceError):
        assert SourceModule("x", path, "x.json", False).text
    with pytest.raises(ConfigError):
        config.read(str(path))
    with pytest.raises(ConfigError):
        Baseline.read(str(path))
    assert tree_roots._has_a_model(path) is False
    with pytest.raises(InputError):
        checkpoints._read(path)
    make(tree / "pyproject.toml")
    assert source_roots._toml(tree, tree) == {}
    make(tree / "manifest.jsonl")
    assert Manifest(tree).records == {}
    target = Target(text="x.json", module="x", name="", file=path, root=tree, search_path=(str(tree),))
    assert len(Keys(tree).of(target, {})) == 64


@pytest.mark.parametrize("make", [pipe, zeros, listening, sparse, kernels])
@pytest.mark.parametrize("form", [["check"], ["check", "--fix"], ["check", "--diff"], ["analyze", "--static"]])
def test_a_command_says_what_it_does_not_read(tree: Path, make, form: list[str], capfd):
    make(tree / "x.py")
    assert main([*form, "x.py"]) == 2
    said = capfd.readouterr()
    assert "Traceback" not in said.err
    assert any(word in said.err for word in ("regular file", "larger than", "does not exist", "regular one"))


@pytest.mark.parametrize("make", [pipe, listening, kernels, zeros])
def test_a_tree_is_checked_around_what_is_no_file(tree: Path, make, capfd):
    make(tree / "x.py")
    make(tree / "n.ipynb")
    (tree / "good.py").write_text("x = 1\n")
    assert main(["check", "--show-files", "."]) == 0
    assert capfd.readouterr().out == "good.py\n"
    assert [each.place for each in tree_roots.find_tree_roots(tree, static=True).left_out if "good" in each.place] == []


@pytest.mark.parametrize("name", ["pyproject.toml", "modgraph.toml"])
@pytest.mark.parametrize("make", [pipe, zeros, sparse])
def test_a_configuration_that_is_no_file_is_said_and_not_opened(tree: Path, make, name: str, monkeypatch, capfd):
    (tree / "sub").mkdir()
    make(tree / "sub" / name)
    (tree / "sub" / "x.py").write_text("x = 1\n")
    (tree / "good.py").write_text("x = 1\n")
    names = opened(tree, monkeypatch)
    assert main(["check", "."]) == 2
    said = capfd.readouterr()
    assert "nothing found in 1 file; 1 not checked" in said.out
    assert f"--> sub/{name}" in said.err
    assert not any(each.endswith(name) for each in names)


@pytest.mark.parametrize("make", [pipe, zeros, kernels])
def test_render_reads_no_pipe_and_no_device(tree: Path, make, capfd):
    make(tree / "x.json")
    assert main(["render", "x.json"]) == 2
    assert "cannot read the graph: it is" in capfd.readouterr().err


def test_a_file_that_takes_the_place_of_another_meanwhile(tree: Path, monkeypatch):
    """A pipe, between the look at the file and its opening."""
    (tree / "x.py").write_text("x = 1\n")
    real = os.open

    def swap(name, *rest, **options):
        (tree / "x.py").unlink()
        os.mkfifo(tree / "x.py")
        return real(name, *rest, **options)

    monkeypatch.setattr(os, "open", swap)
    with pytest.raises(reading.UnreadableError, match="a pipe"):
        reading.read(tree / "x.py")


@pytest.mark.parametrize(("grown", "whole"), [(500, True), (5000, False)])
def test_a_file_that_grows_is_read_up_to_the_limit(tree: Path, monkeypatch, grown: int, whole: bool):
    path = tree / "x.py"
    path.write_bytes(b"a" * 100)
    real, asked = os.read, []

    def read(handle, count):
        if not asked:
            path.write_bytes(b"a" * grown)
        asked.append(count)
        return real(handle, count)

    monkeypatch.setattr(os, "read", read)
    if whole:
        assert reading.read(path, 1000) == b"a" * grown
    else:
        with pytest.raises(reading.UnreadableError, match=r"larger than 0\.001 MB"):
            reading.read(path, 1000)
    assert sum(asked) < 2500


def test_a_file_that_shrinks_is_read_to_its_end(tree: Path, monkeypatch):
    path = tree / "x.py"
    path.write_bytes(b"a" * 100)
    real = os.open

    def open_(name, *rest, **options):
        os.truncate(path, 10)
        return real(name, *rest, **options)

    monkeypatch.setattr(os, "open", open_)
    assert reading.read(path, 1000) == b"a" * 10


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_a_file_up_to_its_limit_is_read_whole(tree: Path, size: int):
    content = os.urandom(size)
    (tree / "x").write_bytes(content)
    assert reading.read(tree / "x", 100) == content
    assert reading.beginning(tree / "x", 10) == content[:10]
    assert reading.beginning(tree / "x", 10, 5) == content[5:15]
    assert reading.ending(tree / "x", 10) == content[-10:]


def test_one_byte_more_is_too_much(tree: Path):
    (tree / "x").write_bytes(bytes(101))
    with pytest.raises(reading.UnreadableError, match="larger than"):
        reading.read(tree / "x", 100)


def test_a_name_that_none_can_be_is_a_file_that_is_not_there(tree: Path):
    with pytest.raises(FileNotFoundError):
        reading.read("a\0b")


# --- Links ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.py", "x.pyi", "sub/x.py"])
@pytest.mark.parametrize("form", ["text", "concise", "json", "sarif", "github"])
def test_no_line_of_a_file_outside_is_shown(tree: Path, netrc: Path, name: str, form: str, capfd):
    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).symlink_to(netrc)
    assert main(["check", "--format", form, "."]) == 0
    said = capfd.readouterr()
    assert "hunter2" not in said.out + said.err
    assert "1 link is skipped" in said.err


def test_a_link_that_was_named_is_read(tree: Path, netrc: Path, capfd):
    (tree / "x.py").symlink_to(netrc)
    assert main(["check", "x.py"]) == 1
    assert "hunter2" in capfd.readouterr().out


def test_a_link_within_the_folder_is_read(tree: Path, capfd):
    (tree / "sub").mkdir()
    (tree / "sub" / "real.py").write_text("x = 1\n")
    (tree / "x.py").symlink_to("sub/real.py")
    assert main(["check", "--show-files", "."]) == 0
    assert capfd.readouterr().out == "x.py\nsub/real.py\n"


def test_a_folder_that_is_a_link_itself_is_what_was_named(tree: Path, tmp_path: Path, capfd):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.py").write_text("x = 1\n")
    (tmp_path / "real" / "b.py").symlink_to("a.py")
    (tree / "named").symlink_to(tmp_path / "real")
    assert main(["check", "--show-files", "named"]) == 0
    assert capfd.readouterr().out == "named/a.py\nnamed/b.py\n"


@pytest.mark.parametrize("place", ["secrets.py", "pkg/__init__.py", "folder"])
def test_an_import_does_not_follow_a_link_out_of_the_tree(tree: Path, tmp_path: Path, place: str):
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "real.py").write_text("TOKEN = 'hunter2'\n")
    (outside / "__init__.py").write_text("TOKEN = 'hunter2'\n")
    (tree / place).parent.mkdir(exist_ok=True)
    (tree / place).symlink_to(outside if place == "folder" else outside / "real.py")
    finder = finder_for([str(tree)])
    assert finder.source(place.partition("/")[0].removesuffix(".py")) is None


@pytest.mark.parametrize("place", ["secrets.py", "pkg/__init__.py", "folder"])
def test_the_check_looks_up_no_base_outside_of_the_tree(tree: Path, tmp_path: Path, place: str):
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    for name in ("real.py", "__init__.py"):
        (outside / name).write_text("from torch import nn\nclass Base(nn.Module): pass\n")
    (tree / place).parent.mkdir(exist_ok=True)
    (tree / "net.py").write_text("")
    project, importer = names.Project(path=[]), str(tree / "net.py")
    module = place.partition("/")[0].removesuffix(".py")
    (tree / place).symlink_to(outside if place == "folder" else outside / "real.py")
    assert project.find_file(importer, module, 0) is None
    (tmp_path / ".git").mkdir()  # now both are of one repository
    assert names.Project(path=[]).find_file(importer, module, 0) is not None


def test_an_import_follows_a_link_within_the_repository(tree: Path, tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "shared.py").write_text("x = 1\n")
    (tree / "shared.py").symlink_to("../shared.py")
    assert finder_for([str(tree)]).source("shared") is not None


BASE = "from torch import nn\nclass Base(nn.Module):\n    pass\n"
USES = """\
from torch import nn
from vendored import Base
class Net(Base):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(2, 2)]
"""


@pytest.fixture
def farm(tree: Path, tmp_path: Path) -> Path:
    """A folder of links, as build tools and installers make one, beside the project; what they lead to lies elsewhere."""
    (tmp_path / "store" / "vendored").mkdir(parents=True)
    (tmp_path / "store" / "vendored" / "real.py").write_text(BASE)
    folder = tmp_path / "farm"
    (folder / "vendored").mkdir(parents=True)
    (folder / "vendored" / "__init__.py").symlink_to(tmp_path / "store" / "vendored" / "real.py")
    (tree / "net.py").write_text(USES)
    return folder


def finds_vendored(tree: Path) -> tuple[bool, bool]:
    """The prediction, and the check, follow the import."""
    finder = finder_for([str(tree), *sys.path])
    report = check_paths(["net.py"], CheckOptions(isolated=True))
    return finder.source("vendored") is not None, [each.code for each in report.findings] == ["MG101"]


def test_links_in_a_folder_of_pythonpath_are_followed(tree: Path, farm: Path, monkeypatch):
    assert finds_vendored(tree) == (False, False)
    monkeypatch.syspath_prepend(farm)
    assert finds_vendored(tree) == (True, True)


@pytest.mark.parametrize(
    "where", ["the working directory", "a folder in it", "its repository", "a link to it", "above"]
)
def test_the_project_is_a_strangers_though_it_is_on_pythonpath(
    tree: Path, farm: Path, tmp_path: Path, where: str, monkeypatch
):
    if where == "its repository":
        (tree / ".git").mkdir()
        (tree / "sub").mkdir()
        (tree / "net.py").rename(tree / "sub" / "net.py")
        monkeypatch.chdir(tree / "sub")
    place = {"a folder in it": tree / "lib", "a link to it": tmp_path / "link", "above": tmp_path}.get(where, tree)
    if where == "a link to it":
        place.symlink_to(tree)
    else:
        place.mkdir(exist_ok=True)
    (farm / "vendored").rename((tree if where == "above" else place) / "vendored")
    monkeypatch.syspath_prepend(place)
    assert finds_vendored(Path.cwd()) == (False, False)
    assert finder_for([str(Path.cwd()), *sys.path]).source("tree.vendored") is None


def test_the_repository_that_is_analysed_is_a_strangers_wherever_one_stands(
    tree: Path, farm: Path, tmp_path: Path, monkeypatch
):
    (tree / "vendored").symlink_to(farm / "vendored")
    monkeypatch.chdir(farm)
    (farm / "vendored").rename(tmp_path / "moved")
    monkeypatch.syspath_prepend(tree)
    assert finder_for([str(tree), *sys.path]).source("vendored") is None
    assert check_paths([str(tree / "net.py")], CheckOptions(isolated=True)).findings == []


def test_links_where_packages_are_installed_are_followed_in_the_project_too(tree: Path, farm: Path, monkeypatch):
    packages = tree / ".venv" / "lib" / "site-packages"
    packages.parent.mkdir(parents=True)
    farm.rename(packages)
    assert finds_vendored(tree) == (False, False)
    monkeypatch.syspath_prepend(packages)
    assert finds_vendored(tree) == (True, True)


def test_a_folder_called_like_those_of_packages_is_none_by_its_name(tree: Path, farm: Path, monkeypatch):
    farm.rename(tree / "site-packages")
    assert finder_for([str(tree)]).source("site-packages.vendored") is None


def test_an_entry_that_cannot_be_looked_at_costs_only_itself(tree: Path):
    (tree / "loop").symlink_to("loop")
    (tree / "loop.py").symlink_to("loop.py")
    (tree / "net.py").write_text("")
    finder = finder_for([str(tree)])
    assert finder.source("net") is not None
    assert finder.source("loop") is None


@pytest.mark.parametrize("place", ["vendored", "vendored.py", "vendored/__init__.py"])
@pytest.mark.parametrize("line", ["from vendored import Base", "import vendored\nBase = vendored.Base"])
def test_an_import_that_is_refused_is_said_to_be_that(tree: Path, tmp_path: Path, place: str, line: str, capfd):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "__init__.py").write_text(BASE)
    (tree / place).parent.mkdir(exist_ok=True)
    (tree / place).symlink_to(outside if place == "vendored" else outside / "__init__.py")
    text = f"{line}\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
    (tree / "net.py").write_text(f"{text}        super().__init__()\n        self.a = Base()\n")
    assert main(["analyze", "--static", "net.py", "--format", "json", "-o", "out/"]) == 1
    said = capfd.readouterr().err
    assert f"{place} is a link that leads out of the project and is not followed; " in said
    assert "PYTHONPATH" in said
    assert "No module named" not in said
    assert main(["analyze", "--static", "vendored:Base"]) == 2
    assert "is a link that leads out of the project" in capfd.readouterr().err


@pytest.mark.parametrize("command", [["analyze", "--static"], ["diff", "HEAD"]])
@pytest.mark.parametrize("target", ["x.py:Net", "../outside.py:Net", "{outside}:Net"])
def test_no_target_of_a_configuration_lies_outside_of_the_project(
    tree: Path, tmp_path: Path, target: str, command: list[str], git, capfd
):
    outside = tmp_path / "outside.py"
    outside.write_text(SECRET)
    (tree / "x.py").symlink_to(outside)
    (tree / "pyproject.toml").write_text(f'[tool.modgraph]\ntargets = ["{target.format(outside=outside)}"]\n')
    git("init", "-q")
    git.commit()
    assert main(command) == 2
    said = capfd.readouterr()
    assert "lies outside of the project" in said.err
    assert "hunter2" not in said.out + said.err
