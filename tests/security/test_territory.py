"""What an import, a link or a configuration of a stranger's repository leads to is read only where it belongs to it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.batch.keys import Keys
from modgraph.cli import main
from modgraph.doors.borders import project_folders
from modgraph.rules.names import Project
from modgraph.source.modules import finder_for
from modgraph.source.targets import parse_target
from modgraph.source.territory import territory_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links")

MARK = "hunter2_SECRET"
SETTINGS = f"KEY = '{MARK}'\n"
PRIVATE = f"-----BEGIN PRIVATE KEY-----\n{MARK}\n"
NAMES = """
from torch import nn
{imports}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.ModuleDict({{str({key}).replace(".", "_"): nn.Linear(1, 1)}})
"""


def names(imports: str, key: str = "KEY") -> str:
    """A model that has a child of the name that is imported."""
    return NAMES.format(imports=imports, key=key)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: Any) -> Path:
    """A repository, with secrets beside it."""
    top = tmp_path / "work" / "repository"
    top.mkdir(parents=True)
    outside = tmp_path / "work" / "outside"
    outside.mkdir()
    (outside / "settings.py").write_text(SETTINGS)
    (outside / "key").write_text(PRIVATE)
    (outside / "__init__.py").write_text("")
    monkeypatch.chdir(top)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    git("init", "-q")
    return top


READS = [
    ("site-packages/x.py -> outside/key", names("import importlib, inspect", 'inspect.getsource(importlib.import_module("site-packages.x"))')),
    ("site-packages/x.py -> outside/settings.py", names("import importlib", 'importlib.import_module("site-packages.x").KEY')),
    ("dist-packages -> outside", names("import importlib", 'importlib.import_module("dist-packages.settings").KEY')),
    ("src -> outside", names("from settings import KEY")),
    ("src -> outside", names("from src.settings import KEY")),
    ("__init__.py", names("from outside.settings import KEY")),
    ("__init__.py", names("from ..outside.settings import KEY")),
    ("__init__.py", names("from repository.x import KEY"), "x.py -> outside/settings.py"),
    ("x.py -> outside/settings.py", names("from x import KEY")),
    ("x.py -> outside/key", names("import inspect, x", "inspect.getsource(x)")),
    ("x.py -> repository/.git/config", names("import inspect, x", "inspect.getsource(x)")),
    ("x.py -> repository/.env", names("from x import KEY")),
    ("pkg -> outside", names("from pkg.settings import KEY")),
    ("pkg/__init__.py -> outside/settings.py", names("from pkg import KEY")),
    ("pkg/a.py -> repository/pkg/b.py", names("from pkg.a import KEY"), "pkg/b.py -> outside/settings.py"),
    ("a", names("import sys; sys.path.insert(0, '../outside')\nfrom settings import KEY")),
    ("a", names("import inspect, notes", "inspect.getsource(notes)"), "notes.py"),
]  # fmt: skip


def place(top: Path, what: str) -> None:
    name, _, to = what.partition(" -> ")
    path = top / name
    path.parent.mkdir(exist_ok=True)
    if to:
        path.symlink_to(top.parent / to)
    else:
        path.write_text(PRIVATE if name == "notes.py" else "")


@pytest.mark.parametrize("case", READS, ids=lambda case: case[0])
@pytest.mark.parametrize("form", ["named", "all", "configured"])
def test_nothing_outside_of_the_repository_is_shown(repository: Path, case: tuple[str, ...], form: str, capfd):
    (repository / ".env").write_text(SETTINGS)
    with (repository / ".git" / "config").open("a") as config:
        config.write(f'[remote "origin"]\n\turl = https://token:{MARK}@example.org/x.git\n')
    (repository / "model.py").write_text(case[1])
    for what in (case[0], *case[2:]):
        place(repository, what)
    forms = {"named": ["model.py:Net"], "all": ["--all", "."], "configured": []}
    (repository / "pyproject.toml").write_text('[tool.modgraph]\ntargets = ["model.py:Net"]\n')
    main(["analyze", "--static", *forms[form], "--format", "json,text", "-o", "../out/"])
    said = capfd.readouterr()
    written = "".join(path.read_text("utf-8") for path in (repository.parent / "out").rglob("*") if path.is_file())
    assert "Net" in written
    assert MARK not in said.out + said.err + written


@pytest.mark.parametrize(
    "roots",
    [
        "src -> outside",
        "lnk -> outside",
        "src -> ../",
    ],
)
def test_no_root_of_a_project_leads_out_of_a_diff(repository: Path, roots: str, git: Any, capfd):
    name, _, to = roots.partition(" -> ")
    (repository / name).symlink_to(repository.parent / to)
    (repository / "pyproject.toml").write_text(f'[tool.setuptools.packages.find]\nwhere = ["{name}"]\n')
    (repository / "model.py").write_text(names("from settings import KEY"))
    git.commit()
    (repository / "model.py").write_text(names("from settings import KEY as K\nfrom outside.settings import KEY", "K"))
    main(["diff", "HEAD:model.py:Net", "model.py:Net"])
    said = capfd.readouterr()
    assert MARK not in said.out + said.err


def test_what_the_repository_has_is_read_through_links(repository: Path):
    (repository / "common").mkdir()
    (repository / "common" / "real.py").write_text("KEY = 'ours'\n")
    (repository / "project").mkdir()
    (repository / "project" / "shared").symlink_to("../common")
    (repository / "project" / "one.py").symlink_to("../common/real.py")
    (repository / "project" / "model.py").write_text(names("from shared.real import KEY\nfrom one import KEY as K"))
    graph = modgraph.predict("project/model.py:Net")
    assert [module.path for module in graph.modules] == ["", "d", "d.ours"]


def test_a_link_that_leads_to_itself_costs_only_itself(repository: Path):
    (repository / "loop").symlink_to("loop")
    (repository / "gone.py").symlink_to("nowhere.py")
    (repository / "real.py").write_text("KEY = 'ours'\n")
    assert finder_for([str(repository)]).source("real") is not None


def test_what_the_user_put_on_the_path_is_followed_wherever_it_leads(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As `uv --link-mode=symlink` and Bazel do, with a tree of links."""
    store, site = tmp_path / "store", tmp_path / "site"
    (site / "pkg").mkdir(parents=True)
    store.mkdir()
    (store / "made.py").write_text("KEY = 'ours'\n")
    (site / "pkg" / "__init__.py").symlink_to(store / "made.py")
    (repository / "model.py").write_text(names("from pkg import KEY"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    assert [module.path for module in modgraph.predict("model.py:Net").modules] == ["", "d", "d.ours"]
    assert Project().find_file(str(repository / "model.py"), "pkg", 0) == str(site / "pkg" / "__init__.py")


@pytest.mark.parametrize("entry", ["", "src", "."])
def test_the_projects_own_folders_on_the_path_stay_the_projects(
    repository: Path, monkeypatch: pytest.MonkeyPatch, entry: str
):
    folder = repository / entry
    folder.mkdir(exist_ok=True)
    (folder / "secrets_of.py").symlink_to(repository.parent / "outside" / "settings.py")
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    assert finder_for([str(repository), *sys.path], repository).source("secrets_of") is None


@pytest.mark.parametrize(
    "statement", ["from ..outside.settings import Base", "from settings import Base", "from x import Base"]
)
def test_the_check_looks_up_no_base_outside(repository: Path, statement: str, capfd):
    (repository.parent / "outside" / "settings.py").write_text("from torch import nn\nclass Base(nn.Module): pass\n")
    (repository / "src").symlink_to(repository.parent / "outside")
    (repository / "x.py").symlink_to(repository.parent / "outside" / "settings.py")
    (repository / "m.py").write_text(
        f"{statement}\nfrom torch import nn\nclass N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = [Base()]\n"
    )
    main(["check", "m.py"])
    assert "MG101" not in capfd.readouterr().out


def test_links_to_what_is_no_source_are_not_checked(repository: Path, capfd):
    (repository / ".env").write_text(f"TOKEN {MARK}\n")
    (repository / "x.py").symlink_to(".env")
    (repository / "y.py").symlink_to(".git/config")
    assert main(["check", "."]) == 0
    said = capfd.readouterr()
    assert MARK not in said.out + said.err
    assert "2 links are skipped" in said.err


@pytest.mark.parametrize(
    "target", ["../outside/settings_.py:Net", "../outside", "../outside/key", "{outside}/nothing.py"]
)
def test_a_target_of_a_configuration_tells_nothing_of_what_lies_outside(repository: Path, target: str, capfd):
    target = target.format(outside=repository.parent / "outside")
    (repository / "pyproject.toml").write_text(f'[tool.modgraph]\ntargets = ["{target}"]\n')
    assert main(["analyze", "--static"]) == 2
    said = capfd.readouterr().err
    assert "lies outside of the project" in said
    assert "settings.py" not in said
    assert "is not a Python file" not in said


def test_a_folder_of_many_projects_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "home"
    (home / "downloads" / "net").mkdir(parents=True)
    (home / "downloads" / "net" / "__init__.py").write_text("")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    assert project_folders(str(home / "downloads" / "net")) == [str(home / "downloads")]
    (home / "net").mkdir()
    (home / "net" / "__init__.py").write_text("")
    assert project_folders(str(home / "net")) == [str(home / "net")]
    (home / ".git").mkdir()
    assert project_folders(str(home / "net")) == [str(home / "net")]
    monkeypatch.chdir("/")
    assert project_folders(str(home / "net")) == [str(home / "net")]


def test_a_project_without_a_repository_is_where_it_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "models").mkdir()
    (tmp_path / "utils.py").write_text("KEY = 'ours'\n")
    (tmp_path / "models" / "net.py").write_text(names("from utils import KEY"))
    monkeypatch.chdir(tmp_path)
    assert [module.path for module in modgraph.predict("models/net.py:Net").modules] == ["", "d", "d.ours"]


def test_what_is_around_a_submodule_is_not_its_own_and_that_is_said(repository: Path):
    (repository / "sub" / ".git").mkdir(parents=True)
    (repository / "common.py").write_text("KEY = 'ours'\n")
    (repository / "sub" / "model.py").write_text(names("from common import KEY"))
    graph = modgraph.predict("sub/model.py:Net")
    assert [module.path for module in graph.modules] == ["", "d", "d.?"]
    assert "common.py lies outside of the project and is not read; if it is trusted: PYTHONPATH=." in str(
        graph.problems
    )


@pytest.mark.parametrize("start", [".", "app"])
@pytest.mark.parametrize(
    ("link", "to", "name"),
    [
        ("app/lib", "../../outside/lib", "lib"),
        ("app/one.py", "../../outside/one.py", "one"),
        ("app/other", "../../outside/lib", "other"),
        ("app/pkg/lib", "../../../outside/lib", "pkg.lib"),
    ],
)
def test_the_advice_of_a_refusal_is_what_helps(
    repository: Path, monkeypatch, start: str, link: str, to: str, name: str
):
    outside = repository.parent / "outside"
    (outside / "lib").mkdir()
    (outside / "lib" / "__init__.py").write_text("KEY = 'ours'\n")
    (outside / "one.py").write_text("KEY = 'ours'\n")
    (repository / "app" / "pkg").mkdir(parents=True)
    (repository / "app" / "pkg" / "__init__.py").write_text("")
    (repository / link).symlink_to(to)
    (repository / "app" / "model.py").write_text(names(f"from {name} import KEY"))
    monkeypatch.chdir(repository / start)
    model = os.path.relpath(repository / "app" / "model.py")

    def analyzed(**more: str) -> str:
        run = [sys.executable, "-m", "modgraph", "analyze", model, "--static", "--format", "json", "-o", "out/"]
        done = subprocess.run(run, capture_output=True, text=True, env={**os.environ, **more})
        assert done.returncode in (0, 1)
        return done.stderr + Path("out/Net.json").read_text()

    said = analyzed()
    assert "is a link that leads out of the project and is not followed" in said
    advice = re.search(r"if it is trusted: PYTHONPATH=(\S+?)[\"\n]", said)
    if name in ("lib", "one"):
        assert advice is not None
        path = os.pathsep.join([advice[1], *filter(None, [os.environ.get("PYTHONPATH")])])
        assert "d.ours" in analyzed(PYTHONPATH=path)
    else:
        assert f"copy it to this place or install it: no PYTHONPATH leads to it as {name}" in said


def test_keys_of_results_see_what_the_prediction_sees(repository: Path):
    (repository / "x.py").symlink_to(repository.parent / "outside" / "settings.py")
    (repository / "model.py").write_text(names("from x import KEY"))
    before = Keys(repository).of(parse_target("model.py:Net"), {})
    (repository.parent / "outside" / "settings.py").write_text("KEY = 1\n")
    assert Keys(repository).of(parse_target("model.py:Net"), {}) == before


def test_the_packages_of_the_python_that_runs_may_lie_within_the_project(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    site = repository / ".venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    assert not territory_of(str(repository), [str(site)]).is_own(str(site / "pkg"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    assert territory_of(str(repository), [str(site)]).is_own(str(site / "pkg"))
