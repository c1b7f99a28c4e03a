"""The hooks, run by the real pre-commit in a real repository: a bad commit is refused, the fixing hook fixes it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pre_commit")
yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
BAD = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(8, 8) for _ in range(3)]
"""
UNREACHABLE = ("Connection", "No matching distribution", "Could not find a version", "Temporary failure", "ProxyError")
"""What pip says where there is no package index."""

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def hooks() -> list[dict[str, object]]:
    return yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def git(*arguments: str, cwd: Path) -> None:
    own = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "init.defaultBranch=main",
    ]
    subprocess.run(["git", *own, *arguments], cwd=cwd, check=True, capture_output=True, env=environment(cwd))


def environment(home: Path) -> dict[str, str]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**outside, "PYTHONPATH": "", "PRE_COMMIT_HOME": str(home / ".git" / "hooks-home"), "MODGRAPH_CACHE": "off"}


def pre_commit(*arguments: str, cwd: Path, **more: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pre_commit", *arguments]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env={**environment(cwd), **more}, timeout=500, check=False
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    git("init", "-q", ".", cwd=place)
    (place / "model.py").write_text(BAD)
    (place / "old").mkdir()
    (place / "old" / "model.py").write_text(BAD)
    (place / "pyproject.toml").write_text('[tool.modgraph]\nexclude = ["old"]\n')
    return place


def outcome(run: subprocess.CompletedProcess, repository: Path) -> None:
    """What both ways of installing the hooks must lead to."""
    assert run.returncode == 1, run.stdout + run.stderr
    assert "model.py:7:9" in run.stdout
    assert "MG101" in run.stdout
    assert "old/model.py" not in run.stdout
    assert (repository / "model.py").read_text() == BAD


def use_locally(repository: Path, *names: str) -> None:
    """The hooks of these names as programs of the machine."""
    entries = {str(hook["id"]): hook for hook in hooks()}
    assert set(entries) == {"modgraph-check", "modgraph-check-fix", "modgraph-embed"}
    local = []
    for name in names:
        hook = {key: value for key, value in entries[name].items() if key != "additional_dependencies"}
        entry = str(hook["entry"]).replace("modgraph", f"{sys.executable} -m modgraph", 1)
        local.append({**hook, "language": "system", "entry": entry})
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{"repo": "local", "hooks": local}]}))
    git("add", ".", cwd=repository)


def test_pictures_are_drawn_where_they_are_not_fresh(repository):
    use_locally(repository, "modgraph-embed")
    page = repository / "README.md"
    page.write_text("# A model\n\n<!-- modgraph: model.py -->\n")
    git("add", ".", cwd=repository)
    drawn = pre_commit("run", "--all-files", cwd=repository, PYTHONPATH=str(ROOT))
    assert drawn.returncode == 1, "pre-commit fails where a hook changes files"
    assert "<picture>" in page.read_text()
    git("add", ".", cwd=repository)
    again = pre_commit("run", "--all-files", cwd=repository, PYTHONPATH=str(ROOT))
    assert again.returncode == 0, again.stdout


def test_the_hooks_do_their_work_as_programs_of_the_machine(repository):
    use_locally(repository, "modgraph-check", "modgraph-check-fix")
    outcome(pre_commit("run", "modgraph-check", "--all-files", cwd=repository, PYTHONPATH=str(ROOT)), repository)
    fixing = pre_commit("run", "modgraph-check-fix", "--all-files", cwd=repository, PYTHONPATH=str(ROOT))
    assert fixing.returncode == 1, "pre-commit fails where a hook changes files"
    assert "nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])" in (repository / "model.py").read_text()
    git("add", ".", cwd=repository)
    again = pre_commit("run", "--all-files", cwd=repository, PYTHONPATH=str(ROOT))
    assert again.returncode == 0, again.stdout


def test_the_hook_installs_without_torch(repository, tmp_path):
    source = tmp_path / "modgraph-hooks"
    source.mkdir()
    git("init", "-q", ".", cwd=source)
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "modgraph", source / "modgraph", ignore=shutil.ignore_patterns("__pycache__"))
    git("add", ".", cwd=source)
    git("commit", "-q", "-m", "all", cwd=source)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=source, capture_output=True, text=True, check=True
    ).stdout.strip()
    config = {
        "repos": [{"repo": str(source), "rev": head, "hooks": [{"id": "modgraph-check"}, {"id": "modgraph-check-fix"}]}]
    }
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git("add", ".", cwd=repository)
    installed = pre_commit("install-hooks", cwd=repository)
    if installed.returncode != 0 and any(word in installed.stdout + installed.stderr for word in UNREACHABLE):
        pytest.skip("no package index: the hook's environment cannot be installed")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    outcome(pre_commit("run", "modgraph-check", "--all-files", cwd=repository), repository)
    packages = {
        path.name for path in (repository / ".git" / "hooks-home").glob("*/py_env-*/lib/python*/site-packages/*")
    }
    assert "libcst" in packages
    assert not packages & {"torch", "onnx", "onnxruntime"}
