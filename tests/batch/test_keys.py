"""What a result depends on: an edit changes the keys of the models that it concerns, and of no others."""

from __future__ import annotations

import importlib.machinery
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import modgraph.batch.keys
from modgraph.batch.keys import Keys
from modgraph.source.tree_roots import find_tree_roots

NET = "from torch import nn\n{0}\nclass {1}(nn.Linear):\n    def __init__(self): super().__init__(2, 2)\n"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def keys(folder: Path) -> dict[str, str]:
    found = Keys(folder)
    return {target.name: found.of(target, {}) for target in find_tree_roots(folder, static=True).targets}


def changed(folder: Path, edit: Callable[[], object]) -> list[str]:
    """The models whose keys an edit changes."""
    before = keys(folder)
    edit()
    after = keys(folder)
    return [name for name in before if after.get(name) != before[name]]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the search path with an installed distribution, one that it needs, and one of an extra of it."""
    site = tmp_path / "site-packages"
    requires = "Requires-Dist: Its_Need>=1\nRequires-Dist: tool; extra == 'dev'\n"
    for name, more in (("Has-Layers", requires), ("its-need", ""), ("tool", "")):
        folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{more}")
        (folder / "RECORD").write_text("layers/__init__.py,,\nlone.py,,\n" if name == "Has-Layers" else "")
    (site / "layers").mkdir()
    (site / "layers" / "__init__.py").touch()
    (site / "lone.py").touch()
    monkeypatch.syspath_prepend(str(site))
    return site


def release(site: Path, name: str) -> None:
    file = site / f"{name}-1.0.dist-info" / "METADATA"
    file.write_text(file.read_text().replace("Version: 1.0", "Version: 1.1"))


def test_a_file_beside_the_folder_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    models = tmp_path / "models"
    write(models, net=NET.format("from common.layers import Block", "Net"), other=NET.format("", "Other"))
    write(tmp_path, common__layers="from common import deep\n", common__deep="SIZE = 1\n")
    assert changed(models, lambda: write(tmp_path, common__layers="from common import deep\nX = 1\n")) == ["Net"]
    assert changed(models, lambda: write(tmp_path, common__deep="SIZE = 2\n")) == ["Net"]
    assert changed(models, lambda: write(tmp_path, common__new="")) == []


def test_a_module_on_the_path_counts_and_one_that_comes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tree, lib = tmp_path / "tree", tmp_path / "lib"
    write(tree, net=NET.format("import mylib, missing", "Net"), other=NET.format("", "Other"))
    write(lib, mylib="")
    monkeypatch.syspath_prepend(str(lib))
    assert changed(tree, lambda: write(lib, mylib="X = 1\n")) == ["Net"]
    assert changed(tree, lambda: write(lib, missing="")) == ["Net"]


def test_the_version_of_what_is_installed_counts_and_of_what_it_needs(tmp_path: Path, installed: Path):
    tree = tmp_path / "tree"
    write(
        tree,
        net=NET.format("import layers", "Net"),
        one=NET.format("from lone import x", "One"),
        other=NET.format("", "Other"),
    )
    assert changed(tree, lambda: release(installed, "tool")) == []
    assert changed(tree, lambda: release(installed, "Has_Layers")) == ["Net", "One"]
    assert changed(tree, lambda: release(installed, "its_need")) == ["Net", "One"]


def test_a_loose_file_beside_what_is_installed_counts(tmp_path: Path, installed: Path):
    tree = tmp_path / "tree"
    write(installed, loose="")
    write(tree, net=NET.format("import loose", "Net"))
    assert changed(tree, lambda: write(installed, loose="X = 1\n")) == ["Net"]


def test_an_installed_package_that_is_the_tree_itself_is_read(tmp_path: Path, installed: Path):
    write(installed, layers__net=NET.format("from . import sizes", "Net"), layers__sizes="X = 1\n")
    assert changed(installed / "layers", lambda: write(installed, layers__sizes="X = 2\n")) == ["Net"]


def test_the_packages_above_count(tmp_path: Path):
    write(tmp_path, pkg____init__="", pkg__sub__net=NET.format("", "Net"), other=NET.format("", "Other"))
    (tmp_path / "pkg/sub/__init__.py").touch()
    (tmp_path / "pkg/__init__.py").write_text("")
    assert changed(tmp_path, lambda: (tmp_path / "pkg/__init__.py").write_text("from pkg import patch\n")) == ["Net"]
    assert changed(tmp_path, lambda: write(tmp_path, pkg__patch="X = 1\n")) == ["Net"]
    # Also of a model in a package whose top lies above the folder.
    assert changed(tmp_path / "pkg/sub", lambda: write(tmp_path, pkg__patch="X = 2\n")) == ["Net"]


def test_the_nearest_configuration_counts(tmp_path: Path):
    write(tmp_path, sub__net=NET.format("", "Net"), other=NET.format("", "Other"))
    nested = tmp_path / "sub" / "pyproject.toml"
    nested.write_text('[tool.modgraph]\nignore = ["MG101"]\n')
    assert changed(tmp_path, lambda: nested.write_text("[tool.modgraph]\nignore = []\n")) == ["Net"]
    assert changed(tmp_path, lambda: nested.write_text('[tool.modgraph]\nignore = ["MG1"]\n')) == ["Net"]
    assert changed(tmp_path, nested.unlink) == ["Net"]
    assert changed(tmp_path, lambda: nested.write_text("[tool.other]\nx = 1\n")) == []
    assert changed(tmp_path, lambda: nested.write_text("[tool.modgraph]\nwrong = 1\n")) == ["Net"]
    above = tmp_path / "modgraph.toml"
    assert changed(tmp_path, lambda: above.write_text('select = ["MG2"]\n')) == ["Other"]


def test_a_module_named_like_one_of_the_standard_library_counts(tmp_path: Path):
    write(tmp_path, net=NET.format("import statistics, json", "Net"), statistics="")
    assert changed(tmp_path, lambda: write(tmp_path, statistics="X = 1\n")) == ["Net"]


def test_a_compiled_module_counts(tmp_path: Path):
    write(tmp_path, net=NET.format("import fast", "Net"))
    compiled = tmp_path / "fast.abi3.so"
    compiled.write_bytes(b"1")
    if not any(compiled.name.endswith(suffix) for suffix in importlib.machinery.EXTENSION_SUFFIXES):
        pytest.skip("compiled modules are named otherwise on this system")
    assert changed(tmp_path, lambda: compiled.write_bytes(b"2")) == ["Net"]


def test_the_versions_of_python_torch_and_modgraph_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path, net=NET.format("", "Net"))
    assert changed(tmp_path, lambda: monkeypatch.setattr(modgraph.batch.keys, "__version__", "0.0")) == ["Net"]
    assert changed(tmp_path, lambda: monkeypatch.setattr(platform, "python_version", lambda: "3.99.0")) == ["Net"]
    site = tmp_path / "site-packages" / "torch-9.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.0\n")
    assert changed(tmp_path, lambda: monkeypatch.syspath_prepend(str(site.parent))) == ["Net"]


def test_a_file_that_cannot_be_read_ends_nothing(tmp_path: Path):
    write(tmp_path, net=NET.format("import gone", "Net"))
    (tmp_path / "gone.py").symlink_to("nowhere.py")
    assert changed(tmp_path, lambda: write(tmp_path, nowhere="")) == ["Net"]


def test_what_many_models_import_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """30 models of one chain of 30 modules: each model took as many looks at the disk as it has modules."""
    for number in range(30):
        write(tmp_path, **{f"lib__m{number}": NET.format(f"import lib.m{number + 1}", f"X{number}")})
        write(tmp_path, **{f"n{number}": NET.format("import lib.m0", f"N{number}")})
    write(tmp_path, lib__m30="")
    targets = find_tree_roots(tmp_path, static=True).targets
    looked: list[object] = []
    realpath = os.path.realpath
    monkeypatch.setattr(os.path, "realpath", lambda path, **more: looked.append(path) or realpath(path, **more))
    keys = Keys(tmp_path)
    assert len({keys.of(target, {}) for target in targets}) == len(targets) >= 30
    assert len(looked) < 200
