"""What `pip install -e` has installed by a finder of setuptools is found, and its finder is not run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FINDER = """\
from __future__ import annotations
import sys
from importlib.util import spec_from_file_location
from pathlib import Path

MAPPING: dict[str, str] = {mapping!r}
NAMESPACES: dict[str, list[str]] = {{}}
PATH_PLACEHOLDER = '__editable__.flatpkg-0.finder' + ".__path_hook__"


class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname not in MAPPING:
            return None
        place = Path(MAPPING[fullname])
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if file.exists():
                return spec_from_file_location(fullname, file)


def install():
    Path(__file__).with_suffix(".ran").touch()
    sys.meta_path.append(_EditableFinder)
"""
SMALL = "from torch import nn\n\nclass Small(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 4)\n"
NET = """\
from torch import nn
from {module} import Small

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [Small()]
        self.part = Small()
"""
RUN = """\
import sys, modgraph
print([one.code for one in modgraph.check([sys.argv[1]])], modgraph.predict(sys.argv[1] + ":Net").complete)
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment of Python in which packages are installed that lie beside it."""
    here = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", here], check=True)
    (site,) = here.glob("lib/python*/site-packages")
    (site / "base.pth").write_text("\n".join(each for each in sys.path if each.endswith("-packages")) + "\n")
    for name in ("flat/flatpkg/__init__.py", "flat/flatpkg/inner/deep.py", "alone/single.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(SMALL)
    return here


def install(environment: Path, mapping: dict[str, str], finder: str = FINDER) -> Path:
    (site,) = environment.glob("lib/python*/site-packages")
    name = "__editable___flatpkg_0_finder"
    (site / "__editable__.flatpkg-0.pth").write_text(f"import {name}; {name}.install()")
    (site / f"{name}.py").write_text(finder.format(mapping=mapping))
    return site / f"{name}.py"


def seen(environment: Path, tmp_path: Path, module: str) -> str:
    """What is found in a file of a project elsewhere that imports the module."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    (project / "net.py").write_text(NET.format(module=module))
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    run = [environment / "bin" / "python", "-c", RUN, project / "net.py"]
    done = subprocess.run(run, capture_output=True, text=True, env=path, cwd=project, check=True)
    return done.stdout.strip()


FOLLOWED, NOT_FOLLOWED = "['MG101'] True", "[] False"


@pytest.mark.needs_torch
@pytest.mark.fresh_process
@pytest.mark.parametrize("module", ["flatpkg", "flatpkg.inner.deep", "single", "nothing"])
def test_what_python_imports_is_found(environment, tmp_path, module: str):
    places = {"flatpkg": str(tmp_path / "flat" / "flatpkg"), "single": str(tmp_path / "alone" / "single.py")}
    install(environment, places)
    imports = subprocess.run([environment / "bin" / "python", "-c", f"import {module}"], capture_output=True)
    assert seen(environment, tmp_path, module) == (FOLLOWED if imports.returncode == 0 else NOT_FOLLOWED)


@pytest.mark.fresh_process
def test_a_finder_that_is_not_installed_or_no_literal_says_nothing(environment, tmp_path):
    place = {"flatpkg": str(tmp_path / "flat" / "flatpkg")}
    file = install(environment, place, FINDER.replace("{mapping!r}", "dict({mapping!r})"))
    assert seen(environment, tmp_path, "flatpkg") == NOT_FOLLOWED
    install(environment, place)
    (file.parent / "__editable__.flatpkg-0.pth").unlink()
    assert seen(environment, tmp_path, "flatpkg") == NOT_FOLLOWED


@pytest.mark.fresh_process
def test_a_folder_of_packages_in_the_project_says_nothing(environment, tmp_path):
    """Nobody has installed what came with a clone: it would show any file of the machine."""
    inside = tmp_path / "project" / "site-packages"
    inside.mkdir(parents=True)
    name = "__editable___flatpkg_0_finder"
    (inside / "__editable__.flatpkg-0.pth").write_text(f"import {name}; {name}.install()")
    (inside / f"{name}.py").write_text(FINDER.format(mapping={"flatpkg": str(tmp_path / "flat" / "flatpkg")}))
    assert seen(environment, tmp_path, "flatpkg") == NOT_FOLLOWED


def test_the_finder_is_not_run(tmp_path, monkeypatch):
    from modgraph.source import editable

    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    name = "__editable___pkg_finder"
    (tmp_path / "__editable__.pkg.pth").write_text(f"import {name}; {name}.install()\n")
    (tmp_path / f"{name}.py").write_text(f"MAPPING = {{'pkg': {str(tmp_path / 'pkg')!r}}}\nraise SystemExit(3)\n")
    monkeypatch.setattr(editable.site, "getsitepackages", lambda: [str(tmp_path)])
    monkeypatch.setattr(editable.site, "ENABLE_USER_SITE", False)
    assert editable.editable().packages == {"pkg": str(tmp_path / "pkg")}
