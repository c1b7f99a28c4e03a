"""Whatever leads out of a project, and from whichever place of it, is not opened: one border for all of them."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.cli import main
from modgraph.config import Configs
from modgraph.source import files
from modgraph.source.modules import finder_for

_spec = importlib.util.spec_from_file_location("watched", Path(__file__).with_name("watched.py"))
assert _spec is not None
assert _spec.loader is not None
watched: Any = importlib.util.module_from_spec(_spec)
sys.modules["watched"] = watched
_spec.loader.exec_module(watched)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links")

MARK = "hunter2_SECRET"
SECRET = f'{MARK} = "two words\n'
"""A name that is shown where it is read as TOML or as Python: neither takes the open string."""
NET = """
from torch import nn
{imports}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.ModuleDict({{str({key}): nn.Linear(1, 1)}})
"""


def net(imports: str = "", key: str = "'fc'") -> str:
    """A model that has a child of the name that is imported."""
    return NET.format(imports=imports, key=key)


def targets(folder: Path, *texts: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.modgraph]\ntargets = {json.dumps(texts)}\n")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: Any) -> Path:
    """A repository, with secrets beside it, in it and in what git keeps of it."""
    top = tmp_path / "work" / "project"
    top.mkdir(parents=True)
    outside = top.parent / "outside"
    outside.mkdir()
    monkeypatch.chdir(top)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    git("init", "-q")
    for place in (outside / "secret.py", outside / "key", top / ".env", top / ".git" / "credentials"):
        place.write_text(SECRET)
    (top / ".git" / "x.py").write_text(SECRET)
    (top / ".gitignore").write_text(".env\n")
    (top / "good.py").write_text(net())
    return top


@pytest.fixture
def run_watched(run_code: Any) -> Callable[..., Any]:
    return functools.partial(watched.run, run_code=run_code)


def secrets(top: Path) -> list[Path]:
    return [top.parent / "outside", top / ".env", top / ".git" / "credentials", top / ".git" / "x.py"]


def reads(seen: Any) -> list[tuple[str, str]]:
    """What it read of the secrets; it writes through a folder that it holds open, which has no name."""
    return [each for each in seen.forbidden if each[0] in ("read", "perhaps read") and each[1] != "."]


# ---- every place of a project that leads to a file, and every file that it must not lead to ---------------------------


def target(top: Path, to: str, git: Any) -> None:
    (top / "x.py").symlink_to(to)
    targets(top, "x.py", "x.py:Net", "good.py")


def was_a_target(top: Path, to: str, git: Any) -> None:
    (top / "x.py").write_text(net().replace("Net", MARK))
    targets(top, f"x.py:{MARK}", "good.py")
    git.commit()
    (top / "x.py").unlink()
    (top / "x.py").symlink_to(to)
    targets(top, "good.py")


def own_configuration(top: Path, to: str, git: Any) -> None:
    (top / "modgraph.toml").symlink_to(to)


def configuration(top: Path, to: str, git: Any) -> None:
    (top / "pyproject.toml").symlink_to(to)


def baseline(top: Path, to: str, git: Any) -> None:
    (top / "known").mkdir()  # the watch is not told in which folder a bare name is opened
    (top / "known" / "b.json").symlink_to(f"../{to}")
    (top / "pyproject.toml").write_text('[tool.modgraph]\nbaseline = "known/b.json"\n')


def an_import(top: Path, to: str, git: Any) -> None:
    (top / "x.py").symlink_to(to)
    (top / "good.py").write_text(net(f"import x\nfrom x import {MARK}", MARK))


def a_package(top: Path, to: str, git: Any) -> None:
    (top / "pkg").mkdir()
    (top / "pkg" / "__init__.py").symlink_to(f"../{to}")
    (top / "good.py").write_text(net(f"from pkg import {MARK}", MARK))


def a_file(top: Path, to: str, git: Any) -> None:
    (top / "x.py").symlink_to(to)
    (top / "n.ipynb").symlink_to(to)


def list_of_what_is_done(top: Path, to: str, git: Any) -> None:
    (top / "modgraph-out").mkdir()
    (top / "modgraph-out" / "manifest.jsonl").symlink_to(f"../{to}")


def source_root(top: Path, to: str, git: Any) -> None:
    (top / "pyproject.toml").symlink_to(to)
    git.commit()


ANALYZED = ["analyze", "good.py:Net", "--static", "--format", "json,text", "-o", "../out/"]
PLACES: list[tuple[Callable[[Path, str, Any], None], Sequence[str]]] = [
    (target, ["analyze", "--static", "-o", "../out/"]),
    (target, ["diff", "HEAD"]),
    (was_a_target, ["diff", "HEAD"]),
    (own_configuration, ["check", "."]),
    (own_configuration, ["analyze", "--static"]),
    (configuration, ["check", "good.py"]),
    (configuration, ANALYZED),
    (baseline, ["check", "."]),
    (an_import, ANALYZED),
    (an_import, ["check", "--select", "ALL", "good.py"]),
    (a_package, ANALYZED),
    (a_file, ["check", "."]),
    (a_file, ["analyze", "--all", ".", "--static", "-o", "../out/"]),
    (list_of_what_is_done, ["analyze", "--all", ".", "--static", "-q"]),
    (source_root, ["diff", "HEAD:good.py:Net", "good.py:Net"]),
]
LEADS = ["../outside/key", ".env", ".git/credentials"]
LEADS_OUT = ["../outside/secret.py", ".git/x.py"]
"""Called as Python is, too."""


def test_the_watch_sees_what_is_read(run_watched: Any, project: Path):
    assert reads(run_watched(["check", "good.py"], project, secret=[project / "good.py"])) != []


@pytest.mark.parametrize("to", LEADS)
@pytest.mark.parametrize(
    ("place", "command"), PLACES, ids=lambda each: each[0] if isinstance(each, list) else each.__name__
)
def test_no_place_of_a_project_leads_to_a_secret(
    run_watched: Any, project: Path, place: Any, command: Sequence[str], to: str, git: Any
):
    if place in (target, list_of_what_is_done):
        git.commit()
    place(project, to, git)
    seen = run_watched(command, project, secret=secrets(project))
    assert "Traceback" not in seen.errors
    assert reads(seen) == []
    written = [path.read_text("utf-8") for path in (project.parent / "out").rglob("*") if path.is_file()]
    shown = seen.output + seen.errors + "".join(written)
    assert "two words" not in shown
    # A graph may say which name it did not find; that of a class was told before.
    assert MARK not in shown or place in (an_import, a_package, was_a_target)
    assert "still has" not in shown


@pytest.mark.parametrize("to", LEADS_OUT)
@pytest.mark.parametrize("place", [target, was_a_target, an_import, a_package, a_file])
def test_a_file_of_python_beyond_the_border_is_none_of_the_projects(
    run_watched: Any, project: Path, place: Any, to: str, git: Any
):
    git.commit()
    place(project, to, git)
    command = {target: ["diff", "HEAD"], was_a_target: ["diff", "HEAD"], a_file: ["check", "."]}.get(place, ANALYZED)
    seen = run_watched(command, project, secret=secrets(project))
    assert reads(seen) == []
    assert "two words" not in seen.output + seen.errors


def test_links_within_the_project_to_files_of_the_same_kind_are_followed(project: Path, capfd):
    (project / "shared").mkdir()
    (project / "shared" / "settings.toml").write_text('targets = ["x.py"]\nbaseline = "b.json"\n')
    (project / "shared" / "known.json").write_text('{"version": 1, "findings": {"gone.py": {"MG101": {"a": 1}}}}')
    (project / "shared" / "real.py").write_text(net())
    (project / "modgraph.toml").symlink_to("shared/settings.toml")
    (project / "b.json").symlink_to("shared/known.json")
    (project / "x.py").symlink_to("shared/real.py")
    assert main(["analyze", "--static", "--format", "text", "-o", "../out/"]) == 0
    assert main(["check", "."]) == 0
    assert "gone.py: MG101 a is no longer found" in capfd.readouterr().err


# ---- targets: one reading of their text ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "a:/../../outside",
        "a:/../../outside/secret",
        "a:/../../outside/pipe",
        "a:/../../outside/secret.py",
        "lnk",
        "lnk:Net",
    ],
)
@pytest.mark.parametrize("command", [["analyze", "--static"], ["diff", "HEAD"]], ids=lambda each: each[0])
def test_no_writing_of_a_target_tells_what_lies_outside(project: Path, text: str, command: list[str], git: Any, capfd):
    (project / "a:").mkdir()
    (project / "a:" / "keep").touch()
    (project / "lnk").symlink_to("../outside")
    os.mkfifo(project.parent / "outside" / "pipe")
    git.commit()
    targets(project, text)
    assert main(command) == 2
    said = capfd.readouterr().err
    assert not any(
        word in said
        for word in ("secret.py", "is a directory", "is a pipe", "is not a Python file", MARK)[text.endswith(".py") :]
    )


def test_an_argument_of_a_target_is_no_path(project: Path, capfd):
    (project / "models.py").write_text(net() + "\ndef build(folder):\n    return Net()\n")
    targets(project, 'models:build("../../../../../data")')
    assert main(["analyze", "--static", "--format", "text", "-o", "../out/"]) == 0
    assert "lies outside" not in capfd.readouterr().err


@pytest.mark.parametrize("text", ["../outside/secret.py", "{outside}/secret.py:Net", "lnk/secret.py"])
def test_targets_of_a_revision_are_those_of_its_files(run_watched: Any, project: Path, text: str, git: Any):
    outside = project.parent / "outside"
    (project / "lnk").symlink_to("../outside")
    targets(project, "good.py", text.format(outside=outside))
    git.commit()
    targets(project, "good.py")
    seen = run_watched(["diff", "HEAD"], project, secret=secrets(project))
    assert (seen.status, reads(seen)) == (0, [])
    assert "no difference" in seen.output


# ---- a repository within another, and none within one ----------------------------------------------------------------


@pytest.fixture
def clone(project: Path, git: Any) -> Path:
    """A stranger's repository within one's own."""
    (project / "private").mkdir()
    (project / "private" / "cfg.py").write_text(f'KEY = "{MARK}"\nclass Base: pass\n')
    top = project / "vendor" / "clone"
    top.mkdir(parents=True)
    git("init", "-q", str(top))
    return top


@pytest.mark.parametrize("here", [".", "private", "vendor", "vendor/clone", "/"])
@pytest.mark.parametrize(
    ("link", "statement"),
    [
        ("x.py -> ../../private/cfg.py", "from x import KEY"),
        ("pkg -> ../../private", "from pkg.cfg import KEY"),
        ("", "from private.cfg import KEY"),
        ("", "from cfg import KEY"),
        ("src -> ../../private", "from cfg import KEY"),
    ],
)
def test_a_clone_reads_nothing_of_the_repository_around_it(
    clone: Path, here: str, link: str, statement: str, monkeypatch: pytest.MonkeyPatch
):
    name, _, to = link.partition(" -> ")
    if to:
        (clone / name).symlink_to(to)
    (clone / "m.py").write_text(net(statement, "KEY"))
    monkeypatch.chdir(clone.parents[1] / here)
    graph = modgraph.predict(f"{clone}/m.py:Net")
    assert MARK not in str(graph.to_dict() if hasattr(graph, "to_dict") else graph)
    assert [module.path for module in graph.modules] == ["", "d", "d.?"]


def test_links_of_a_clone_are_not_checked_beyond_it(clone: Path, capfd):
    (clone / "x.py").symlink_to("../../private/cfg.py")
    assert main(["check", "--show-files", "."]) == 0
    said = capfd.readouterr()
    assert "vendor/clone/x.py" not in said.out
    assert "1 link is skipped" in said.err


@pytest.mark.parametrize("name", ["modgraph.toml", "pyproject.toml"])
def test_a_clone_has_no_configuration_of_the_repository_around_it(run_watched: Any, clone: Path, name: str):
    (clone.parents[1] / "private" / "own.toml").write_text(f'{MARK} = "tool.modgraph"\n')
    (clone / name).symlink_to("../../private/own.toml")
    (clone / "m.py").write_text(net())
    seen = run_watched(["check", "vendor/clone"], clone.parents[1], secret=[clone.parents[1] / "private"])
    assert reads(seen) == []
    assert MARK not in seen.output + seen.errors
    assert "leads out of the project" in seen.errors


def test_a_clone_may_import_what_pythonpath_names(clone: Path, monkeypatch: pytest.MonkeyPatch):
    """What lies around it as well; its links lead there no more than before."""
    top = clone.parents[1]
    monkeypatch.setenv("PYTHONPATH", str(top))
    monkeypatch.setattr(sys, "path", [str(top), *sys.path])
    (clone / "x.py").symlink_to("../../private/cfg.py")
    (clone / "m.py").write_text(net("from private.cfg import KEY", "KEY"))
    (clone / "n.py").write_text(net("from x import KEY", "KEY"))
    assert [module.path for module in modgraph.predict("vendor/clone/m.py:Net").modules] == ["", "d", f"d.{MARK}"]
    assert [module.path for module in modgraph.predict("vendor/clone/n.py:Net").modules] == ["", "d", "d.?"]


def test_no_link_of_a_clone_leads_to_a_folder_that_is_named_for_imports(clone: Path):
    (clone / "x.py").symlink_to("../../private/cfg.py")
    path = [str(clone), str(clone.parents[1] / "private")]
    assert finder_for(path, clone).source("x") is None
    assert finder_for(path, clone).source("cfg") is not None


def test_a_repository_imports_from_its_submodules(project: Path, git: Any):
    """They lie below it; what they import from each other too, while a file of it is analysed."""
    for name in ("one", "two"):
        (project / name).mkdir()
        git("init", "-q", name)
    (project / "two" / "real.py").write_text("KEY = 'ours'\n")
    (project / "one" / "link.py").symlink_to("../two/real.py")
    (project / "model.py").write_text(net("from one.link import KEY", "KEY"))
    assert [module.path for module in modgraph.predict("model.py:Net").modules] == ["", "d", "d.ours"]


def test_a_submodule_that_is_a_part_of_a_package_is_analysed(project: Path, git: Any):
    for folder in ("pkg", "pkg/sub"):
        (project / folder).mkdir()
        (project / folder / "__init__.py").touch()
    git("init", "-q", "pkg/sub")
    (project / "pkg" / "sub" / "names.py").write_text("KEY = 'ours'\n")
    (project / "pkg" / "sub" / "model.py").write_text(net("from .names import KEY", "KEY"))
    assert [module.path for module in modgraph.predict("pkg/sub/model.py:Net").modules] == ["", "d", "d.ours"]


@pytest.mark.parametrize("name", ["modgraph.toml", "pyproject.toml"])
def test_a_home_that_is_a_repository_is_no_project(run_watched: Any, project: Path, name: str):
    """An archive that was unpacked there belongs to nothing around it."""
    home = project.parent / "home"
    archive = home / "downloads" / "net"
    archive.mkdir(parents=True)
    (home / ".git").mkdir()
    (home / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (home / ".secrets.toml").write_text(f'[tool.modgraph]\n{MARK} = "x"\n')
    (archive / name).symlink_to("../../.secrets.toml")
    (archive / "m.py").write_text(net())
    secret = [home / ".secrets.toml"]
    seen = run_watched(["check", "m.py"], archive, secret=secret, environment={"HOME": str(home)})
    assert (reads(seen), seen.status) == ([], 2)
    assert MARK not in seen.output + seen.errors


# ---- what a baseline names -------------------------------------------------------------------------------------------


def known(*files: str) -> str:
    return json.dumps({"version": 1, "findings": {file: {"MG101": {"a": 1}} for file in files}})


@pytest.mark.parametrize("there", ["{outside}/{}", "../outside/{}", "sub/../../outside/{}", "lnk/{}", ".git/{}"])
def test_a_baseline_does_not_tell_which_files_there_are(project: Path, there: str, capfd):
    (project / "sub").mkdir()
    (project / "lnk").symlink_to("../outside")
    (project / ".git" / "key").touch()
    outside = project.parent / "outside"
    (project / "b.json").write_text(known(*(there.format(name, outside=outside) for name in ("key", "none"))))
    (project / "pyproject.toml").write_text('[tool.modgraph]\nbaseline = "b.json"\n')
    assert main(["check", "good.py"]) == 0
    said = capfd.readouterr().err
    assert [said.count(f"/{name}: MG101 a is no longer found") for name in ("key", "none")] == [1, 1]


@pytest.mark.parametrize("place", ["b.json", "tools/b.json", "../b.json"])
def test_a_baseline_knows_the_files_of_its_project_that_are_not_checked(project: Path, place: str, capfd):
    (project / "tools").mkdir()
    (project / "other.py").write_text("x = 1\n")
    file = project / place
    file.write_text(known(*(os.path.relpath(project / name, file.parent) for name in ("other.py", "gone.py"))))
    assert main(["check", "good.py", "--baseline", place]) == 0
    said = capfd.readouterr().err
    assert "other.py" not in said
    assert "gone.py: MG101 a is no longer found" in said


# ---- what is listed --------------------------------------------------------------------------------------------------


def test_a_package_that_imports_what_is_in_it_does_not_list_what_a_link_leads_to(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    package, outside = project / "p", project.parent / "outside"
    package.mkdir()
    (outside / "__init__.py").touch()
    (package / "out").symlink_to(outside)
    (package / "inner").mkdir()
    (package / "inner" / "__init__.py").touch()
    (package / "inner" / "part.py").write_text("from p.net import REG\nREG.append('part')\n")
    text = "import pkgutil, importlib\nfor m in pkgutil.walk_packages(__path__, 'p.'):\n    importlib.import_module(m.name)\n"
    (package / "__init__.py").write_text(text)
    (package / "net.py").write_text(net("REG = []", "REG"))
    listed: list[str] = []
    for name in ("listdir", "scandir"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda path=".", real=real: listed.append(os.path.realpath(path)) or real(path))
    modgraph.predict("p/net.py:Net")
    assert str(package / "inner") in listed
    assert str(outside) not in listed


def nested(folder: Path, depth: int) -> str:
    """A folder so deep below another one. It is not made, as `shutil.rmtree` of Python does not remove such a tree."""
    return os.path.join(folder, *["a"] * depth)


def test_a_folder_that_lies_deeper_than_the_stack_of_python_has_its_configuration(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "modgraph.toml").write_text('ignore = ["MG101"]\n')
    deep = nested(tmp_path, sys.getrecursionlimit() + 100)
    configs = Configs()
    found = configs.of(os.path.join(deep, "net.py"))
    assert found.ignore == ("MG101",)
    assert configs.of(str(tmp_path / "a" / "net.py")) is found


BAD = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(2, 2)]
"""


