"""A configuration above a project is somebody else's: it names no target of it, excludes nothing, and hides no finding."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.cli import main
from modgraph.config import Configs

HIDDEN = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(8, 8) for _ in range(3)]
"""
EVIL = """
from torch import nn
open({marker!r}, "w").close()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.evil = nn.Linear(1, 1)
"""
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes")


@pytest.fixture
def above(tmp_path: Path) -> Path:
    """A folder of somebody's: a configuration, a model that it names, and a baseline."""
    folder = tmp_path / "somebody"
    folder.mkdir()
    (folder / "modgraph.toml").write_text('exclude = ["*"]\ntargets = ["evil.py:Net"]\nbaseline = "known.json"\n')
    (folder / "evil.py").write_text(EVIL.format(marker=str(tmp_path / "executed")))
    (folder / "known.json").write_text("{}")
    return folder


def repository(folder: Path, git: Any) -> Path:
    git("init", "-q", str(folder))
    return folder


def worktree(folder: Path, git: Any) -> Path:
    """Its `.git` is a file, and so is that of a submodule."""
    kept = repository(folder.parent.parent / "kept", git)
    git("-C", str(kept), "commit", "-q", "--allow-empty", "-m", "x")
    git("-C", str(kept), "worktree", "add", "-q", str(folder))
    return folder


@pytest.mark.parametrize("make", [repository, worktree])
@pytest.mark.parametrize("below", ["", "package/inner"])
def test_a_repository_is_not_governed_from_above(
    tmp_path: Path,
    above: Path,
    git: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path, Any], Path],
    below: str,
) -> None:
    here = make(above / "mine", git) / below
    here.mkdir(parents=True, exist_ok=True)
    (here / "model.py").write_text(HIDDEN)
    monkeypatch.chdir(here)
    assert main(["check", "--no-cache", ".", "--format", "json"]) == 1
    assert [each["code"] for each in json.loads(capsys.readouterr().out)["findings"]] == ["MG101"]
    for command in (["analyze"], ["analyze", "--static"], ["diff", "HEAD"]):
        assert main([*command, *(["-o", "out/"] if command[0] == "analyze" else [])]) == 2
        said = "".join(capsys.readouterr())
        assert "evil" not in said, said
    assert main(["analyze", "--all", ".", "--static", "-o", "out/"]) == 0
    assert not (tmp_path / "executed").exists()


def test_a_link_to_a_repository_leads_into_it(above: Path, git: Any, tmp_path: Path) -> None:
    repository(above / "mine", git)
    (above / "mine" / "package").mkdir()
    (above / "mine" / "package" / "model.py").write_text(HIDDEN)
    (above / "link").symlink_to(above / "mine" / "package")
    assert Configs().of(str(above / "link" / "model.py")).file is None


def test_without_a_repository_the_nearest_of_the_users_holds(above: Path) -> None:
    (above / "mine").mkdir()
    assert Configs().of(str(above / "mine" / "model.py")).targets == ("evil.py:Net",)


@posix
def test_what_anybody_may_put_there_holds_for_nobody(above: Path) -> None:
    (above / "mine").mkdir()
    (above / "modgraph.toml").rename(above.parent / "modgraph.toml")
    os.chmod(above, 0o1777)
    (above / "modgraph.toml").write_text("targets = [")
    assert Configs().of(str(above / "mine" / "model.py")).file == str(above.parent / "modgraph.toml")


@posix
@pytest.mark.parametrize("name", ["modgraph.toml", "pyproject.toml"])
def test_what_another_user_has_put_there_holds_for_nobody_else(
    above: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (above / "mine").mkdir()
    (above / "modgraph.toml").unlink()
    (above / name).write_text('[tool.modgraph]\ntargets = ["evil.py:Net"]' if name[0] == "p" else "targets = [")
    if os.geteuid() == 0:
        os.chown(above / name, 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert Configs().of(str(above / "mine" / "model.py")).file is None
    # In a repository of one's own it is git that asks whose files they are.
    (above / ".git").mkdir()
    if name == "pyproject.toml":
        assert Configs().of(str(above / "mine" / "model.py")).targets == ("evil.py:Net",)