def test_a_walk_ends_at_its_depth_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(files, "MAX_DEPTH", 3)
    monkeypatch.setenv("MODGRAPH_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    deep = tmp_path / "a/b/c"
    for folder in (deep, deep / "d", deep / "e"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "net.py").write_text(BAD)
    assert main(["check", ".", "--format", "concise"]) == 2
    said = capfd.readouterr()
    assert said.out.count("MG101") == 1
    assert "a/b/c/d" in said.err
    assert "folders deep, and nothing in it is checked; nor is anything in 1 more" in said.err
    assert main(["check", ".", "--exclude", "d", "--exclude", "e"]) == 1
    assert main(["check", "a/b/c/d"]) == 1
    assert "folders deep" not in capfd.readouterr().err
    assert main(["analyze", "--all", ".", "--static", "--format", "json"]) == 2
    said = capfd.readouterr()
    assert "folders deep, and nothing in it is analyzed; nor is anything in 1 more" in said.err


def test_what_a_step_upwards_costs_does_not_grow_with_the_depth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / ".git").mkdir()
    deep = nested(tmp_path, 60)
    asked: list[str] = []
    real = os.path.realpath
    monkeypatch.setattr(os.path, "realpath", lambda path, **more: asked.append(str(path)) or real(path, **more))
    Configs().of(os.path.join(deep, "net.py"))
    assert len(asked) < 20
